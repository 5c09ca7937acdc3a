package verify

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxTried is how many pods of a second, alike ones apart, are tried for each place in its order.
	maxTried = 64
	// maxSpare is how many attempts a second is given beyond those on its first way.
	maxSpare = 500
)

// search looks for an order of the pods of one second in which the node of each is among the best: a dump says nothing of that order.
type search struct {
	*replay
	second *second
	spare  int
	failed map[string]bool // the pods that were left where there was no way on
}

// taken is the next pod in the order. One that no configured scheduler placed has no placement.
type taken struct {
	pod       *v1.Pod
	placement *Placement
}

// arrange returns an order of the pods that are left, or nil if none was found. Those that stand first in the dump are tried first.
func (s *search) arrange(bound, left []*v1.Pod) ([]taken, error) {
	if len(left) == 0 {
		return []taken{}, nil
	}
	if s.second.given[left[0]] {
		return s.then(taken{pod: left[0]}, bound, left[1:])
	}
	if len(s.failed) > 0 && s.failed[key(left)] {
		return nil, nil
	}
	looks := map[types.UID]*look{}
	tried := map[string]bool{}
	for i, pod := range left {
		same := key(left[i : i+1])
		if s.second.given[pod] || tried[same] {
			continue
		}
		tried[same] = true
		if looks[alike(pod)] == nil && (len(looks) == maxTried || s.spare == 0) {
			continue
		}
		seen, err := s.lookOnce(looks, bound, pod)
		if err != nil {
			return nil, err
		}
		if !seen.best(pod.Spec.NodeName) {
			continue
		}
		placed := seen.placement(pod, s.second.at)
		placed.Reordered = i > 0
		if found, err := s.then(taken{pod, &placed}, bound, without(left, i)); found != nil || err != nil {
			return found, err
		}
	}
	s.failed[key(left)] = true
	return nil, nil
}

// then puts the pod before an order of those that are left.
func (s *search) then(next taken, bound, left []*v1.Pod) ([]taken, error) {
	rest, err := s.arrange(slices.Concat(bound, []*v1.Pod{next.pod}), left)
	if rest == nil {
		return nil, err
	}
	return append([]taken{next}, rest...), nil
}

// lookOnce looks at pods that are alike once. What is looked at after the first way has come to its end is counted.
func (s *search) lookOnce(looks map[types.UID]*look, bound []*v1.Pod, pod *v1.Pod) (*look, error) {
	if seen := looks[alike(pod)]; seen != nil {
		return seen, nil
	}
	if len(s.failed) > 0 {
		s.spare--
	}
	seen, err := s.look(s.before(s.second.at, bound), pod)
	looks[alike(pod)] = seen
	return seen, err
}

// greedy is the way for a second without such an order: the next pod is the first whose node is among the best by then; if there
// is none, the first of the dump diverges.
func (s *search) greedy(bound, left []*v1.Pod) ([]taken, error) {
	earlier := bound
	var order []taken
	for len(left) > 0 {
		looks := map[types.UID]*look{}
		next := -1
		for i, pod := range left {
			if s.second.given[pod] && i > 0 || looks[alike(pod)] == nil && len(looks) == maxTried {
				continue
			}
			if s.second.given[pod] {
				next = i
				break
			}
			seen, err := s.lookOnce(looks, bound, pod)
			if err != nil {
				return nil, err
			}
			if seen.best(pod.Spec.NodeName) {
				next = i
				break
			}
		}
		diverges := next < 0
		next = max(next, 0)
		pod := left[next]
		left = without(left, next)
		if s.second.given[pod] {
			order = append(order, taken{pod: pod})
		} else {
			seen := looks[alike(pod)]
			placed := seen.placement(pod, s.second.at)
			placed.Reordered = next > 0
			if diverges {
				c := &cause{replay: s.replay, pod: pod, at: s.second.at, earlier: earlier, bound: bound, left: left, look: seen, placed: &placed}
				if err := c.find(); err != nil {
					return nil, err
				}
			}
			order = append(order, taken{pod, &placed})
		}
		bound = slices.Concat(bound, []*v1.Pod{pod})
	}
	return order, nil
}

func without(pods []*v1.Pod, i int) []*v1.Pod { return slices.Concat(pods[:i], pods[i+1:]) }

// key is the same for pods that are alike and on the same nodes.
func key(pods []*v1.Pod) string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = string(alike(pod)) + "@" + pod.Spec.NodeName
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// alike is the same for pods that the scheduler cannot tell apart: those of a ReplicaSet or a Job, unless they bring claims of
// their own.
func alike(pod *v1.Pod) types.UID {
	ref := metav1.GetControllerOfNoCopy(pod)
	own := slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Ephemeral != nil })
	if ref == nil || own || ref.Kind != "ReplicaSet" && ref.Kind != "Job" {
		return pod.UID
	}
	return ref.UID
}
