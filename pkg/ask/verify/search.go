package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxTried is the number of pods that are tried at each position in the order of a group; pods that the scheduler cannot distinguish count
	// once.
	maxTried = 64
	// maxSpare is the number of attempts that a group gets after its first dead end.
	maxSpare = 200
	// maxGroup is the number of pods that are ordered together; a group may be larger if its last pods all came at the same time.
	maxGroup = 32
)

// groups splits the sorted lives wherever all earlier pods certainly came before all later pods.
func groups(lives []*life) [][]*life {
	var all [][]*life
	var latest time.Time
	for _, l := range lives {
		n := len(all) - 1
		if n < 0 || l.lo.After(latest) || len(all[n]) >= maxGroup && !l.at.Equal(all[n][len(all[n])-1].at) {
			all = append(all, nil)
			n++
			latest = time.Time{}
		}
		all[n] = append(all[n], l)
		if l.hi.After(latest) {
			latest = l.hi
		}
	}
	return all
}

// search looks for an order of the pods of one group, and of the ends between them, in which every pod's node is among the best.
type search struct {
	*replay
	spare  int
	failed map[string]bool // dead ends, by the pods that were left and the number of ends so far
	// firstRankings caches the verdicts on the cluster before the group. boundBefore is the number of bound pods then.
	known  map[knownKey]*look
	before int
}

type knownKey struct {
	*life
	lookKey
}

// taken is a pod at its place in the order, with the number of ends before its placement. placement is nil for a pod that is not scheduled
// again.
type taken struct {
	life      *life
	moment    moment
	ends      int
	placement *Placement
}

// arrange returns an order of the left pods in which every node is among the best, or nil if it finds none. It tries the most likely order
// first.
func (s *search) arrange(bound, left []*life, ends int) ([]taken, error) {
	if len(left) == 0 {
		return []taken{}, nil
	}
	if left[0].given {
		return s.then(taken{life: left[0], moment: left[0].moment(), ends: ends}, bound, left[1:])
	}
	if len(s.failed) > 0 && s.failed[key(left, ends)] {
		return nil, nil
	}
	tried := map[string]bool{}
	looks := looks{}
	for i, l := range next(left) {
		same := key(left[i:i+1], 0)
		if l.given || tried[same] {
			continue
		}
		tried[same] = true
		for _, w := range s.whens(l, ends) {
			if len(looks) >= maxTried || s.spare == 0 && (i > 0 || w.ends != s.likely(l, ends)) {
				continue
			}
			seen, err := s.lookOnce(looks, bound, l, w)
			if err != nil {
				return nil, err
			}
			if !seen.has(l.node) {
				continue
			}
			placed := seen.placement(l)
			placed.Reordered = i > 0
			if found, err := s.then(taken{l, w.moment, w.ends, &placed}, bound, without(left, i)); found != nil || err != nil {
				return found, err
			}
		}
	}
	s.failed[key(left, ends)] = true
	return nil, nil
}

// next returns the pods that may be next: the pods that did not certainly come after another left pod.
func next(left []*life) []*life {
	first := slices.MinFunc(left, func(a, b *life) int { return a.hi.Compare(b.hi) }).hi
	n := 1
	for n < len(left) && !left[n].lo.After(first) {
		n++
	}
	return left[:n]
}

// likely returns the number of ends that precede the pod according to the records, which is not below the number so far.
func (r *replay) likely(l *life, ends int) int {
	n := max(ends, l.after)
	for n < len(r.ends) && !r.ends[n].at.After(l.at) {
		n++
	}
	return n
}

// choices returns the possible numbers of ends before the pod, the most likely first.
func (r *replay) choices(l *life, ends int) []int {
	likely := r.likely(l, ends)
	least, most := likely, likely
	for least > max(ends, l.after) && !r.ends[least-1].hi.Before(l.lo) {
		least--
	}
	for most < len(r.ends) && !r.ends[most].lo.After(l.hi) {
		most++
	}
	all := make([]int, 0, most-least+1)
	for n := least; n <= most; n++ {
		all = append(all, n)
	}
	distance := func(n int) int { return max(n-likely, likely-n) }
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
	return all
}

// when identifies a possible state of the cluster at which a pod was scheduled: the moment gives its nodes, and the number of ends its
// pods.
type when struct {
	moment moment
	ends   int
}

// whens returns the possible states of the cluster before the pod, the most likely first.
func (s *search) whens(l *life, ends int) []when {
	var all []when
	for _, m := range s.moments(l) {
		for _, n := range s.choices(l, ends) {
			all = append(all, when{m, n})
		}
	}
	return all
}

// then arranges the left pods after the next pod, and prepends that pod to their order.
func (s *search) then(next taken, bound, left []*life) ([]taken, error) {
	rest, err := s.arrange(append(slices.Clip(bound), next.life), left, next.ends)
	if rest == nil {
		return nil, err
	}
	return append([]taken{next}, rest...), nil
}

// looks caches verdicts by the nodes, the number of ends, and the pod. Pods that the scheduler cannot distinguish share a verdict.
type looks map[lookKey]*look

type lookKey struct {
	alike types.UID
	nodes string
	ends  int
}

// lookOnce returns the verdict on the pod from the cache, or schedules the pod. After the first dead end, each call without a verdict in
// looks uses up an attempt.
func (s *search) lookOnce(looks looks, bound []*life, l *life, w when) (*look, error) {
	nodes, _ := s.nodesAt(w.moment)
	key := lookKey{alike(l.running), nodes, w.ends}
	if seen := looks[key]; seen != nil {
		return seen, nil
	}
	if len(s.failed) > 0 && s.spare > 0 {
		s.spare--
	}
	before := len(bound) == s.before
	if seen := s.known[knownKey{l, key}]; before && seen != nil {
		looks[key] = seen
		return seen, nil
	}
	state, err := s.cluster(w, bound, l.pod)
	if err != nil {
		return nil, err
	}
	seen, err := s.look(state, l.pod)
	looks[key] = seen
	if before {
		s.known[knownKey{l, key}] = seen
	}
	return seen, err
}

// greedy orders a group for which [search.arrange] finds no order. The next pod is the first whose node is among the best at that point; if
// there is none, the first pod diverges.
func (s *search) greedy(bound, left []*life, ends int) ([]taken, error) {
	earlier := bound
	var order []taken
	for len(left) > 0 {
		looks := looks{}
		step := taken{life: left[0], moment: left[0].moment(), ends: ends}
		var seen *look
		var at int
		var err error
		if !left[0].given {
			if step, at, seen, err = s.first(looks, bound, left, ends); err != nil {
				return nil, err
			}
		}
		left = without(left, at)
		if seen != nil {
			placed := seen.placement(step.life)
			placed.Reordered = at > 0
			step.placement = &placed
			if !seen.has(step.life.node) {
				c := &cause{replay: s.replay, life: step.life, look: seen, ends: step.ends, earlier: earlier, bound: bound, left: left, placed: &placed, exhausted: s.spare == 0}
				if err := c.find(); err != nil {
					return nil, err
				}
			}
		}
		order = append(order, step)
		bound = append(bound, step.life) // [replay.judge] does the same
		ends = step.ends
	}
	return order, nil
}

// first returns the first pod whose node is among the best at this point, or else the first pod of all.
func (s *search) first(looks looks, bound, left []*life, ends int) (taken, int, *look, error) {
	for i, l := range next(left) {
		if l.given {
			continue
		}
		for _, w := range s.whens(l, ends) {
			if len(looks) >= maxTried {
				break
			}
			seen, err := s.lookOnce(looks, bound, l, w)
			if err != nil {
				return taken{}, 0, nil, err
			}
			if seen.has(l.node) {
				return taken{life: l, moment: w.moment, ends: w.ends}, i, seen, nil
			}
		}
	}
	w := when{left[0].moment(), s.likely(left[0], ends)}
	seen, err := s.lookOnce(looks, bound, left[0], w)
	return taken{life: left[0], moment: w.moment, ends: w.ends}, 0, seen, err
}

func without(lives []*life, i int) []*life { return slices.Concat(lives[:i], lives[i+1:]) }

// key returns a key of the pods and the number of ends. Pods on the same node that the scheduler cannot distinguish give the same key.
func key(lives []*life, ends int) string {
	names := make([]string, len(lives))
	for i, l := range lives {
		names[i] = string(alike(l.running)) + "@" + l.node
	}
	slices.Sort(names)
	return fmt.Sprint(ends, " ", strings.Join(names, " "))
}

// alike returns one UID for all pods that the scheduler cannot distinguish: the pods of a ReplicaSet or a Job, unless they have resource
// claims or ephemeral volumes of their own.
func alike(pod *v1.Pod) types.UID {
	ref := metav1.GetControllerOfNoCopy(pod)
	own := len(pod.Spec.ResourceClaims) > 0 || slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Ephemeral != nil })
	if ref == nil || own || ref.Kind != "ReplicaSet" && ref.Kind != "Job" {
		return pod.UID
	}
	return ref.UID
}
