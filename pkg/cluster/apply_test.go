package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// Many names have the same ending, and in some states pods were replaced by hand.
func TestObjectsAreFoundByTheirNames(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := &State{}
		var want []*v1.Pod
		for step := range 40 {
			var given []Object
			for i := range 1 + r.IntN(4) {
				given = append(given, pod(fmt.Sprintf("%d%c%0*d", i, 'a'+r.IntN(2), r.IntN(7), r.IntN(12))))
			}
			adds := r.IntN(3) > 0
			for _, obj := range given {
				i := slices.IndexFunc(want, func(pod *v1.Pod) bool { return pod.Name == obj.GetName() })
				switch {
				case adds && i >= 0:
					want[i] = obj.(*v1.Pod)
				case adds:
					want = append(want, obj.(*v1.Pod))
				case i >= 0:
					want = slices.Delete(want, i, i+1)
				}
			}
			switch next := s.With(given...); {
			case adds:
				s = next
			case r.IntN(2) == 0:
				byHand := *s
				byHand.Pods = slices.Clone(s.Pods)
				s = byHand.Without(given...)
			default:
				s = s.Without(given...)
			}
			if !slices.Equal(s.Pods, want) {
				t.Fatalf("seed %d, step %d: %v", seed, step, names(s))
			}
		}
	}
}
