// Package drain has the report on a drain: which pods are evicted, where they go, and what blocks the drain.
package drain

import (
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/drain"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Kind is the kind of a report on a drain.
const Kind = "DrainReport"

// Report says what kubectl drain would do with nodes, and what would block it.
type Report struct {
	report.Head
	// Namespace is the namespace of the pods that are listed as evicted, placed, pending and not created; missing if all namespaces are. Pods that block
	// the drain are listed whatever their namespace.
	Namespace string `json:"namespace,omitempty"`
	// Ends says whether the drains of all nodes end, in the given order.
	Ends bool `json:"ends"`
	// Nodes are the drains of the nodes, in the given order. If a drain does not end, the next node is drained nevertheless, as if kubectl
	// had a --timeout.
	Nodes []world.DrainedNode `json:"nodes"`
	// Order are the drains in an order in which all end, if they do not in the given one; missing if no such order was found.
	Order []world.DrainedNode `json:"order,omitempty"`
	// Searched means that another order was searched for. There is no search if a pod blocks a drain, since it does so in every order.
	Searched bool `json:"searched,omitempty"`
	// Causes say why pods have no node because of the drain, with the values of both sides: of pods of one workload with the same message only the
	// first.
	Causes []drain.Pending `json:"causes,omitempty"`
	// Fixes are changes before the drain with which it ends and leaves no more pods without a node, and Tried are changes with which it does not end.
	Fixes []drain.Fix `json:"fixes,omitempty"`
	Tried []string    `json:"tried,omitempty"`
	// Decided is what each decider does meanwhile, and Autoscaling what the Cluster Autoscaler does; missing without one.
	Decided     []world.Decided    `json:"decided,omitempty"`
	Autoscaling *world.Autoscaling `json:"autoscaling,omitempty"`
}

// splitPending returns the pods that have no node because of the drain, and the pods that had none before.
func splitPending(n *world.DrainedNode) (after, before []placement.StrandedPod) {
	for _, pod := range n.Pending {
		if pod.Before {
			before = append(before, pod.StrandedPod)
		} else {
			after = append(after, pod.StrandedPod)
		}
	}
	return after, before
}

// countNotCreated counts the pods that the API server refuses because of the drain.
func countNotCreated(n *world.DrainedNode) int {
	sum := 0
	for _, r := range n.NotCreated {
		sum += r.Pods
	}
	return sum
}

// New returns the report on a drain. order has the drains in another order, or is nil. version is Faultline's version.
func New(result *simulation.Result, nodes, order []world.DrainedNode, searched bool, version string) *Report {
	ends := !slices.ContainsFunc(nodes, func(n world.DrainedNode) bool { return !n.Ends })
	return &Report{Head: report.NewHead(result, Kind, version), Ends: ends, Nodes: nodes, Order: order, Searched: searched}
}

// InNamespace returns the report on the pods of one namespace.
func (r *Report) InNamespace(namespace string) *Report {
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
	in.Causes = list.Without(r.Causes, func(p drain.Pending) bool { return !strings.HasPrefix(p.Pod, namespace+"/") })
	return &in
}

// question is the title of the report.
func (r *Report) question() string {
	if len(r.Nodes) == 1 {
		return "Drain of " + r.Nodes[0].Node
	}
	return "Drain of " + words.Count(len(r.Nodes), "node")
}
