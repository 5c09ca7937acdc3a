package memo

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

// Preemption first asks whether a pod would fit on a node without the pods there that it may preempt. A "no" holds until something changes
// that the filters read: the node and its pods, and, for rules between pods, the counts of pods by domain. So the answer is kept for all
// pods of a template. It pays after the loss of a zone: hundreds of pods stay Pending, and each is tried again after each change elsewhere.

// emptiedVerdict is why a node rejects the pods of a template even without the pods that they may preempt.
type emptiedVerdict struct {
	generation    uint32 // the lower half of the node's generation when the filters were asked; 0: never
	rejection     uint16 // the number of the status in rejections
	rejectedBy    uint16 // the index of the filter that rejected the node
	countVersions countVersions
}

// countVersions has the versions of the counts that rules between pods read. A version is 0 where there are no counts, because no rule concerns
// the pod.
type countVersions struct{ spread, affinity int64 }

// nonlocalReads is what the filters of the current pod read besides its template and the node.
type nonlocalReads struct {
	current          bool // whether the fields below are about the current pod
	countOnlyFilters int  // the number of filters, from the first on, that read nothing but the node and the counts
	countVersions
}

// EmptiedStatus returns why the node at the slot rejects the current pod even without the pods that the pod may preempt. It returns nil if no
// filter has said so since something that the filter reads last changed. A nil Framework returns nil.
func (f *Framework) EmptiedStatus(slot int) *fwk.Status {
	if f == nil || f.answers == nil {
		return nil
	}
	generation := uint32(f.memo.generations[slot])
	if f.answers.emptied != nil {
		if v := f.answers.emptied[slot]; v.generation == generation && !f.isReserved(slot) {
			return f.rejections.statuses[v.rejection]
		}
	}
	if known := f.memo.template.emptied[f]; known != nil {
		rules := f.readNonlocal()
		if v := known[slot]; v.generation == generation && v.countVersions == rules.countVersions && int(v.rejectedBy) < rules.countOnlyFilters && !f.isReserved(slot) {
			return f.rejections.statuses[v.rejection]
		}
	}
	return nil
}

// KeepEmptiedStatus keeps the status that the filters gave for the node at the slot without the pods that the current pod may preempt. It keeps
// nothing if a filter was asked that reads more than the node and the counts of rules between pods, such as a filter of volumes. A nil
// Framework keeps nothing.
func (f *Framework) KeepEmptiedStatus(slot int, status *fwk.Status) {
	if f == nil || f.answers == nil || !status.IsRejected() {
		return
	}
	rules := f.readNonlocal()
	by := slices.IndexFunc(f.filters[:rules.countOnlyFilters], func(filter enabledFilter) bool { return filter.name == status.Plugin() })
	if by < 0 || f.isReserved(slot) {
		return
	}
	rejection, kept := f.rejections.intern(by, status)
	if !kept {
		return
	}
	generation := uint32(f.memo.generations[slot])
	if by < f.leadingLocals { // the rejection holds for all templates that differ in nothing but rules between pods
		if f.answers.emptied == nil {
			f.answers.emptied = make([]verdict, len(f.memo.infos))
		}
		f.answers.emptied[slot] = verdict{generation: generation, rejection: rejection}
		return
	}
	t := f.memo.template
	if t.emptied == nil {
		t.emptied = map[*Framework][]emptiedVerdict{}
	}
	if t.emptied[f] == nil {
		t.emptied[f] = make([]emptiedVerdict, len(f.memo.infos))
	}
	t.emptied[f][slot] = emptiedVerdict{generation: generation, rejection: rejection, rejectedBy: uint16(by), countVersions: rules.countVersions}
}

// readNonlocal returns what the filters of the current pod read besides its template and the node.
func (f *Framework) readNonlocal() *nonlocalReads {
	r := &f.nonlocal
	if r.current {
		return r
	}
	versions, known := f.currentCountVersions()
	*r = nonlocalReads{current: true, countOnlyFilters: len(f.filters), countVersions: versions}
	for _, i := range f.askedFilters {
		_, spreads := f.filters[i].FilterPlugin.(*spreadPlugin)
		_, keepsApart := f.filters[i].FilterPlugin.(*affinityPlugin)
		if !known || !spreads && !keepsApart {
			r.countOnlyFilters = i
			break
		}
	}
	return r
}

// currentCountVersions returns the versions of the counts by which the filters judge the current pod. It reports false if the memo does not keep these
// counts.
func (f *Framework) currentCountVersions() (versions countVersions, known bool) {
	for _, filter := range f.filters {
		switch plugin := filter.FilterPlugin.(type) {
		case *spreadPlugin:
			s := f.memo.template.spreads[plugin]
			if s == nil || !s.filter.known {
				return countVersions{}, false
			}
			versions.spread = s.filter.version
		case *affinityPlugin:
			s := plugin.states[f.memo.traits]
			if s == nil || !s.filter.known {
				return countVersions{}, false
			}
			versions.affinity = s.filter.version
		}
	}
	return versions, true
}

// nextCountVersion returns a number that no counts have had before.
func (m *Memo) nextCountVersion() int64 {
	m.lastCountVersion++
	return m.lastCountVersion
}
