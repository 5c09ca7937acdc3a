package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podOn(name, node string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PodSpec{NodeName: node}}
}

func TestChanges(t *testing.T) {
	a, b, c, other := podOn("a", ""), podOn("b", ""), podOn("c", ""), podOn("b", "n")
	for name, test := range map[string]struct {
		before, after []*v1.Pod
		want          []string
	}{
		"nothing":                     {[]*v1.Pod{a, b}, []*v1.Pod{a, b}, nil},
		"one replaced":                {[]*v1.Pod{a, b, c}, []*v1.Pod{a, other, c}, []string{"b is another at 1"}},
		"one gone":                    {[]*v1.Pod{a, b, c}, []*v1.Pod{a, c}, []string{"b is gone"}},
		"the last gone":               {[]*v1.Pod{a, b}, []*v1.Pod{a}, []string{"b is gone"}},
		"one new":                     {[]*v1.Pod{a}, []*v1.Pod{a, b}, []string{"b is new at 1"}},
		"one gone, and another of it": {[]*v1.Pod{a, b, c}, []*v1.Pod{a, c, other}, []string{"b is gone", "b is new at 2"}},
		"back to a state before":      {[]*v1.Pod{a, c}, []*v1.Pod{a, b, c}, []string{"c is gone", "b is new at 1", "c is new at 2"}},
	} {
		var got []string
		Changes(test.before, test.after, func(was, is *v1.Pod, position int) {
			switch {
			case is == nil:
				got = append(got, was.Name+" is gone")
			case was == nil:
				got = append(got, fmt.Sprintf("%s is new at %d", is.Name, position))
			default:
				got = append(got, fmt.Sprintf("%s is another at %d", is.Name, position))
			}
		})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// Pods come, go, move to other nodes and return to earlier states, some several at a time. The groups must equal the groups computed from
// all pods, in the order of the state.
func TestGroupsFollowTheState(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		groups := NewGroups(func(pod *v1.Pod) []string {
			if pod.Spec.NodeName == "" {
				return nil
			}
			return []string{pod.Spec.NodeName, "all"}
		})
		state := &State{}
		states := []*State{state}
		for step := range 60 {
			switch r.IntN(8) {
			case 0:
				state = states[r.IntN(len(states))]
			case 1, 2:
				for range r.IntN(3) {
					state = state.Without(podOn(fmt.Sprint(r.IntN(12)), ""))
				}
			default:
				for range 1 + r.IntN(4) {
					state = state.With(podOn(fmt.Sprint(r.IntN(12)), []string{"", "x", "y", "z"}[r.IntN(4)]))
				}
			}
			states = append(states, state)
			groups.Follow(state.Pods)
			for _, key := range []string{"x", "y", "z", "all"} {
				var want []*v1.Pod
				for _, pod := range state.Pods {
					if pod.Spec.NodeName != "" && (key == "all" || pod.Spec.NodeName == key) {
						want = append(want, pod)
					}
				}
				if got := groups.Of(key); !slices.Equal(got.Pods(), want) {
					t.Fatalf("seed %d, step %d: group %s has %d pods, want %d, in order", seed, step, key, len(got.Pods()), len(want))
				}
			}
		}
	}
}
