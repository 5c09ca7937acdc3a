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

// Record is what happened in a world.
type Record struct {
	// Placed are the pods that got a node.
	Placed []placement.Placement
	// Pending are the pods without a node at the end, each with its last rejection.
	Pending []placement.Pending
	// Said are the pods that had no node before, with what the scheduler had said of them.
	Said []placement.Pending
	// Preempted are the pods that made room.
	Preempted []placement.Preemption
	// Rollouts describe how far each controller's pods are from its spec.
	Rollouts []controller.Rollout
	// Drained are the nodes that a step drained, in its order.
	Drained []DrainedNode
	// Decisions are, in a federation, what became of each workload that a policy has claimed, in order of arrival.
	Decisions []Decision
	// Held are the workloads to which a step could not give the replicas that it asked for.
	Held []Held
	// Autoscaling is what the autoscaler did; nil: nobody asked it.
	Autoscaling *Autoscaling
	// Notes are what was assumed, added or refused, and the Jobs that failed.
	Notes []string
	// MovedAt is when Karmada last moved a workload away from a lost cluster.
	MovedAt time.Time
}

// LastMove returns how long after the time Karmada moved the last workload away from a lost cluster; 0 if it moved none.
func (r *Record) LastMove(since time.Time) time.Duration {
	if r.MovedAt.IsZero() {
		return 0
	}
	return r.MovedAt.Sub(since)
}

// stillSaid gives the scheduler's last message to pods that the scheduler no longer tries, since their conditions stay.
func (r *Record) stillSaid(pending []placement.Pending) []placement.Pending {
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

// Decision is what became of a workload on both levels of a federation.
type Decision struct {
	// Binding is what Karmada decided.
	Binding *federation.Binding
	// Shares are the clusters that have a copy, in Karmada's order.
	Shares []Share
}

// Share is what a cluster does with what Karmada gave it.
type Share struct {
	Cluster string `json:"cluster"`
	// Assigned is the number of replicas that Karmada gave, 0 for a workload without replicas.
	Assigned int `json:"assigned"`
	// Running and Pending count the cluster's pods of the workload: those on nodes that answer, and those without a node.
	Running int `json:"running"`
	Pending int `json:"pending"`
	// Message is why the first Pending pod is, in kube-scheduler's words, or why it is not tried; if none is, why the cluster's API server
	// refuses some.
	Message string `json:"message,omitempty"`
}

// Short reports whether the cluster cannot run what Karmada gave it.
func (s Share) Short() bool { return s.Pending > 0 || s.Running < s.Assigned }

// StillThere keeps the last placement of each pod that the state still has.
func StillThere(placed []placement.Placement, state *cluster.State) []placement.Placement {
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

// InputError is an error in what the scenario gives that shows only while the world acts.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }
