// Package placement is what a scheduler decides about pods: which node each one got and by what margin, which ones stay
// Pending and why, and which ones had to make room.
package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Result is what came of offering a queue of pods to the scheduler.
type Result struct {
	// Placed are the pods that got a node, in the order in which they got it.
	Placed []Placement
	// Pending are the pods that got none, in the order of the queue, each with its last refusal.
	Pending []Pending
	// Nominated are those of the Pending pods for which another node is reserved than before, or none any more, in their new form.
	Nominated []*v1.Pod
	// Preempted are the running pods whose deletion was asked for to make room, in that order.
	Preempted []Preemption
	// Volumes are the claims and volumes that were bound or provisioned along the way, in their new form.
	Volumes Volumes
}

// Placement is one pod's node and how it was chosen.
type Placement struct {
	// Pod is the pod in its new form, bound and running.
	Pod *v1.Pod
	// Node is the name of its node.
	Node string
	// Nodes, Feasible and Scored count the nodes: all in the cluster, those that passed every filter (of those examined), and
	// those that were scored. A single feasible node is taken without scoring, so Scored is then 0.
	Nodes, Feasible, Scored int
	// Ties is the number of nodes that had the top score, the chosen one included.
	Ties int
	// Margin is the top score less the next lower one; 0 where all nodes scored the same or none was scored.
	Margin int64
	// Scores are the chosen node's scores by plugin, in the profile's order; empty where nothing was scored.
	Scores []Score
	// RunnerUp is the best of the nodes below the top; nil where there is none.
	RunnerUp *NodeScore
	// Deciders are the plugins without whose score other nodes would have been the best, in the profile's order. None can
	// mean that several plugins agreed.
	Deciders []Decider
	// Filtered counts the nodes that each plugin refused, by plugin name.
	Filtered map[string]int
	// Cycle is what every plugin said; nil unless it was asked for.
	Cycle *Cycle
}

// Decider is a plugin whose score decided.
type Decider struct {
	Plugin string
	// Without is the number of nodes that would have tied for the best without its score.
	Without int
}

// NodeScore is one node's scores.
type NodeScore struct {
	Node   string
	Total  int64
	Scores []Score
}

// Score is what one plugin gave one node.
type Score struct {
	Plugin string
	// Raw is before normalisation. Weighted is after it, multiplied by the plugin's weight: the part that counts.
	Raw, Weighted int64
}

// Pending is a pod that got no node.
type Pending struct {
	Pod *v1.Pod
	// Message is kube-scheduler's own text, as in the FailedScheduling event and the PodScheduled condition.
	Message string
	// Reasons count the nodes by refusing plugin and words, in order of plugin, then words. Empty where the pod was refused as
	// a whole before any node was looked at.
	Reasons []Reason
	// Nominated is the node that preemption has reserved for the pod, or "".
	Nominated string
	// Cycle is what every plugin said; nil unless it was asked for.
	Cycle *Cycle
}

// Gated is the message of a pod that has scheduling gates, as the API server writes it into the condition PodScheduled: applySchedulingGatedCondition in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go. The scheduler has not looked at such a pod, and
// there is no FailedScheduling event.
const Gated = "Scheduling is blocked due to non-empty scheduling gates"

// Reason is a plugin's refusal of a number of nodes.
type Reason struct {
	Plugin  string
	Message string
	Nodes   int
}

// Preemption is a running pod that made room for another.
type Preemption struct {
	Victim, For *v1.Pod
	Node        string
	// Ending is the victim in its new form, Terminating; nil where it is gone at once.
	Ending *v1.Pod
}

// Volumes are volume objects in their new form.
type Volumes struct {
	PersistentVolumes      []*v1.PersistentVolume
	PersistentVolumeClaims []*v1.PersistentVolumeClaim
}

// Changed returns the objects that the decisions have changed, in their new form: the pods that were placed or that a node is
// reserved for, and volumes. A victim of preemption is among them if it was placed before.
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
	return changed
}
