package verify

import (
	"cmp"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/faultline/faultline/pkg/cluster"
)

// life is a pod on its node, from its scheduling until its deletion, if any.
type life struct {
	// pod is the pod of the dump, or as its controller created it; running is the pod on its node, and ending after its deletion was
	// requested.
	pod, running, ending *v1.Pod
	name                 types.NamespacedName
	uid                  types.UID
	node                 string
	// at is when the scheduler decided, as precisely as is known: not before lo and not after hi.
	at, lo, hi time.Time
	// present means that the pod is in the dump; given means that no configured scheduler placed it, so that it only takes room.
	present, given bool
	// asked is when its deletion was requested, gone when it was gone; nil if it was not, or if nobody knows.
	asked, gone *end
	owner       *v1.ObjectReference
	// object is the pod in a source, and seen a time at which it certainly existed.
	object *v1.Pod
	seen   time.Time
	exact  bool
	// preempted means that a pod of higher priority needed its room, by is that pod's UID; "" if unknown.
	preempted bool
	by        types.UID
	// byTaint means that its node's taints asked for its deletion.
	byTaint bool
	// version is the version of the pod that the scheduler saw; waited means that it had found no node for it before.
	version string
	waited  bool
	// In the order of ends, the pod is Terminating after terminates of them and gone after ends.
	terminates, ends int
	// after is the number of ends that certainly came before it: another pod with its name had to be gone.
	after int
}

// end is a time at which a pod's deletion was requested, or it was gone: not before lo and not after hi.
type end struct {
	life       *life
	gone       bool
	at, lo, hi time.Time
}

const (
	// lag is how much later than it happened something may be recorded: a placement is recorded once the pod is bound, and a deletion once
	// the API server has answered.
	lag = 500 * time.Millisecond
	// termination is how long a pod takes to end if nothing says when it was gone, unless its grace period is shorter.
	termination = 2 * time.Second
)

// forever is the number of ends after which a pod that still exists is gone.
const forever = math.MaxInt

// past is what the dump and the other sources say about the pods that had a node.
type past struct {
	lives []*life
	byUID map[types.UID]*life
	named map[types.NamespacedName][]*life // in order of scheduling
}

// newPast builds the lives of all pods: those in the dump, and those in the facts.
func newPast(state *cluster.State, facts []fact) *past {
	p := &past{byUID: map[types.UID]*life{}, named: map[types.NamespacedName][]*life{}}
	for _, pod := range state.Pods {
		if pod.Spec.NodeName == "" || cluster.Terminal(pod) {
			continue
		}
		at := scheduledAt(pod)
		p.add(&life{
			pod: pod, name: cluster.NameOf(pod), uid: pod.UID, node: pod.Spec.NodeName, present: true,
			at: at, lo: at, hi: at.Add(time.Second - 1),
		})
	}
	facts = slices.Clone(facts)
	slices.SortStableFunc(facts, func(a, b fact) int { return a.at.Compare(b.at) })
	for _, f := range facts {
		if f.what == wasScheduled {
			p.schedule(f)
		}
	}
	for _, lives := range p.named {
		slices.SortStableFunc(lives, func(a, b *life) int { return a.at.Compare(b.at) })
	}
	for _, f := range facts {
		switch f.what {
		case wasRefused:
			if l := p.byUID[f.uid]; l != nil {
				l.waited = true
			}
		case wasMade:
			for _, l := range p.named[f.pod] {
				if f.uid == "" || f.uid == l.uid {
					l.owner, l.object = cmp.Or(f.owner, l.owner), cmp.Or(f.object, l.object)
				}
			}
		case wasAsked, wasGone:
			p.end(f)
		}
	}
	for _, f := range facts {
		switch {
		case f.what == wasAsked && f.count > 1:
			p.endSome(f)
		case f.what == jobCompleted:
			for _, l := range p.lives {
				if !l.present && l.gone == nil && l.name.Namespace == f.pod.Namespace && l.ownerName() == f.owner.Name {
					l.gone = &end{life: l, gone: true, at: f.at, lo: f.at.Add(-lag), hi: f.at.Add(time.Second)}
				}
			}
		}
	}
	p.decisions()
	return p
}

func (p *past) add(l *life) {
	l.terminates, l.ends = forever, forever
	p.lives = append(p.lives, l)
	p.named[l.name] = append(p.named[l.name], l)
	if l.uid != "" {
		p.byUID[l.uid] = l
	}
}

// schedule records when a pod got its node; one that is not in the dump is gone.
func (p *past) schedule(f fact) {
	l := p.byUID[f.uid]
	if f.uid == "" {
		for _, same := range p.named[f.pod] {
			if f.node == "" && same.present || same.node == f.node {
				l = same
			}
		}
	}
	if l == nil && f.node == "" {
		return
	}
	if l == nil {
		l = &life{name: f.pod, uid: f.uid, node: f.node}
		p.add(l)
	}
	if f.object != nil {
		l.object = f.object
	}
	if f.seen.After(l.seen) {
		l.seen = f.seen
	}
	if l.exact && !f.exact || l.exact && l.at.Before(f.at) {
		return // what was recorded first is the most precise
	}
	l.version = cmp.Or(f.version, l.version)
	l.exact = f.exact
	l.at, l.lo, l.hi = f.at, f.at, f.at.Add(time.Second-1)
	if f.exact {
		l.lo, l.hi = f.at.Add(-lag), f.at
	}
}

// end records that the deletion of a pod was requested, or that it was gone. Of several pods with one name, one after another, it is the
// one that existed at that time.
func (p *past) end(f fact) {
	l := p.byUID[f.uid]
	e := &end{gone: f.what == wasGone, at: f.at, lo: f.at, hi: f.at.Add(time.Second - 1)}
	if f.exact {
		e.lo, e.hi = f.at.Add(-lag), f.at.Add(lag)
	}
	if f.uid == "" {
		for _, same := range p.named[f.pod] {
			if f.exact && same.at.After(f.at) || same.lo.After(e.hi) || e.gone && same.gone != nil || !e.gone && same.asked != nil {
				continue
			}
			if l = same; !f.exact {
				break // the first of them without an end
			}
		}
	}
	if l == nil {
		return
	}
	e.life = l
	l.owner = cmp.Or(f.owner, l.owner)
	l.preempted, l.by = l.preempted || f.preempted, cmp.Or(f.by, l.by)
	l.byTaint = l.byTaint || f.byTaint && l.asked == nil
	switch {
	case e.gone:
		l.gone = e
	case l.asked == nil:
		l.asked = e
	}
}

// endSome records that the deletion of several pods of a controller was requested, of which only the last was named. They are those that
// are gone without a known end, the oldest first.
func (p *past) endSome(f fact) {
	left := f.count - 1
	for _, l := range p.lives {
		if left == 0 {
			return
		}
		if l.present || l.asked != nil || l.gone != nil || l.name.Namespace != f.pod.Namespace || l.ownerName() != f.owner.Name || l.at.After(f.first) {
			continue
		}
		left--
		at := f.first.Add(max(0, f.at.Sub(f.first)) * time.Duration(f.count-1-left) / time.Duration(f.count))
		l.asked = &end{life: l, at: at, lo: f.first.Add(-lag), hi: f.at.Add(time.Second)}
	}
}

// decisions computes when the scheduler decided. It takes pods of one priority in the order in which it sees them, so a pod was decided
// before all those of a later version. Its placement may be recorded after theirs, since pods are bound concurrently.
func (p *past) decisions() {
	queues := map[int32][]*life{}
	for _, l := range p.lives {
		if _, err := resourceversion.CompareResourceVersion(l.version, l.version); err != nil || l.waited {
			continue
		}
		priority := int32(0)
		if l.pod != nil && l.pod.Spec.Priority != nil {
			priority = *l.pod.Spec.Priority
		}
		queues[priority] = append(queues[priority], l)
	}
	for _, queue := range queues {
		slices.SortStableFunc(queue, byVersion)
		earliest := time.Time{}
		for _, l := range slices.Backward(queue) {
			if earliest.IsZero() || l.at.Before(earliest) || l.at.Sub(earliest) > lag {
				earliest = l.at
			}
			l.lo, l.at, l.hi = earliest.Add(-lag), earliest, earliest
		}
	}
	slices.SortStableFunc(p.lives, func(a, b *life) int {
		return cmp.Or(a.at.Compare(b.at), byVersion(a, b), created(a).Compare(created(b)))
	})
}

func byVersion(a, b *life) int {
	order, err := resourceversion.CompareResourceVersion(a.version, b.version)
	if err != nil {
		return 0
	}
	return order
}

func created(l *life) time.Time {
	if l.pod == nil {
		return time.Time{}
	}
	return l.pod.CreationTimestamp.Time
}

// ends completes when the pods were gone, and sorts the ends of all of them.
func (p *past) ends() []*end {
	var ends []*end
	for _, l := range p.lives {
		p.finish(l)
		for _, e := range []*end{l.asked, l.gone} {
			if e != nil {
				ends = append(ends, e)
			}
		}
	}
	slices.SortStableFunc(ends, func(a, b *end) int { return a.at.Compare(b.at) })
	for i, e := range ends {
		if e.gone {
			e.life.ends = i
		} else {
			e.life.terminates = i
		}
	}
	for _, same := range p.named {
		for i, l := range same[1:] {
			if before := same[i].ends; before != forever {
				l.after = before + 1
			}
		}
	}
	return ends
}

// finish sets when a pod was gone whose deletion was requested: at once if it has no grace period, otherwise after a while, and at the
// latest when another pod with its name came.
func (p *past) finish(l *life) {
	if l.present {
		if l.pod.DeletionTimestamp != nil && l.asked == nil {
			at := cluster.DeletionRequested(l.pod)
			l.asked = &end{life: l, at: at, lo: at, hi: at.Add(time.Second - 1)}
		}
		l.gone = nil
		return
	}
	if l.asked != nil && l.gone == nil {
		grace := time.Duration(v1.DefaultTerminationGracePeriodSeconds) * time.Second
		if l.pod != nil && l.pod.Spec.TerminationGracePeriodSeconds != nil {
			grace = time.Duration(*l.pod.Spec.TerminationGracePeriodSeconds) * time.Second
		}
		l.gone = &end{life: l, gone: true, at: l.asked.at.Add(min(grace, termination)), lo: l.asked.lo, hi: l.asked.hi.Add(grace)}
		if grace == 0 {
			l.asked = nil
		}
	}
	same := p.named[l.name]
	if next := slices.Index(same, l) + 1; next < len(same) {
		if l.gone == nil || l.gone.at.After(same[next].at) {
			at := same[next].at
			l.gone = &end{life: l, gone: true, at: at.Add(-1), lo: at.Add(-lag), hi: at}
		}
	}
}
