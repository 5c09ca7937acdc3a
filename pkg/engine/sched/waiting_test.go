package sched

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// since is a pod that was created some seconds after the start and, if tried is above 0, last tried so many.
func since(name string, created, tried int) *v1.Pod {
	at := func(seconds int) metav1.Time {
		return metav1.NewTime(cluster.Epoch.Add(time.Duration(seconds) * time.Second))
	}
	p := pod(name, "1", 0)
	p.CreationTimestamp = at(created)
	if tried > 0 {
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, LastTransitionTime: at(tried)}}
	}
	return p
}

func namesOf(pods []*v1.Pod) string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return strings.Join(names, " ")
}

// d was tried first of all, then b, which is older than a; c is new; e was tried last, though the condition is old, since the condition was
// probed later. f is urgent.
func TestPodsWaitInTheOrderOfTheirLastAttempts(t *testing.T) {
	e := since("e", 0, 1)
	e.Status.Conditions[0].LastProbeTime = metav1.NewTime(cluster.Epoch.Add(9 * time.Second))
	f := since("f", 10, 0)
	f.Spec.Priority = new(int32)
	*f.Spec.Priority = 5
	pods := []*v1.Pod{since("a", 2, 5), since("b", 1, 5), since("c", 10, 0), since("d", 3, 4), e, f}
	engine := newEngine(t, Ties{})
	engine.state = &cluster.State{Now: metav1.NewTime(cluster.Epoch.Add(10 * time.Second))}
	if diff := cmp.Diff("f d b a e c", namesOf(podsOf(engine.sorted(engine.entries(pods))))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// With random arrivals a, b and c come as they are, from any of them on, or mixed, and d, which is new, after them. A mark brings an order back.
func TestPodsThatAreMovedTogetherAreMixed(t *testing.T) {
	pods := []*v1.Pod{since("d", 10, 0), since("c", 1, 7), since("b", 1, 6), since("a", 1, 5)}
	engine := newEngine(t, Ties{Arrivals: true, Seed: 3})
	engine.state = &cluster.State{Now: metav1.NewTime(cluster.Epoch.Add(10 * time.Second))}
	seen := map[string]int{}
	for range 600 {
		mark := engine.Mark()
		order := namesOf(engine.waitingOrder(pods))
		engine.Return(mark)
		if again := namesOf(engine.waitingOrder(pods)); again != order {
			t.Fatalf("%s, and after a return to the mark %s", order, again)
		}
		seen[order]++
	}
	// As they are 1/3 + 1/9 + 1/18, from b or c on 1/9 + 1/18 each, any other order 1/18.
	for order, least := range map[string]int{"a b c d": 230, "b c a d": 60, "c a b d": 60, "a c b d": 10, "b a c d": 10, "c b a d": 10} {
		if seen[order] < least {
			t.Errorf("%s came %d times, want %d or more", order, seen[order], least)
		}
		delete(seen, order)
	}
	if len(seen) > 0 {
		t.Errorf("other orders: %v", seen)
	}
	if got := namesOf(pods); got != "d c b a" {
		t.Errorf("the given list is now %s", got)
	}
	if sorted := slices.IsSortedFunc(engine.entries(pods), func(a, b *entry) int { return a.Timestamp.Compare(b.Timestamp) }); !sorted {
		t.Error("timestamps are in another order than the entries")
	}
}
