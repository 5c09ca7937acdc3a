// Package outcome finds every outcome of a scenario in which chance decides.
//
// If several nodes share the top score, a kube-scheduler takes one of them at random, each with the same chance. [RunExact] walks the tree
// of these ties, and gives each distribution of pods over nodes its exact probability. [RunTrials] runs the scenario with one seed after
// the other, and gives frequencies with intervals; it also covers everything else that is left to chance.
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

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Distribution has the number of pods of each workload on each node.
type Distribution struct {
	// Workloads are the workloads that have pods, by namespace, kind and name. A bare pod is a workload of its own.
	Workloads []PlacedWorkload `json:"workloads"`
}

// PlacedWorkload has the distribution of the pods of one workload.
type PlacedWorkload struct {
	cluster.WorkloadRef
	// Nodes has the number of pods by node. Pending is the number of pods without a node.
	Nodes   map[string]int `json:"nodes"`
	Pending int            `json:"pending,omitempty"`
}

// newDistribution returns the distribution of the state's active pods. It skips pods that have ended and pods that are Terminating.
func newDistribution(state *cluster.State) Distribution {
	found := map[cluster.Ref]*PlacedWorkload{}
	owner := state.Owners()
	for _, pod := range state.Pods {
		if !cluster.IsActive(pod) {
			continue
		}
		o := owner(pod)
		w := found[o]
		if w == nil {
			w = &PlacedWorkload{WorkloadRef: o.Workload(), Nodes: map[string]int{}}
			w.Namespace = cmp.Or(w.Namespace, v1.NamespaceDefault)
			found[o] = w
		}
		if pod.Spec.NodeName == "" {
			w.Pending++
		} else {
			w.Nodes[pod.Spec.NodeName]++
		}
	}
	var p Distribution
	for _, o := range slices.SortedFunc(maps.Keys(found), cluster.Ref.Compare) {
		p.Workloads = append(p.Workloads, *found[o])
	}
	return p
}

// Pending returns the number of pods without a node.
func (p Distribution) Pending() int {
	n := 0
	for _, w := range p.Workloads {
		n += w.Pending
	}
	return n
}

// Nodes returns the number of pods by node, over all workloads.
func (p Distribution) Nodes() map[string]int {
	nodes := map[string]int{}
	for _, w := range p.Workloads {
		for node, n := range w.Nodes {
			nodes[node] += n
		}
	}
	return nodes
}

// key returns a string that is equal for equal distributions only.
func (p Distribution) key() string {
	var b strings.Builder
	for _, w := range p.Workloads {
		fmt.Fprintf(&b, "%s/%s %d:", w.Namespace, w.Workload, w.Pending)
		for _, node := range slices.Sorted(maps.Keys(w.Nodes)) {
			fmt.Fprintf(&b, " %s %d", node, w.Nodes[node])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// partOn returns the part of the distribution that is on a node.
func (p Distribution) partOn(node string) string {
	var b strings.Builder
	for i, w := range p.Workloads {
		if n := w.Nodes[node]; n > 0 {
			fmt.Fprintf(&b, "%d:%d ", i, n)
		}
	}
	return b.String()
}

// permute returns the distribution in which each node has the pods of the node from[node]. Nodes that are not in from keep their pods.
func (p Distribution) permute(from map[string]string) Distribution {
	var next Distribution
	for _, w := range p.Workloads {
		nodes := map[string]int{}
		for node, source := range from {
			if n := w.Nodes[source]; n > 0 {
				nodes[node] = n
			}
		}
		for node, n := range w.Nodes { // for example, new nodes
			if _, known := from[node]; !known {
				nodes[node] = n
			}
		}
		next.Workloads = append(next.Workloads, PlacedWorkload{WorkloadRef: w.WorkloadRef, Nodes: nodes, Pending: w.Pending})
	}
	return next
}

// beforeSteps is the index of the cluster's own first moves, before the scenario's steps.
const beforeSteps = -1

// pendingPart returns the part of the distribution that is on no node: the workloads and the numbers of their Pending pods.
func (p Distribution) pendingPart() string {
	var b strings.Builder
	for _, w := range p.Workloads {
		fmt.Fprintf(&b, "%s/%s %d\n", w.Namespace, w.Workload, w.Pending)
	}
	return b.String()
}
