package memo

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

// Preemption first asks whether a pod would fit on a node without the pods there that it may preempt. A "no" holds until something changes
// that the filters read: the node and its pods, and, for rules between pods, the counts of pods by domain. So the answer is kept for all
// pods of a template. It pays after the loss of a zone: hundreds of pods stay Pending, and each is tried again after each change elsewhere.

// emptied is why a node rejects the pods of a template even without the pods that they may preempt.
type emptied struct {
	generation uint32 // the lower half of the node's generation when the filters were asked; 0: never
	rejection  uint16 // the number of the status in rejections
	rejected   uint16 // the index of the filter that rejected the node
	counts     counted
}

// counted has the versions of the counts that rules between pods read. A version is 0 where there are no counts, because no rule concerns
// the pod.
type counted struct{ spread, affinity int64 }

// rules is what the filters of the current pod read besides its template and the node.
type rules struct {
	read    bool // whether the fields below are about the current pod
	filters int  // the number of filters, from the first on, that read nothing but the node and the counts
	counted
}

// Emptied returns why the node at the slot rejects the current pod even without the pods that the pod may preempt. It returns nil if no
// filter has said so since something that the filter reads last changed. A nil Framework returns nil.
func (f *Framework) Emptied(slot int) *fwk.Status {
	if f == nil || f.answers == nil {
		return nil
	}
	generation := uint32(f.memo.generations[slot])
	if f.answers.emptied != nil {
		if v := f.answers.emptied[slot]; v.generation == generation && !f.reserved(slot) {
			return f.rejections.all[v.rejection]
		}
	}
	if known := f.memo.template.emptied[f]; known != nil {
		rules := f.readRules()
		if v := known[slot]; v.generation == generation && v.counts == rules.counted && int(v.rejected) < rules.filters && !f.reserved(slot) {
			return f.rejections.all[v.rejection]
		}
	}
	return nil
}

// KeepEmptied keeps the status that the filters gave for the node at the slot without the pods that the current pod may preempt. It keeps
// nothing if a filter was asked that reads more than the node and the counts of rules between pods, such as a filter of volumes. A nil
// Framework keeps nothing.
func (f *Framework) KeepEmptied(slot int, status *fwk.Status) {
	if f == nil || f.answers == nil || !status.IsRejected() {
		return
	}
	rules := f.readRules()
	by := slices.IndexFunc(f.filters[:rules.filters], func(filter filter) bool { return filter.name == status.Plugin() })
	if by < 0 || f.reserved(slot) {
		return
	}
	rejection, kept := f.rejections.place(by, status)
	if !kept {
		return
	}
	generation := uint32(f.memo.generations[slot])
	if by < f.leading { // the rejection holds for all templates that differ in nothing but rules between pods
		if f.answers.emptied == nil {
			f.answers.emptied = make([]verdict, len(f.memo.infos))
		}
		f.answers.emptied[slot] = verdict{generation: generation, rejection: rejection}
		return
	}
	t := f.memo.template
	if t.emptied == nil {
		t.emptied = map[*Framework][]emptied{}
	}
	if t.emptied[f] == nil {
		t.emptied[f] = make([]emptied, len(f.memo.infos))
	}
	t.emptied[f][slot] = emptied{generation: generation, rejection: rejection, rejected: uint16(by), counts: rules.counted}
}

// readRules returns what the filters of the current pod read besides its template and the node.
func (f *Framework) readRules() *rules {
	r := &f.rules
	if r.read {
		return r
	}
	versions, known := f.counts()
	*r = rules{read: true, filters: len(f.filters), counted: versions}
	for _, i := range f.asked {
		_, spreads := f.filters[i].FilterPlugin.(*spread)
		_, keepsApart := f.filters[i].FilterPlugin.(*affinity)
		if !known || !spreads && !keepsApart {
			r.filters = i
			break
		}
	}
	return r
}

// counts returns the versions of the counts by which the filters judge the current pod. It reports false if the memo does not keep these
// counts.
func (f *Framework) counts() (versions counted, known bool) {
	for _, filter := range f.filters {
		switch plugin := filter.FilterPlugin.(type) {
		case *spread:
			s := f.memo.template.spreads[plugin]
			if s == nil || !s.filter.known {
				return counted{}, false
			}
			versions.spread = s.filter.version
		case *affinity:
			s := plugin.states[f.memo.looks]
			if s == nil || !s.filter.known {
				return counted{}, false
			}
			versions.affinity = s.filter.version
		}
	}
	return versions, true
}

// nextVersion returns a number that no counts have had before.
func (m *Memo) nextVersion() int64 {
	m.versions++
	return m.versions
}
