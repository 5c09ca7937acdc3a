package world

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
)

// podTriedAt returns a pod that was created at the time created and, if tried is above 0, last tried at the time tried, in seconds after the
// start.
func podTriedAt(name string, created, tried int) *v1.Pod {
	at := func(seconds int) metav1.Time {
		return metav1.NewTime(cluster.Epoch.Add(time.Duration(seconds) * time.Second))
	}
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: at(created)}}
	if tried > 0 {
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, LastTransitionTime: at(tried)}}
	}
	return p
}

func podNames(pods []*v1.Pod) string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return strings.Join(names, " ")
}

// The scheduler tried d first, then b, which is older than a. c is new. e was tried last: its condition is old, but was probed later.
func TestPodsWaitInTheOrderOfTheirLastAttempts(t *testing.T) {
	e := podTriedAt("e", 0, 1)
	e.Status.Conditions[0].LastProbeTime = metav1.NewTime(cluster.Epoch.Add(9 * time.Second))
	pods := []*v1.Pod{podTriedAt("a", 2, 5), podTriedAt("b", 1, 5), podTriedAt("c", 10, 0), podTriedAt("d", 3, 4), e}
	if got := podNames(sortQueue(pods)); got != "d b a e c" {
		t.Errorf("got %s", got)
	}
	if got := podNames(pods); got != "a b c d e" {
		t.Errorf("the given list is now %s", got)
	}
}

// The pods a, b and c waited before; d is new. With random arrivals the old ones come as they are, rotated, or mixed, and d comes after
// them.
func TestPodsThatAreMovedTogetherAreMixed(t *testing.T) {
	queue := []*v1.Pod{podTriedAt("a", 1, 5), podTriedAt("b", 1, 6), podTriedAt("c", 1, 10), podTriedAt("d", 10, 0)}
	before := cluster.State{Now: cluster.Epoch, Pods: queue[:3]}
	c := &Cluster{}
	if got := podNames(c.shuffleWaitingPods(&before, queue)); got != "a b c d" {
		t.Errorf("without random arrivals: %s", got)
	}
	c.controllers.Arrivals = rand.New(rand.NewPCG(1, 1))
	seen := map[string]int{}
	for range 600 {
		seen[podNames(c.shuffleWaitingPods(&before, queue))]++
	}
	// The order as it is has a probability of 1/3 + 1/9 + 1/18, an order from b or c on has 1/9 + 1/18, any other order 1/18.
	for order, least := range map[string]int{"a b c d": 240, "b c a d": 60, "c a b d": 60, "a c b d": 10, "b a c d": 10, "c b a d": 10} {
		if seen[order] < least {
			t.Errorf("%s came %d times, want %d or more", order, seen[order], least)
		}
		delete(seen, order)
	}
	if len(seen) > 0 {
		t.Errorf("other orders: %v", seen)
	}
	if got := podNames(queue); got != "a b c d" {
		t.Errorf("the given queue is now %s", got)
	}
}

// low and high waited before, and fresh has just been made. A scheduler that gets through a part of its queue begins with high.
func TestACutQueueBeginsWithTheHighestPriority(t *testing.T) {
	low, high, fresh := podTriedAt("low", 0, 1), podTriedAt("high", 1, 2), podTriedAt("fresh", 3, 0)
	high.Spec.Priority = new(int32(100))
	before := &cluster.State{Pods: []*v1.Pod{low, high}}
	seen := map[string]bool{}
	for seed := range uint64(50) {
		c := &Cluster{controllers: controller.Controllers{Rand: rand.New(rand.NewPCG(seed, 0))}} //nolint:gosec // not for secrets
		seen[podNames(c.cutQueueAtRandom(before, []*v1.Pod{low, high, fresh}))] = true
	}
	want := map[string]bool{"low high fresh": true, "high": true, "high low": true} // the whole queue is sorted by the scheduler
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
