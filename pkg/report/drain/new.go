package drain

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// New puts what comes of a drain into the model. The state is that before it; order is what comes of another order, or nil.
// The version is Faultline's own.
func New(result *simulation.Result, before *cluster.State, drained []world.Drained, order []world.Drained, searched bool, version string) *Report {
	r := &Report{Head: report.NewHead(result, Kind, version), Ends: true, Searched: searched}
	waited := map[types.UID]bool{}
	for _, pod := range before.Unscheduled() {
		waited[pod.UID] = true
	}
	for i := range drained {
		node := newDrained(&drained[i], before, waited)
		r.Ends = r.Ends && node.Ends
		r.Nodes = append(r.Nodes, node)
	}
	for i := range order {
		r.Order = append(r.Order, newDrained(&order[i], before, waited))
	}
	return r
}

// In is the report on the pods of one namespace.
func (r *Report) In(namespace string) *Report {
	in := *r
	in.Namespace = namespace
	of := func(nodes []DrainedNode) []DrainedNode {
		nodes = slices.Clone(nodes)
		for i := range nodes {
			n := &nodes[i]
			n.Evicted = slices.DeleteFunc(slices.Clone(n.Evicted), func(p DrainedPod) bool { return p.Namespace != namespace })
			n.Placed = slices.DeleteFunc(slices.Clone(n.Placed), func(p placement.RecoveredPod) bool { return p.Namespace != namespace })
			n.Pending = slices.DeleteFunc(slices.Clone(n.Pending), func(p PendingPod) bool { return p.Namespace != namespace })
			n.NotCreated = slices.DeleteFunc(slices.Clone(n.NotCreated), func(r cluster.Refusal) bool { return r.Namespace != namespace })
		}
		return nodes
	}
	in.Nodes, in.Order = of(r.Nodes), of(r.Order)
	return &in
}

// newDrained is what comes of one node. The waited are the pods that had no node before the drain.
func newDrained(drained *world.Drained, before *cluster.State, waited map[types.UID]bool) DrainedNode {
	// The replacements belong to the same controllers, save the ReplicaSets that are made on the way, of which there are none.
	owner := before.Owners()
	d := DrainedNode{Node: drained.Node, Ends: drained.Ends()}
	for _, pod := range drained.Evicted {
		d.Evicted = append(d.Evicted, DrainedPod{Namespace: pod.Namespace, Name: pod.Name, Workload: report.OwnerName(owner(pod))})
	}
	blocked := func(pods []node.Blocked) []BlockedPod {
		var all []BlockedPod
		for _, b := range pods {
			all = append(all, BlockedPod{Namespace: b.Pod.Namespace, Name: b.Pod.Name, Workload: report.OwnerName(owner(b.Pod)), Reason: b.Reason})
		}
		return all
	}
	d.Blocked, d.Refused = blocked(drained.Blocked), blocked(drained.Refused)
	for _, placed := range drained.Placed {
		d.Placed = append(d.Placed, placed.Recovered(owner(placed.Pod)))
	}
	for _, pending := range drained.Pending {
		d.Pending = append(d.Pending, PendingPod{StrandedPod: pending.Stranded(owner(pending.Pod)), Before: waited[pending.Pod.UID]})
	}
	d.NotCreated = since(before.Refused, drained.NotCreated)
	return d
}

// since are the refusals by which a workload lacks more pods than before, with how many more.
func since(before, now []cluster.Refusal) []cluster.Refusal {
	var more []cluster.Refusal
	for _, r := range now {
		for _, was := range before {
			if was.Ref == r.Ref {
				r.Pods -= was.Pods
			}
		}
		if r.Pods > 0 {
			more = append(more, r)
		}
	}
	return more
}
