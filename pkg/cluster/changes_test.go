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
	a, b, c, d, other := podOn("a", ""), podOn("b", ""), podOn("c", ""), podOn("d", ""), podOn("b", "n")
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
		"back to a state before":      {[]*v1.Pod{a, c}, []*v1.Pod{a, b, c}, []string{"b is new at 1"}},
		"back, and another of it":     {[]*v1.Pod{a, b, d}, []*v1.Pod{a, c, other, d}, []string{"c is new at 1", "b is another at 2"}},
		"another order":               {[]*v1.Pod{a, b, c}, []*v1.Pod{d, c, a, b}, []string{"a is gone", "b is gone", "d is new at 0", "a is new at 2", "b is new at 3"}},
	} {
		var got []string
		VisitChanges(test.before, test.after, func(was, is *v1.Pod, position int) {
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

// For any two lists, the reported changes turn the first into the second: no object is new that was there, no object goes that stays, new
// objects come in order, and objects without a report keep their order.
func TestChangesLeadFromOneListToTheOther(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for range 3000 {
		pool := make([]*v1.Pod, 400)
		for i := range pool {
			pool[i] = podOn(fmt.Sprint(i/2), "") // two of each name
		}
		some := func() []*v1.Pod {
			var pods []*v1.Pod
			named := map[string]bool{}
			share := 1 + r.IntN(20)
			for _, pod := range pool[:1+r.IntN(len(pool))] {
				if r.IntN(20) < share && !named[pod.Name] {
					pods = append(pods, pod)
					named[pod.Name] = true
				}
			}
			for range r.IntN(4) {
				if n := len(pods); n > 0 {
					i, j := r.IntN(n), r.IntN(n)
					pods[i], pods[j] = pods[j], pods[i]
				}
			}
			return pods
		}
		before, after := some(), some()
		there, news := map[*v1.Pod]bool{}, map[*v1.Pod]bool{}
		for _, pod := range before {
			there[pod] = true
		}
		last := -1
		VisitChanges(before, after, func(was, is *v1.Pod, position int) {
			if was != nil {
				if !there[was] || news[was] {
					t.Fatalf("%s goes, and is not there", was.Name)
				}
				delete(there, was)
			}
			if is != nil {
				if there[is] || position <= last || after[position] != is {
					t.Fatalf("%s is new at %d after %d", is.Name, position, last)
				}
				there[is], news[is], last = true, true, position
			}
		})
		kept := func(pods []*v1.Pod) []*v1.Pod {
			return slices.DeleteFunc(slices.Clone(pods), func(pod *v1.Pod) bool { return news[pod] || !there[pod] })
		}
		if len(there) != len(after) || !slices.Equal(kept(before), kept(after)) {
			t.Fatalf("%d are there, not %d, or have another order", len(there), len(after))
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
			before := map[string][]*v1.Pod{}
			for _, key := range []string{"x", "y", "z", "all"} {
				before[key] = groups.Lookup(key).Pods()
			}
			changed := groups.Update(state.Pods)
			for _, key := range []string{"x", "y", "z", "all"} {
				var want []*v1.Pod
				for _, pod := range state.Pods {
					if pod.Spec.NodeName != "" && (key == "all" || pod.Spec.NodeName == key) {
						want = append(want, pod)
					}
				}
				if got := groups.Lookup(key); !slices.Equal(got.Pods(), want) {
					t.Fatalf("seed %d, step %d: group %s has %d pods, want %d, in order", seed, step, key, len(got.Pods()), len(want))
				}
				if got, want := slices.Contains(changed, key), !slices.Equal(want, before[key]); got != want {
					t.Fatalf("seed %d, step %d: group %s is reported as changed: %t, want %t", seed, step, key, got, want)
				}
			}
		}
	}
}
