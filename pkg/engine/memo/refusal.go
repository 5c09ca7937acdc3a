package memo

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/faultline/faultline/pkg/engine/placement"
)

// A pod that fits on no node is tried again after each change of the cluster. The refusal stands if nothing has changed that the filters
// read: the nodes, and the counts of rules between pods. Only nodes that have changed since are asked again, and most of them answer as
// before: a node that got one more pod still has too little CPU. So an attempt compares one number for each node instead of running a
// scheduling cycle. On 5,000 nodes of which one changed, it asks the filters about 1 node instead of 5,000.

// refusal records that no node takes the pods of a template, and that preemption can free none for them. It takes about 24 bytes for each
// node.
type refusal struct {
	pending       placement.Pending
	countVersions countVersions
	askedFilters  []int // the filters that were asked about every node
	state         fwk.CycleState
	generations   []uint64      // by slot: the version of the node when the filters were asked; see [Framework.filterGeneration]
	statuses      []*fwk.Status // by slot: why the node rejects the pod
	emptied       []*fwk.Status // by slot: why the node rejects the pod even without the pods that it may preempt; nil if the pod preempts none
	dryRuns       int           // how many nodes upstream would try to free
}

// Attempt is what a scheduling cycle found out about the current pod, which fits on no node.
type Attempt struct {
	// State is the cycle state that the plugins have written.
	State fwk.CycleState
	// Statuses are the reasons of the nodes, by name.
	Statuses fwk.NodeToStatusReader
	// Emptied has by slot why the node rejects the pod even without the pods that it may preempt there, and nil for nodes without such
	// pods. The slice is nil if the pod preempts none.
	Emptied []*fwk.Status
	// DryRuns is the number of nodes that upstream would try to free.
	DryRuns int
	// Pending is the result of the cycle.
	Pending placement.Pending
}

// KeepRefusal keeps the attempt for the other pods of the template. It keeps nothing if a filter was asked that reads more than the nodes
// and the counts of rules between pods. A nil Framework keeps nothing.
func (f *Framework) KeepRefusal(a Attempt) {
	if f == nil || f.answers == nil {
		return
	}
	counts, known := f.currentCountVersions()
	if !known || f.readNonlocal().countOnlyFilters < len(f.filters) {
		return
	}
	m := f.memo
	r := &refusal{
		pending: a.Pending, countVersions: counts, askedFilters: slices.Clone(f.askedFilters), state: a.State, emptied: a.Emptied, dryRuns: a.DryRuns,
		generations: make([]uint64, len(m.infos)), statuses: make([]*fwk.Status, len(m.infos)),
	}
	for slot, name := range m.names {
		r.generations[slot], r.statuses[slot] = f.filterGeneration(slot), a.Statuses.Get(name)
	}
	if m.template.refusals == nil {
		m.template.refusals = map[*Framework]*refusal{}
	}
	m.template.refusals[f], m.templates.anyRefusal = r, true
}

// RepeatRefusal begins the cycle of the pod. If an earlier pod of its template fitted on no node, and all reasons still hold, StillRefused
// returns the result of that pod and the number of nodes that upstream would try to free. For each node that has changed, it calls emptied,
// which returns why the node rejects the pod even without the pods that it may preempt there, nil if there are no such pods, and false if
// the node might take the pod. The pod must have no volumes and no claims.
func (f *Framework) RepeatRefusal(ctx context.Context, pod *v1.Pod, emptied func(state fwk.CycleState, slot int) (*fwk.Status, bool)) (pending placement.Pending, dryRuns int, still bool) {
	m := f.memo
	if !m.templates.anyRefusal { // the usual case: every pod fits
		return placement.Pending{}, 0, false
	}
	m.beginCycle(pod)
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
		case *spreadPlugin:
			if s := plugin.stateOf(pod); s != nil {
				s.applyLog(ctx, plugin)
			}
			plugin.preFiltered = nil // the state of the refusal has the same counts
		case *affinityPlugin:
			if s := plugin.stateOf(pod); s != nil {
				s.applyLog(ctx, plugin)
			}
			plugin.preFiltered = nil
		}
	}
	if counts, known := f.currentCountVersions(); !known || counts != r.countVersions {
		return placement.Pending{}, 0, false
	}
	f.answers, f.askedFilters, f.nonlocal.current = m.template.base.answersFor(f), append(f.askedFilters[:0], r.askedFilters...), false
	for slot := range m.generations {
		generation := f.filterGeneration(slot)
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

// filterGeneration returns a number that changes with all that filters see on the node: the upper half identifies the pods that have the node
// nominated, the lower half is that of the node's generation, which changes with the node and its pods.
func (f *Framework) filterGeneration(slot int) uint64 {
	return uint64(f.reserves(f.memo.names[slot]))<<32 | uint64(uint32(f.memo.generations[slot]))
}

// sameStatus reports whether two rejections have the same code, plugin and reasons. A status may be nil.
func sameStatus(a, b *fwk.Status) bool {
	return a == b || a != nil && b != nil && a.Code() == b.Code() && a.Plugin() == b.Plugin() && slices.Equal(a.Reasons(), b.Reasons())
}
