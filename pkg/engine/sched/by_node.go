package sched

import (
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/memo"
)

// byNode caches what follows from each node of the snapshot's list and its pods. Waiting pods need it again and again, and between two of
// them few nodes change.
type byNode[T any] struct {
	nodes []fwk.NodeInfo
	known []nodeValue[T] // by slot
}

type nodeValue[T any] struct {
	generation int64
	value      T
}

// lookUp returns the value of the node at the slot. It computes the value if the node has changed since.
func (b *byNode[T]) lookUp(slot int, all []fwk.NodeInfo, nodes *memo.Memo, compute func(fwk.NodeInfo) T) T {
	if !cluster.SameSlice(b.nodes, all) { // generations belong to the nodes of one list
		*b = byNode[T]{all, make([]nodeValue[T], len(all))}
	}
	known, generation := &b.known[slot], nodes.Generation(slot)
	if known.generation != generation {
		*known = nodeValue[T]{generation, compute(all[slot])}
	}
	return known.value
}
