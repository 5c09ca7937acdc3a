package memo

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

// Preemption first asks whether a pod would fit a node without all pods there that the pod may preempt. If the answer is no, it holds until
// something changes that the filters read: the node and its pods, and, for rules between pods, the counts of pods by domain. So the answer
// is kept for all pods of a template: a zone that is lost leaves hundreds of pods that are tried again after each change elsewhere.

// emptied is why a node rejects the pods of a template even without all pods that they may preempt.
type emptied struct {
	generation uint32 // the lower half of that of the node that was asked about; 0: nothing is known
	rejection  uint16 // its place among the rejections
	rejected   uint16 // the filter that rejected the node
	counts     counted
}

// counted are the versions of the counts that rules between pods read; 0 where there are no counts, since no rule reaches the pod.
type counted struct{ spread, affinity int64 }

// rules are what the filters of the current pod read besides its template and the node.
type rules struct {
	read    bool // whether the fields below are those of the current pod
	filters int  // so many filters, from the first on, read nothing but the counts
	counted
}

// Emptied returns why the node at the slot rejects the current pod even without all pods that it may preempt, if a filter has said so since anything that
// it reads last changed, and nil otherwise. A nil Framework keeps nothing.
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

// KeepEmptied keeps the filters' status for the node at the slot without all pods that the current pod may preempt, unless a filter was asked that reads
// something else than the node and the counts of rules between pods, as those of volumes do.
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
	if by < f.leading { // it holds for all templates that differ in rules between pods alone
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

// counts returns the versions of the counts by which the filters judge the current pod, and whether these are carried on.
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

// nextVersion returns a number that no counts had before.
func (m *Memo) nextVersion() int64 {
	m.versions++
	return m.versions
}
