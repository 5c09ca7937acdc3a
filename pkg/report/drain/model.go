// Package drain is the report on a drain: what is evicted, where it goes, and what keeps the drain from its end.
package drain

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Kind is the kind of a report on a drain.
const Kind = "DrainReport"

// Report is what kubectl drain would do with nodes, and what keeps it from its end.
type Report struct {
	report.Head
	// Namespace is that of the pods that are listed as evicted, placed, pending and not created; missing where all are. What keeps the drain from its end is
	// listed whatever its namespace.
	Namespace string `json:"namespace,omitempty"`
	// Ends says whether the drain of every node ends, in the order given.
	Ends bool `json:"ends"`
	// Nodes are what comes of each node, in the order given. Where a drain does not end, the next node's turn comes as if kubectl
	// had been given a --timeout.
	Nodes []world.DrainedNode `json:"nodes"`
	// Order is what comes of an order in which the drain of every node ends, where the one given is none. It is empty if none
	// was found.
	Order []world.DrainedNode `json:"order,omitempty"`
	// Searched means that another order was searched for. It is not if a node is blocked, since that holds in every order.
	Searched bool `json:"searched,omitempty"`
}

// pendingOf returns the pods that have no node because of the drain, and the pods that had none before.
func pendingOf(n *world.DrainedNode) (after, before []placement.StrandedPod) {
	for _, pod := range n.Pending {
		if pod.Before {
			before = append(before, pod.StrandedPod)
		} else {
			after = append(after, pod.StrandedPod)
		}
	}
	return after, before
}

// notCreated is how many pods are refused because of the drain.
func notCreated(n *world.DrainedNode) int {
	sum := 0
	for _, r := range n.NotCreated {
		sum += r.Pods
	}
	return sum
}

// New is the report on a drain. The order is what comes of another order, or nil. The version is Faultline's own.
func New(result *simulation.Result, nodes, order []world.DrainedNode, searched bool, version string) *Report {
	ends := !slices.ContainsFunc(nodes, func(n world.DrainedNode) bool { return !n.Ends })
	return &Report{Head: report.NewHead(result, Kind, version), Ends: ends, Nodes: nodes, Order: order, Searched: searched}
}

// In is the report on the pods of one namespace.
func (r *Report) In(namespace string) *Report {
	in := *r
	in.Namespace = namespace
	of := func(nodes []world.DrainedNode) []world.DrainedNode {
		nodes = slices.Clone(nodes)
		for i := range nodes {
			n := &nodes[i]
			n.Evicted = list.Without(n.Evicted, func(p cluster.PodRef) bool { return p.Namespace != namespace })
			n.LostWork = list.Without(n.LostWork, func(p cluster.PodRef) bool { return p.Namespace != namespace })
			n.Placed = list.Without(n.Placed, func(p placement.RecoveredPod) bool { return p.Namespace != namespace })
			n.Pending = list.Without(n.Pending, func(p world.PendingPod) bool { return p.Namespace != namespace })
			n.NotCreated = list.Without(n.NotCreated, func(r cluster.Refusal) bool { return r.Namespace != namespace })
		}
		return nodes
	}
	in.Nodes, in.Order = of(r.Nodes), of(r.Order)
	return &in
}
