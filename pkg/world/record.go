package world

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/list"
)

// Record collects what happens in a world during a step.
type Record struct {
	// Placed are the decisions that gave pods a node.
	Placed []placement.Placement
	// Pending are the pods without a node at the end, each with its last rejection.
	Pending []placement.Pending
	// Said are the pods that had no node before the step, with the scheduler's last messages.
	Said []placement.Pending
	// Preempted are the pods that were preempted.
	Preempted []placement.Preemption
	// Rollouts describe how far each controller's pods are from its spec.
	Rollouts []controller.Rollout
	// Drained are the nodes that a drain step drained, in its order.
	Drained []DrainedNode
	// Moved is what a makeRoom step did; nil after other steps.
	Moved *MovedPods
	// Decisions has, in a federation, the result for each workload that a policy has claimed, in order of arrival.
	Decisions []Decision
	// Held are the workloads that did not get the replicas that a step asked for.
	Held []Held
	// Autoscaling is what the autoscaler did; nil if the world has none.
	Autoscaling *Autoscaling
	// Acts are what deciders did, in order; Events are what they reported, the last of each reason and object; Cycles are courses of acts that
	// repeat without end.
	Acts   []Act
	Events []ActEvent
	Cycles []Cycle
	// Moments describe the cluster each time that nothing moved and the deciders were asked. A moment that equals the one before is left out.
	Moments []Moment
	// Notes say what was assumed, added or refused, and which Jobs failed.
	Notes []string
	// MovedAt is when Karmada last moved a workload away from a lost cluster.
	MovedAt time.Time

	moments []moments // of each decider
}

// LastMove returns the time from since to Karmada's last move of a workload away from a lost cluster; 0 if there was none.
func (r *Record) LastMove(since time.Time) time.Duration {
	if r.MovedAt.IsZero() {
		return 0
	}
	return r.MovedAt.Sub(since)
}

// keepMessages gives each pod that the scheduler does not try any more the last message about it, since the pod's condition stays.
func (r *Record) keepMessages(pending []placement.Pending) []placement.Pending {
	for i := range pending {
		p := &pending[i]
		if p.Untried == "" || p.Message != "" {
			continue
		}
		same := func(before placement.Pending) bool { return before.Pod.UID == p.Pod.UID }
		for _, before := range [][]placement.Pending{r.Pending, r.Said} {
			if at := slices.IndexFunc(before, same); at >= 0 && p.Message == "" {
				p.Message, p.Failed = before[at].Message, before[at].Failed
			}
		}
	}
	return pending
}

// Decision is what happens to a workload on both levels of a federation.
type Decision struct {
	// Binding is what Karmada decided.
	Binding *federation.Binding
	// Shares are the parts of the clusters that have a copy, in Karmada's order.
	Shares []Share
}

// Share is what a cluster makes of the replicas that Karmada assigned to it.
type Share struct {
	Cluster string `json:"cluster"`
	// Assigned is the number of replicas that Karmada assigned, 0 for a workload without replicas.
	Assigned int `json:"assigned"`
	// Running counts the cluster's pods of the workload on nodes that answer, Pending those without a node.
	Running int `json:"running"`
	Pending int `json:"pending"`
	// Message is why the first Pending pod is Pending, in kube-scheduler's words, or why the scheduler does not try it. Without a Pending
	// pod it is why the cluster's API server refuses a pod.
	Message string `json:"message,omitempty"`
}

// Short reports whether the cluster runs fewer pods than Karmada assigned to it.
func (s Share) Short() bool { return s.Pending > 0 || s.Running < s.Assigned }

// SurvivingPlacements returns the placements of pods that still have a node in the state.
func SurvivingPlacements(placed []placement.Placement, state *cluster.State) []placement.Placement {
	onNode := make(map[types.UID]bool, len(placed))
	for _, p := range placed {
		onNode[p.Pod.UID] = false
	}
	for _, pod := range state.Pods {
		if _, asked := onNode[pod.UID]; asked {
			onNode[pod.UID] = pod.Spec.NodeName != ""
		}
	}
	return list.Where(placed, func(p placement.Placement) bool { return onNode[p.Pod.UID] })
}

// InputError is an error in the scenario's input that shows only while the world acts.
type InputError struct{ Err error }

// Error returns the text of Err.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *InputError) Unwrap() error { return e.Err }
