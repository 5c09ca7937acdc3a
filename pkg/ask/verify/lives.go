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

// podLife is a pod on its node, from its scheduling until its deletion. The dump has the pods that still exist; the facts have the others.
type podLife struct {
	// pod is the pod of the dump, or the pod as its controller created it; nil if unknown. running is the pod on its node, and ending is the
	// pod after its deletion was requested.
	pod, running, ending *v1.Pod
	name                 types.NamespacedName
	uid                  types.UID
	node                 string
	// at is the best estimate of when the scheduler decided. The decision was not before lo and not after hi.
	at, lo, hi time.Time
	// inDump means that the pod is in the dump. skipped means that the pod is not scheduled again, and only takes room on its node.
	inDump, skipped bool
	// deletionRequest is the request for the pod's deletion, and gone is its end; nil if it did not happen, or if no source records it.
	deletionRequest, gone *podEnd
	owner                 *v1.ObjectReference
	// sourcePod is the pod as a source has it. existedAt is a time at which the pod certainly existed.
	sourcePod *v1.Pod
	existedAt time.Time
	exact     bool
	// preempted means that the pod was deleted to make room for a pod of higher priority. preemptor is the UID of that pod; "" if unknown.
	preempted bool
	preemptor types.UID
	// byTaint means that the pod was deleted because of a taint of its node.
	byTaint bool
	// version is the resource version of the pod that the scheduler saw. refusedBefore means that the scheduler had found no node for the pod
	// before.
	version       string
	refusedBefore bool
	// All ends have one order, from 0. The end with index endsUntilTerminating is the request for this pod's deletion, and the end with index
	// endsUntilGone is when the pod was gone. After n ends, the pod is gone if endsUntilGone < n, and Terminating if only endsUntilTerminating
	// < n.
	endsUntilTerminating, endsUntilGone int
	// endsBefore is the number of ends that certainly precede the pod, because another pod with its name had to be gone first.
	endsBefore int
}

// podEnd is the request for a pod's deletion or, if gone, the moment when the pod was gone. at is the best estimate of its time, which was not
// before lo and not after hi.
type podEnd struct {
	life       *podLife
	gone       bool
	at, lo, hi time.Time
}

const (
	// lag is the longest time between an event and its record: a placement is recorded after the pod is bound, and a deletion after the API
	// server has answered.
	lag = 500 * time.Millisecond
	// defaultTermination is how long a pod takes to end if no source says when it was gone and its grace period is not shorter.
	defaultTermination = 2 * time.Second
)

// neverEnds is the index of an end that never comes: the pod still exists.
const neverEnds = math.MaxInt

// past has what the dump and the other sources say about the pods that had a node.
type past struct {
	lives  []*podLife
	byUID  map[types.UID]*podLife
	byName map[types.NamespacedName][]*podLife // sorted by the time of scheduling
}

// newPast builds the lives of all pods: the pods in the dump, and the pods in the facts.
func newPast(state *cluster.State, facts []fact) *past {
	p := &past{byUID: map[types.UID]*podLife{}, byName: map[types.NamespacedName][]*podLife{}}
	for _, pod := range state.Pods {
		if pod.Spec.NodeName == "" || cluster.IsTerminal(pod) {
			continue
		}
		at := scheduledAt(pod)
		p.appendLife(&podLife{
			pod: pod, name: cluster.NameOf(pod), uid: pod.UID, node: pod.Spec.NodeName, inDump: true,
			at: at, lo: at, hi: at.Add(time.Second - 1),
		})
	}
	facts = slices.Clone(facts)
	slices.SortStableFunc(facts, func(a, b fact) int { return a.at.Compare(b.at) })
	for _, f := range facts {
		if f.kind == podScheduled {
			p.recordScheduling(f)
		}
	}
	for _, lives := range p.byName {
		slices.SortStableFunc(lives, func(a, b *podLife) int { return a.at.Compare(b.at) })
	}
	for _, f := range facts {
		switch f.kind {
		case podRefused:
			if l := p.byUID[f.uid]; l != nil {
				l.refusedBefore = true
			}
		case podCreated:
			for _, l := range p.byName[f.pod] {
				if f.uid == "" || f.uid == l.uid {
					l.owner, l.sourcePod = cmp.Or(f.owner, l.owner), cmp.Or(f.object, l.sourcePod)
				}
			}
		case podDeletionRequested, podGone:
			p.recordEnd(f)
		}
	}
	for _, f := range facts {
		switch {
		case f.kind == podDeletionRequested && f.podCount > 1:
			p.recordCombinedEnds(f)
		case f.kind == jobCompleted:
			for _, l := range p.lives {
				if !l.inDump && l.gone == nil && l.name.Namespace == f.pod.Namespace && l.ownerName() == f.owner.Name {
					l.gone = &podEnd{life: l, gone: true, at: f.at, lo: f.at.Add(-lag), hi: f.at.Add(time.Second)}
				}
			}
		}
	}
	p.estimateDecisionTimes()
	return p
}

func (p *past) appendLife(l *podLife) {
	l.endsUntilTerminating, l.endsUntilGone = neverEnds, neverEnds
	p.lives = append(p.lives, l)
	p.byName[l.name] = append(p.byName[l.name], l)
	if l.uid != "" {
		p.byUID[l.uid] = l
	}
}

// recordScheduling records when a pod got its node. It appends a life for a pod that the dump lacks, which is gone.
func (p *past) recordScheduling(f fact) {
	l := p.byUID[f.uid]
	if f.uid == "" {
		for _, same := range p.byName[f.pod] {
			if f.node == "" && same.inDump || same.node == f.node {
				l = same
			}
		}
	}
	if l == nil && f.node == "" {
		return
	}
	if l == nil {
		l = &podLife{name: f.pod, uid: f.uid, node: f.node}
		p.appendLife(l)
	}
	if f.object != nil {
		l.sourcePod = f.object
	}
	if f.existedAt.After(l.existedAt) {
		l.existedAt = f.existedAt
	}
	if l.exact && !f.exact || l.exact && l.at.Before(f.at) {
		return // the first exact record is the most precise
	}
	l.version = cmp.Or(f.version, l.version)
	l.exact = f.exact
	l.at, l.lo, l.hi = f.at, f.at, f.at.Add(time.Second-1)
	if f.exact {
		l.lo, l.hi = f.at.Add(-lag), f.at
	}
}

// recordEnd records the request for a pod's deletion, or that the pod was gone. If several pods had the name one after another, the pod that
// existed at that time is meant.
func (p *past) recordEnd(f fact) {
	l := p.byUID[f.uid]
	e := &podEnd{gone: f.kind == podGone, at: f.at, lo: f.at, hi: f.at.Add(time.Second - 1)}
	if f.exact {
		e.lo, e.hi = f.at.Add(-lag), f.at.Add(lag)
	}
	if f.uid == "" {
		for _, same := range p.byName[f.pod] {
			if f.exact && same.at.After(f.at) || same.lo.After(e.hi) || e.gone && same.gone != nil || !e.gone && same.deletionRequest != nil {
				continue
			}
			if l = same; !f.exact {
				break // the first pod of that name without an end
			}
		}
	}
	if l == nil {
		return
	}
	e.life = l
	l.owner = cmp.Or(f.owner, l.owner)
	l.preempted, l.preemptor = l.preempted || f.preempted, cmp.Or(f.preemptor, l.preemptor)
	l.byTaint = l.byTaint || f.byTaint && l.deletionRequest == nil
	switch {
	case e.gone:
		l.gone = e
	case l.deletionRequest == nil:
		l.deletionRequest = e
	}
}

// recordCombinedEnds records the deletion of several pods of a controller, of which the source names only the last. The others are the oldest pods of
// the controller that are gone without a known end, at equal distances between the first time and the last: with 4 deletions between
// 10:00:00 and 10:00:04, the 3 unnamed pods were deleted at 10:00:01, :02 and :03.
func (p *past) recordCombinedEnds(f fact) {
	left := f.podCount - 1
	for _, l := range p.lives {
		if left == 0 {
			return
		}
		if l.inDump || l.deletionRequest != nil || l.gone != nil || l.name.Namespace != f.pod.Namespace || l.ownerName() != f.owner.Name || l.at.After(f.firstAt) {
			continue
		}
		left--
		at := f.firstAt.Add(max(0, f.at.Sub(f.firstAt)) * time.Duration(f.podCount-1-left) / time.Duration(f.podCount))
		l.deletionRequest = &podEnd{life: l, at: at, lo: f.firstAt.Add(-lag), hi: f.at.Add(time.Second)}
	}
}

// estimateDecisionTimes estimates when the scheduler decided. The scheduler takes pods of one priority in the order in which it sees them, so it placed
// a pod before every pod of a later resource version. Pods are bound concurrently, so the placement of the earlier pod may be recorded
// later: if pod a has version 7 and a record at 10:00:02.3, and pod b has version 9 and a record at 10:00:02.1, the decision about a was
// not after 10:00:02.1. Records that are more than [lag] apart stay as they are.
func (p *past) estimateDecisionTimes() {
	queues := map[int32][]*podLife{}
	for _, l := range p.lives {
		if _, err := resourceversion.CompareResourceVersion(l.version, l.version); err != nil || l.refusedBefore {
			continue
		}
		priority := int32(0)
		if l.pod != nil && l.pod.Spec.Priority != nil {
			priority = *l.pod.Spec.Priority
		}
		queues[priority] = append(queues[priority], l)
	}
	for _, queue := range queues {
		slices.SortStableFunc(queue, compareVersions)
		earliest := time.Time{}
		for _, l := range slices.Backward(queue) {
			if earliest.IsZero() || l.at.Before(earliest) || l.at.Sub(earliest) > lag {
				earliest = l.at
			}
			l.lo, l.at, l.hi = earliest.Add(-lag), earliest, earliest
		}
	}
	slices.SortStableFunc(p.lives, byDecision)
}

// byDecision compares two pods by the time of the decision. At the same time the pods with a version come first, by version; the others
// follow, by creation. Versions are compared only among pods that have one, so that the order is total: with a before c by version, and a
// pod b without a version, b must not stand both after c and before a.
func byDecision(a, b *podLife) int {
	unversioned := func(l *podLife) int {
		if _, err := resourceversion.CompareResourceVersion(l.version, l.version); err != nil {
			return 1
		}
		return 0
	}
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(unversioned(a), unversioned(b)), compareVersions(a, b), creationTime(a).Compare(creationTime(b)))
}

func compareVersions(a, b *podLife) int {
	order, err := resourceversion.CompareResourceVersion(a.version, b.version)
	if err != nil {
		return 0
	}
	return order
}

func creationTime(l *podLife) time.Time {
	if l.pod == nil {
		return time.Time{}
	}
	return l.pod.CreationTimestamp.Time
}

// completeEnds infers the ends that no source records, sorts the ends of all pods, and gives each life the indices of its ends.
func (p *past) completeEnds() []*podEnd {
	var ends []*podEnd
	for _, l := range p.lives {
		p.inferGone(l)
		for _, e := range []*podEnd{l.deletionRequest, l.gone} {
			if e != nil {
				ends = append(ends, e)
			}
		}
	}
	slices.SortStableFunc(ends, func(a, b *podEnd) int { return a.at.Compare(b.at) })
	for i, e := range ends {
		if e.gone {
			e.life.endsUntilGone = i
		} else {
			e.life.endsUntilTerminating = i
		}
	}
	for _, same := range p.byName {
		for i, l := range same[1:] {
			if before := same[i].endsUntilGone; before != neverEnds {
				l.endsBefore = before + 1
			}
		}
	}
	return ends
}

// inferGone sets when a pod was gone whose deletion was requested: at once if its grace period is 0, otherwise after that period or
// [defaultTermination], and at the latest when the next pod with its name came.
func (p *past) inferGone(l *podLife) {
	if l.inDump {
		if l.pod.DeletionTimestamp != nil && l.deletionRequest == nil {
			at := cluster.DeletionRequested(l.pod)
			l.deletionRequest = &podEnd{life: l, at: at, lo: at, hi: at.Add(time.Second - 1)}
		}
		l.gone = nil
		return
	}
	if l.deletionRequest != nil && l.gone == nil {
		grace := time.Duration(v1.DefaultTerminationGracePeriodSeconds) * time.Second
		if l.pod != nil && l.pod.Spec.TerminationGracePeriodSeconds != nil {
			grace = time.Duration(*l.pod.Spec.TerminationGracePeriodSeconds) * time.Second
		}
		l.gone = &podEnd{life: l, gone: true, at: l.deletionRequest.at.Add(min(grace, defaultTermination)), lo: l.deletionRequest.lo, hi: l.deletionRequest.hi.Add(grace)}
		if grace == 0 {
			l.deletionRequest = nil
		}
	}
	same := p.byName[l.name]
	if next := slices.Index(same, l) + 1; next < len(same) {
		if l.gone == nil || l.gone.at.After(same[next].at) {
			at := same[next].at
			l.gone = &podEnd{life: l, gone: true, at: at.Add(-1), lo: at.Add(-lag), hi: at}
		}
	}
}
