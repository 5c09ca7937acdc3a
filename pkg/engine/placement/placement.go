// Package placement holds a scheduler's decisions about pods: the node of each pod and by what margin it won, the pods that stay Pending
// and why, and the pods that were preempted.
package placement

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// Result is the result of scheduling a queue of pods.
type Result struct {
	// Placed lists the pods that got a node, in the order in which they got it.
	Placed []Placement
	// Pending lists the pods that got no node, in queue order, each with its last rejection.
	Pending []Pending
	// Nominated lists the Pending pods whose nominated node was changed or removed, in their new form.
	Nominated []*v1.Pod
	// Preempted lists the running pods that were deleted to make room, in the order of their deletion.
	Preempted []Preemption
	// Volumes holds the claims and volumes that were bound or provisioned, in their new form.
	Volumes Volumes
	// PodGroups lists the pod groups whose status has changed, in their new form.
	PodGroups []*schedulingv1beta1.PodGroup
	// Notes has sentences about other events, such as extenders that were ignored.
	Notes []string
	// Claims lists the claims on devices that were allocated, reserved or deallocated, in their new form. Unclaimed lists the claims that
	// were deleted.
	Claims, Unclaimed []*resourcev1.ResourceClaim
}

// Placement is a pod's node, and how it was chosen.
type Placement struct {
	// Pod is the pod in its new form, bound and running.
	Pod *v1.Pod
	// Node is the name of its node.
	Node string
	// Nodes is the number of nodes in the cluster.
	Nodes int
	Decision
	// Filtered counts the nodes that each plugin rejected, by plugin name.
	Filtered map[string]int
	// Cycle has the decisions of every plugin; nil unless it was recorded.
	Cycle *Cycle
}

// Decision is how a pod's node was chosen.
type Decision struct {
	// Feasible is the number of nodes that passed every filter, of the nodes that were looked at. Scored is the number of nodes that were
	// scored; a single feasible node is not.
	Feasible int `json:"feasible"`
	Scored   int `json:"scored"`
	// Ties is the number of nodes with the top score, the chosen one included.
	Ties int `json:"ties"`
	// Margin is the top score minus the next lower one; 0 if all nodes have the same score or none was scored.
	Margin int64 `json:"margin"`
	// RunnerUp is the best node with less than the top score.
	RunnerUp string `json:"runnerUp,omitempty"`
	// Deciders are the plugins that decided, in the profile's order: those without whose scores, each taken out alone, other nodes would
	// have been the best. If there is none, they are the fewest plugins without whose scores, taken out together, another node would have
	// been as good. No plugin decided if all scored nodes have the same score.
	Deciders []string `json:"deciders,omitempty"`
	// Together means that no plugin decided alone: without only some of the deciders, the best nodes would have been the same.
	Together bool `json:"together,omitempty"`
	// Scores are the scores of the chosen node by plugin, in the profile's order.
	Scores []Score `json:"scores,omitempty"`
	// Without is the number of nodes that would have been the best without the scores of the deciders.
	Without int `json:"-"`
}

// Score is one plugin's part in a decision.
type Score struct {
	Plugin string `json:"plugin"`
	// Weighted is the chosen node's normalised score times the plugin's weight.
	Weighted int64 `json:"weighted"`
	// Ahead is Weighted minus the same score of the runner-up.
	Ahead int64 `json:"ahead"`
}

// Pending is a pod that got no node.
type Pending struct {
	Pod *v1.Pod
	// Message is the message of the PodScheduled condition: kube-scheduler's own text, as in the FailedScheduling event. It is empty for a
	// pod without this condition, which no scheduler has tried.
	Message string
	// Failed means that a plugin failed instead of rejecting the pod: the condition's reason is SchedulerError, not Unschedulable.
	Failed bool
	// Untried is why the scheduler does not try the pod. The API server does not show it: there is no event, and Message is from an earlier
	// attempt.
	Untried string
	// Reasons count the nodes by rejecting plugin and message, sorted by both. Empty if the pod was rejected as a whole before any node was
	// examined.
	Reasons []Reason
	// Nominated is the node that preemption reserved for the pod, or "".
	Nominated string
	// Cycle has the decisions of every plugin; nil unless it was recorded.
	Cycle *Cycle
	// Group is the state of the pod group with which the pod waits; nil if the pod waits by itself.
	Group *Group
}

// Group is a pod group of which pods wait for a node.
type Group struct {
	Name string
	// MinCount is how many pods must fit before any pod gets a node; 0 if the group has no minimum.
	MinCount int
	// Bound is how many pods have a node.
	Bound   int
	Waiting []GroupMember
}

// GroupMember is a pod that waits with its group.
type GroupMember struct {
	Name string
	// Node is the node that the pod would have got together with the others, or "" if there was none. Message is then the reason, or "" if
	// the pod was not tried.
	Node, Message string
}

// LeftTo is the prefix of Untried for a pod that names a scheduler that is not simulated. The scheduler's name follows.
const LeftTo = "left to the scheduler "

// Gated is the message of a pod with scheduling gates, as the API server writes it into the PodScheduled condition. See
// applySchedulingGatedCondition in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go. The scheduler
// does not try such a pod, so there is no FailedScheduling event.
const Gated = "Scheduling is blocked due to non-empty scheduling gates"

// Reason is one plugin's refusal of a number of nodes.
type Reason struct {
	Plugin  string `json:"plugin"`
	Message string `json:"message"`
	Nodes   int    `json:"nodes"`
}

// MainReason returns the reason for which most nodes rejected a pod, without the word Insufficient: "cpu". A resource that is short comes before
// all other reasons, since more of it would help. It is "" if there are no reasons.
func MainReason(reasons []Reason) string {
	var most Reason
	short := false
	for _, r := range reasons {
		if fit := r.Plugin == "NodeResourcesFit"; fit && !short || fit == short && r.Nodes > most.Nodes {
			most, short = r, fit
		}
	}
	return strings.TrimPrefix(most.Message, "Insufficient ")
}

// Preemption is a running pod that made room for another.
type Preemption struct {
	Victim, For *v1.Pod
	Node        string
	// Choice explains how the node was chosen. The victims of one attempt share it.
	Choice *Choice
	// Ending is the victim in its new form, Terminating; nil if the victim is gone at once.
	Ending *v1.Pod
}

// Volumes are volume objects in their new form.
type Volumes struct {
	PersistentVolumes      []*v1.PersistentVolume
	PersistentVolumeClaims []*v1.PersistentVolumeClaim
	// CSIStorageCapacities holds the remaining capacities after the volumes were provisioned. If one occurs several times, the last counts.
	CSIStorageCapacities []*storagev1.CSIStorageCapacity
}

// Changed returns the objects that the decisions changed, in their new form: pods that were placed or nominated, volumes, storage
// capacities, pod groups and claims. It includes a victim of preemption if the victim was placed before.
func (r *Result) Changed() []cluster.Object {
	changed := list.Map(r.Placed, func(p Placement) cluster.Object { return p.Pod })
	for _, pod := range r.Nominated {
		changed = append(changed, pod)
	}
	for _, volume := range r.Volumes.PersistentVolumes {
		changed = append(changed, volume)
	}
	for _, claim := range r.Volumes.PersistentVolumeClaims {
		changed = append(changed, claim)
	}
	for _, group := range r.PodGroups {
		changed = append(changed, group)
	}
	for _, claim := range r.Claims {
		changed = append(changed, claim)
	}
	for _, capacity := range r.Volumes.CSIStorageCapacities {
		changed = append(changed, capacity)
	}
	return changed
}

// Deleted returns the objects that the scheduler deleted.
func (r *Result) Deleted() []cluster.Object {
	var deleted []cluster.Object
	for _, claim := range r.Unclaimed {
		deleted = append(deleted, claim)
	}
	return deleted
}
