// Package outcome finds every outcome of a scenario in which chance decides among several.
//
// Where several nodes share the top score, a kube-scheduler takes one of them at random, each with the same chance. Exact walks the
// tree of these ties, and gives each distribution of pods over nodes with its exact probability. Trials runs the scenario with one
// seed after the other, and gives frequencies with intervals; it also covers what else is left to chance.
//
//	scenario ─ Begin, Next with Choose ─▶ a tie ─ keyer ─▶ known? merged : gone on from          (exact.go, key.go)
//	nodes ─ symmetry ─▶ nodes that are interchangeable; one of them stands for all               (symmetry.go)
//	scenario ─ simulation.Run, a seed each ─▶ observations ─ package stats ─▶ shares and intervals (trials.go)
package outcome

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/simulation"
)

// Placement is a distribution of pods over nodes.
type Placement struct {
	// Workloads are those that have pods, by namespace, kind and name. Bare pods are workloads of their own.
	Workloads []Workload
}

// Workload is how the pods of one workload are distributed.
type Workload struct {
	Owner cluster.Ref
	// Nodes are the numbers of pods by node; Pending is the number of pods without one.
	Nodes   map[string]int
	Pending int
}

// PlacementOf returns the distribution of the state's pods, those that have ended or are about to apart.
func PlacementOf(state *cluster.State) Placement {
	found := map[cluster.Ref]*Workload{}
	owner := state.Owners()
	for _, pod := range state.Pods {
		if !cluster.Active(pod) {
			continue
		}
		o := owner(pod)
		w := found[o]
		if w == nil {
			w = &Workload{Owner: o, Nodes: map[string]int{}}
			found[o] = w
		}
		if pod.Spec.NodeName == "" {
			w.Pending++
		} else {
			w.Nodes[pod.Spec.NodeName]++
		}
	}
	var p Placement
	for _, w := range found {
		p.Workloads = append(p.Workloads, *w)
	}
	slices.SortFunc(p.Workloads, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(a.Owner.Namespace, b.Owner.Namespace), cmp.Compare(a.Owner.Kind, b.Owner.Kind), cmp.Compare(a.Owner.Name, b.Owner.Name))
	})
	return p
}

// Pending is the number of pods without a node.
func (p Placement) Pending() int {
	n := 0
	for _, w := range p.Workloads {
		n += w.Pending
	}
	return n
}

// Nodes are the numbers of pods by node, of all workloads together.
func (p Placement) Nodes() map[string]int {
	nodes := map[string]int{}
	for _, w := range p.Workloads {
		for node, n := range w.Nodes {
			nodes[node] += n
		}
	}
	return nodes
}

// key is the same for the same placements, and for no others.
func (p Placement) key() string {
	var b strings.Builder
	for _, w := range p.Workloads {
		fmt.Fprintf(&b, "%s/%s %d:", w.Owner.Namespace, w.Owner, w.Pending)
		for _, node := range slices.Sorted(maps.Keys(w.Nodes)) {
			fmt.Fprintf(&b, " %s %d", node, w.Nodes[node])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// on returns the part of the placement that is on a node.
func (p Placement) on(node string) string {
	var b strings.Builder
	for i, w := range p.Workloads {
		if n := w.Nodes[node]; n > 0 {
			fmt.Fprintf(&b, "%d:%d ", i, n)
		}
	}
	return b.String()
}

// moved returns the placement with the pods of each node on another: those of from[node] are then on node.
func (p Placement) moved(from map[string]string) Placement {
	var next Placement
	for _, w := range p.Workloads {
		nodes := map[string]int{}
		for node, source := range from {
			if n := w.Nodes[source]; n > 0 {
				nodes[node] = n
			}
		}
		for node, n := range w.Nodes { // nodes that no other can stand for, such as one that is new
			if _, known := from[node]; !known {
				nodes[node] = n
			}
		}
		next.Workloads = append(next.Workloads, Workload{Owner: w.Owner, Nodes: nodes, Pending: w.Pending})
	}
	return next
}

// stepsBefore is the position of the cluster's own first moves, before the scenario's steps.
const beforeSteps = -1

// stateOf is the cluster that a result ends with.
func stateOf(result *simulation.Result) *cluster.State {
	if n := len(result.Steps); n > 0 {
		return result.Steps[n-1].State
	}
	return result.Initial
}

// withoutNodes is the part of the placement that is on no node: the workloads and their Pending pods.
func (p Placement) withoutNodes() string {
	var b strings.Builder
	for _, w := range p.Workloads {
		fmt.Fprintf(&b, "%s/%s %d\n", w.Owner.Namespace, w.Owner, w.Pending)
	}
	return b.String()
}
