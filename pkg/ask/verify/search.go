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
	// maxTriedPods is the number of pods that are tried at each position in the order of a group; pods that the scheduler cannot distinguish count
	// once.
	maxTriedPods = 64
	// maxExtraAttempts is the number of attempts that a group gets after its first dead end.
	maxExtraAttempts = 200
	// maxGroupSize is the number of pods that are ordered together; a group may be larger if its last pods all came at the same time.
	maxGroupSize = 32
)

// groupLives splits the sorted lives wherever all earlier pods certainly came before all later pods.
func groupLives(lives []*podLife) [][]*podLife {
	var all [][]*podLife
	var latest time.Time
	for _, l := range lives {
		n := len(all) - 1
		if n < 0 || l.lo.After(latest) || len(all[n]) >= maxGroupSize && !l.at.Equal(all[n][len(all[n])-1].at) {
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
	attemptsLeft int
	deadEnds     map[string]bool // dead ends, by the pods that were left and the number of ends so far
	// firstRankings caches the verdicts on the cluster before the group. boundBefore is the number of bound pods then.
	firstRankings map[lifeRankingKey]*ranking
	boundBefore   int
}

type lifeRankingKey struct {
	*podLife
	rankingKey
}

// orderedPod is a pod at its place in the order, with the number of ends before its placement. placement is nil for a pod that is not scheduled
// again.
type orderedPod struct {
	life      *podLife
	moment    moment
	endCount  int
	placement *Placement
}

// arrange returns an order of the left pods in which every node is among the best, or nil if it finds none. It tries the most likely order
// first.
func (s *search) arrange(bound, left []*podLife, ends int) ([]orderedPod, error) {
	if len(left) == 0 {
		return []orderedPod{}, nil
	}
	if left[0].skipped {
		return s.arrangeAfter(orderedPod{life: left[0], moment: left[0].moment(), endCount: ends}, bound, left[1:])
	}
	if len(s.deadEnds) > 0 && s.deadEnds[orderKey(left, ends)] {
		return nil, nil
	}
	tried := map[string]bool{}
	looks := rankings{}
	for i, l := range possibleNext(left) {
		same := orderKey(left[i:i+1], 0)
		if l.skipped || tried[same] {
			continue
		}
		tried[same] = true
		for _, w := range s.clusterMoments(l, ends) {
			if len(looks) >= maxTriedPods || s.attemptsLeft == 0 && (i > 0 || w.endCount != s.likelyEndCount(l, ends)) {
				continue
			}
			seen, err := s.rankNodesOnce(looks, bound, l, w)
			if err != nil {
				return nil, err
			}
			if !seen.isBest(l.node) {
				continue
			}
			placed := seen.newPlacement(l)
			placed.Reordered = i > 0
			if found, err := s.arrangeAfter(orderedPod{l, w.moment, w.endCount, &placed}, bound, removeLife(left, i)); found != nil || err != nil {
				return found, err
			}
		}
	}
	s.deadEnds[orderKey(left, ends)] = true
	return nil, nil
}

// possibleNext returns the pods that may be next: the pods that did not certainly come after another left pod.
func possibleNext(left []*podLife) []*podLife {
	first := slices.MinFunc(left, func(a, b *podLife) int { return a.hi.Compare(b.hi) }).hi
	n := 1
	for n < len(left) && !left[n].lo.After(first) {
		n++
	}
	return left[:n]
}

// likelyEndCount returns the number of ends that precede the pod according to the records, which is not below the number so far.
func (r *replay) likelyEndCount(l *podLife, ends int) int {
	n := max(ends, l.endsBefore)
	for n < len(r.ends) && !r.ends[n].at.After(l.at) {
		n++
	}
	return n
}

// possibleEndCounts returns the possible numbers of ends before the pod, the most likely first.
func (r *replay) possibleEndCounts(l *podLife, ends int) []int {
	likely := r.likelyEndCount(l, ends)
	least, most := likely, likely
	for least > max(ends, l.endsBefore) && !r.ends[least-1].hi.Before(l.lo) {
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

// clusterMoment identifies a possible state of the cluster at which a pod was scheduled: the moment gives its nodes, and the number of ends its
// pods.
type clusterMoment struct {
	moment   moment
	endCount int
}

// clusterMoments returns the possible states of the cluster before the pod, the most likely first.
func (s *search) clusterMoments(l *podLife, ends int) []clusterMoment {
	var all []clusterMoment
	for _, m := range s.moments(l) {
		for _, n := range s.possibleEndCounts(l, ends) {
			all = append(all, clusterMoment{m, n})
		}
	}
	return all
}

// arrangeAfter arranges the left pods after the next pod, and prepends that pod to their order.
func (s *search) arrangeAfter(next orderedPod, bound, left []*podLife) ([]orderedPod, error) {
	rest, err := s.arrange(append(slices.Clip(bound), next.life), left, next.endCount)
	if rest == nil {
		return nil, err
	}
	return append([]orderedPod{next}, rest...), nil
}

// rankings caches verdicts by the nodes, the number of ends, and the pod. Pods that the scheduler cannot distinguish share a verdict.
type rankings map[rankingKey]*ranking

type rankingKey struct {
	alike    types.UID
	nodes    string
	endCount int
}

// rankNodesOnce returns the verdict on the pod from the cache, or schedules the pod. After the first dead end, each call without a verdict in
// looks uses up an attempt.
func (s *search) rankNodesOnce(looks rankings, bound []*podLife, l *podLife, w clusterMoment) (*ranking, error) {
	nodes, _ := s.nodesAt(w.moment)
	key := rankingKey{alikeUID(l.running), nodes, w.endCount}
	if seen := looks[key]; seen != nil {
		return seen, nil
	}
	if len(s.deadEnds) > 0 && s.attemptsLeft > 0 {
		s.attemptsLeft--
	}
	before := len(bound) == s.boundBefore
	if seen := s.firstRankings[lifeRankingKey{l, key}]; before && seen != nil {
		looks[key] = seen
		return seen, nil
	}
	state, err := s.clusterAt(w, bound, l.pod)
	if err != nil {
		return nil, err
	}
	seen, err := s.rankNodes(state, l.pod)
	looks[key] = seen
	if before {
		s.firstRankings[lifeRankingKey{l, key}] = seen
	}
	return seen, err
}

// arrangeGreedily orders a group for which [search.arrange] finds no order. The next pod is the first whose node is among the best at that point; if
// there is none, the first pod diverges.
func (s *search) arrangeGreedily(bound, left []*podLife, ends int) ([]orderedPod, error) {
	earlier := bound
	var order []orderedPod
	for len(left) > 0 {
		looks := rankings{}
		step := orderedPod{life: left[0], moment: left[0].moment(), endCount: ends}
		var seen *ranking
		var at int
		var err error
		if !left[0].skipped {
			if step, at, seen, err = s.firstBest(looks, bound, left, ends); err != nil {
				return nil, err
			}
		}
		left = removeLife(left, at)
		if seen != nil {
			placed := seen.newPlacement(step.life)
			placed.Reordered = at > 0
			step.placement = &placed
			if !seen.isBest(step.life.node) {
				c := &causeSearch{replay: s.replay, podLife: step.life, ranking: seen, endCount: step.endCount, earlier: earlier, bound: bound, remaining: left, placement: &placed, attemptsSpent: s.attemptsLeft == 0}
				if err := c.findCause(); err != nil {
					return nil, err
				}
			}
		}
		order = append(order, step)
		bound = append(bound, step.life) // [replay.judgeStretch] does the same
		ends = step.endCount
	}
	return order, nil
}

// firstBest returns the first pod whose node is among the best at this point, or else the first pod of all.
func (s *search) firstBest(looks rankings, bound, left []*podLife, ends int) (orderedPod, int, *ranking, error) {
	for i, l := range possibleNext(left) {
		if l.skipped {
			continue
		}
		for _, w := range s.clusterMoments(l, ends) {
			if len(looks) >= maxTriedPods {
				break
			}
			seen, err := s.rankNodesOnce(looks, bound, l, w)
			if err != nil {
				return orderedPod{}, 0, nil, err
			}
			if seen.isBest(l.node) {
				return orderedPod{life: l, moment: w.moment, endCount: w.endCount}, i, seen, nil
			}
		}
	}
	w := clusterMoment{left[0].moment(), s.likelyEndCount(left[0], ends)}
	seen, err := s.rankNodesOnce(looks, bound, left[0], w)
	return orderedPod{life: left[0], moment: w.moment, endCount: w.endCount}, 0, seen, err
}

func removeLife(lives []*podLife, i int) []*podLife { return slices.Concat(lives[:i], lives[i+1:]) }

// orderKey returns a key of the pods and the number of ends. Pods on the same node that the scheduler cannot distinguish give the same key.
func orderKey(lives []*podLife, ends int) string {
	names := make([]string, len(lives))
	for i, l := range lives {
		names[i] = string(alikeUID(l.running)) + "@" + l.node
	}
	slices.Sort(names)
	return fmt.Sprint(ends, " ", strings.Join(names, " "))
}

// alikeUID returns one UID for all pods that the scheduler cannot distinguish: the pods of a ReplicaSet or a Job, unless they have resource
// claims or ephemeral volumes of their own.
func alikeUID(pod *v1.Pod) types.UID {
	ref := metav1.GetControllerOfNoCopy(pod)
	own := len(pod.Spec.ResourceClaims) > 0 || slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Ephemeral != nil })
	if ref == nil || own || ref.Kind != "ReplicaSet" && ref.Kind != "Job" {
		return pod.UID
	}
	return ref.UID
}
