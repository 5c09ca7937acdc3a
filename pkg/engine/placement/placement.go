// Package placement holds what a scheduler decides about pods: which node each got and by what margin, which stay Pending and why, and
// which had to make room.
package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Result is the result of offering a queue of pods to the scheduler.
type Result struct {
	// Placed are the pods that got a node, in that order.
	Placed []Placement
	// Pending are the pods that got none, in queue order, each with its last rejection.
	Pending []Pending
	// Nominated are the Pending pods whose nominated node has changed or is gone, in their new form.
	Nominated []*v1.Pod
	// Preempted are the running pods that were deleted to make room, in that order.
	Preempted []Preemption
	// Volumes are the claims and volumes that were bound or provisioned meanwhile, in their new form.
	Volumes Volumes
	// PodGroups are those whose status has changed, in their new form.
	PodGroups []*schedulingv1beta1.PodGroup
	// Notes say what else happened: which extenders were ignored.
	Notes []string
	// Claims are the claims on devices that were allocated, reserved or deallocated meanwhile, in their new form, and Unclaimed those that
	// were deleted.
	Claims, Unclaimed []*resourcev1.ResourceClaim
}

// Placement is one pod's node and how it was chosen.
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
	// Cycle is what every plugin decided; nil unless asked for.
	Cycle *Cycle
}

// Decision is how a pod's node was chosen.
type Decision struct {
	// Feasible is the number of nodes that passed every filter, of those looked at; Scored the number that were scored. A
	// single feasible node is taken unscored.
	Feasible int `json:"feasible"`
	Scored   int `json:"scored"`
	// Ties is the number of nodes with the top score, the chosen one included.
	Ties int `json:"ties"`
	// Margin is the top score less the next lower one; 0 if all nodes have the same or none was scored.
	Margin int64 `json:"margin"`
	// RunnerUp is the best node below the top.
	RunnerUp string `json:"runnerUp,omitempty"`
	// Deciders are the plugins without whose score other nodes would have been the best, in the profile's order. If there are none, several
	// plugins may have agreed.
	Deciders []string `json:"deciders,omitempty"`
	// Scores are the chosen node's, by plugin, in the profile's order.
	Scores []Score `json:"scores,omitempty"`
}

// Score is one plugin's part in a decision.
type Score struct {
	Plugin string `json:"plugin"`
	// Weighted is the chosen node's normalised score times the plugin's weight.
	Weighted int64 `json:"weighted"`
	// Ahead is by how much that exceeds the runner-up's.
	Ahead int64 `json:"ahead"`
	// Without is the number of nodes that would have tied for best without this plugin's scores.
	Without int `json:"-"`
}

// Decider returns the score that decided and without which most nodes would have tied. There must be one.
func (d *Decision) Decider() Score {
	most := Score{Without: -1}
	for _, score := range d.Scores {
		if slices.Contains(d.Deciders, score.Plugin) && score.Without > most.Without {
			most = score
		}
	}
	return most
}

// Pending is a pod that got no node.
type Pending struct {
	Pod *v1.Pod
	// Message is that of the PodScheduled condition: kube-scheduler's own text, as in the FailedScheduling event. It is empty for a pod that
	// has no such condition, since nobody has tried it.
	Message string
	// Failed means that a plugin failed instead of rejecting the pod: the condition's reason is SchedulerError, not Unschedulable.
	Failed bool
	// Untried is why the scheduler does not try the pod. The API server says nothing of it: there is no event, and Message is what an attempt
	// has left before.
	Untried string
	// Reasons count the nodes by rejecting plugin and message, sorted by both. Empty if the pod was rejected as a whole before any node was
	// examined.
	Reasons []Reason
	// Nominated is the node that preemption reserved for the pod, or "".
	Nominated string
	// Cycle is what every plugin decided; nil unless asked for.
	Cycle *Cycle
	// Group is what became of the pod group with which the pod waits; nil if it waits by itself.
	Group *Group
}

// Group is a pod group of which pods wait for a node.
type Group struct {
	Name string
	// MinCount is how many pods must have a node before any gets one; 0 if the group does not care.
	MinCount int
	// Bound is how many have one.
	Bound   int
	Waiting []GroupMember
}

// GroupMember is a pod that waits with its group.
type GroupMember struct {
	Name string
	// Node is the one that it would have got with the others; "" if there was none, and Message is then why, or empty if it did not come
	// to that.
	Node, Message string
}

// LeftTo is what Untried begins with for a pod that asks for a scheduler which is not simulated; its name follows.
const LeftTo = "left to the scheduler "

// Gated is the message of a pod with scheduling gates, as the API server writes it into the PodScheduled condition:
// applySchedulingGatedCondition in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go. The scheduler
// has not tried such a pod, so there is no FailedScheduling event.
const Gated = "Scheduling is blocked due to non-empty scheduling gates"

// Reason is one plugin's refusal of a number of nodes.
type Reason struct {
	Plugin  string `json:"plugin"`
	Message string `json:"message"`
	Nodes   int    `json:"nodes"`
}

// Preemption is a running pod that made room for another.
type Preemption struct {
	Victim, For *v1.Pod
	Node        string
	// Ending is the victim in its new form, Terminating; nil if it is gone at once.
	Ending *v1.Pod
}

// Volumes are volume objects in their new form.
type Volumes struct {
	PersistentVolumes      []*v1.PersistentVolume
	PersistentVolumeClaims []*v1.PersistentVolumeClaim
	// CSIStorageCapacities are what is left once the volumes are provisioned; of one that has changed several times the last counts.
	CSIStorageCapacities []*storagev1.CSIStorageCapacity
}

// Changed returns the objects that the decisions changed, in their new form: pods that were placed or nominated, volumes, what is left of
// storage, pod groups and claims. A victim of
// preemption is included if it was placed before.
func (r *Result) Changed() []cluster.Object {
	var changed []cluster.Object
	for _, p := range r.Placed {
		changed = append(changed, p.Pod)
	}
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
