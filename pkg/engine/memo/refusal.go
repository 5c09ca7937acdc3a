package memo

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/faultline/faultline/pkg/engine/placement"
)

// A pod that no node takes is tried again after each change of the cluster. The refusal stands if nothing has changed that the filters read:
// the counts of rules between pods, and the nodes. Only nodes that have changed since are asked, and mostly they say the same as before: a
// node that got one more pod still has too little CPU. So an attempt costs a comparison of numbers for each node, not a scheduling cycle.

// refusal is that no node takes the pods of a template, and that none can be freed for them. It is some 24 bytes for each node.
type refusal struct {
	pending     placement.Pending
	counts      counted
	asked       []int // the filters that were asked about every node
	state       fwk.CycleState
	generations []uint64      // by slot: what the node was when it was asked; see generation
	statuses    []*fwk.Status // by slot: why the node rejects the pod
	emptied     []*fwk.Status // by slot: why it does even without the pods that may be preempted; nil if the pod preempts none
	dryRuns     int           // how many nodes upstream would try to free
}

// Attempt is the attempt of the current pod that ended without a node.
type Attempt struct {
	State    fwk.CycleState
	Statuses fwk.NodeToStatusReader
	// Emptied says by slot why nodes reject the pod even without the pods that may be preempted there, nil where there are none; it is nil if the
	// pod preempts none.
	Emptied []*fwk.Status
	// DryRuns is the number of nodes that upstream would try to free.
	DryRuns int
	Pending placement.Pending
}

// KeepRefusal keeps that no node takes the current pod, unless a filter was asked that reads something else than the nodes and the counts of
// rules between pods. A nil Framework keeps nothing.
func (f *Framework) KeepRefusal(a Attempt) {
	if f == nil || f.answers == nil {
		return
	}
	counts, known := f.counts()
	if !known || f.readRules().filters < len(f.filters) {
		return
	}
	m := f.memo
	r := &refusal{
		pending: a.Pending, counts: counts, asked: slices.Clone(f.asked), state: a.State, emptied: a.Emptied, dryRuns: a.DryRuns,
		generations: make([]uint64, len(m.infos)), statuses: make([]*fwk.Status, len(m.infos)),
	}
	for slot, name := range m.names {
		r.generations[slot], r.statuses[slot] = f.generation(slot), a.Statuses.Get(name)
	}
	if m.template.refusals == nil {
		m.template.refusals = map[*Framework]*refusal{}
	}
	m.template.refusals[f], m.templates.refused = r, true
}

// StillRefused returns what was said of an earlier pod of the template that no node took, and how many nodes upstream would try to free, if
// all of it holds for the pod, with which the cycle begins. Emptied is asked about nodes that have changed: why they reject the pod even
// without the pods that may be preempted there, nil if there are none, and false if they may not. The pod has no volumes and no claims.
func (f *Framework) StillRefused(ctx context.Context, pod *v1.Pod, emptied func(state fwk.CycleState, slot int) (*fwk.Status, bool)) (pending placement.Pending, dryRuns int, still bool) {
	m := f.memo
	if !m.templates.refused { // as where every pod fits
		return placement.Pending{}, 0, false
	}
	m.begin(pod)
	f.answers = nil
	if m.template == nil {
		return placement.Pending{}, 0, false
	}
	r := m.template.refusals[f]
	if r == nil {
		return placement.Pending{}, 0, false
	}
	for _, filter := range f.filters {
		switch plugin := filter.FilterPlugin.(type) {
		case *spread:
			if s := plugin.stateOf(pod); s != nil {
				s.update(ctx, plugin)
			}
			plugin.filtered = nil // the state of the refusal has the same counts
		case *affinity:
			if s := plugin.stateOf(pod); s != nil {
				s.update(ctx, plugin)
			}
			plugin.filtered = nil
		}
	}
	if counts, known := f.counts(); !known || counts != r.counts {
		return placement.Pending{}, 0, false
	}
	f.answers, f.asked, f.rules.read = m.template.base.answersFor(f), append(f.asked[:0], r.asked...), false
	for slot := range m.generations {
		generation := f.generation(slot)
		if generation == r.generations[slot] {
			continue
		}
		status := f.RunFilterPluginsWithNominatedPods(ctx, r.state, pod, m.infos[slot])
		if !status.IsRejected() || !sameStatus(status, r.statuses[slot]) {
			return placement.Pending{}, 0, false
		}
		if r.emptied != nil && status.Code() == fwk.Unschedulable {
			without, rejects := emptied(r.state, slot)
			if !rejects || !sameStatus(without, r.emptied[slot]) {
				return placement.Pending{}, 0, false
			}
		}
		r.generations[slot] = generation
	}
	return r.pending, r.dryRuns, true
}

// generation returns the version of the node's reservation and the lower half of the node's generation. They change with all that filters see
// on the node: it, its pods, and the pods that have it nominated.
func (f *Framework) generation(slot int) uint64 {
	return uint64(f.reserves(f.memo.names[slot]))<<32 | uint64(uint32(f.memo.generations[slot]))
}

// sameStatus reports whether two rejections say the same; nil is none.
func sameStatus(a, b *fwk.Status) bool {
	return a == b || a != nil && b != nil && a.Code() == b.Code() && a.Plugin() == b.Plugin() && slices.Equal(a.Reasons(), b.Reasons())
}
