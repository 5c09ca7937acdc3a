package world

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// sortQueue returns the pods in the order in which upstream's queue has pods of equal priority. The pod that has waited longest comes
// first, counted from when it was added to the queue or last tried; see newQueuedPodInfo and AddUnschedulablePodIfNotPresent in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/backend/queue/scheduling_queue.go.
// If two pods were tried in the same second, the older pod comes first, and then the pod that is listed first.
func sortQueue(pods []*v1.Pod) []*v1.Pod {
	earlier := func(a, b *v1.Pod) int {
		return cmp.Or(cluster.LastTried(a).Compare(cluster.LastTried(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	}
	if slices.IsSortedFunc(pods, earlier) {
		return pods
	}
	order := slices.Clone(pods)
	slices.SortStableFunc(order, earlier)
	return order
}

// shuffleWaitingPods returns the queue as the scheduler may see it with random arrivals: first the pods that waited in the state before, in one of three
// orders with equal probability, then the new pods. The orders are
//   - as they are: the scheduler is idle, and wakes up when all of them are in the queue.
//   - from any of them on, and then the first ones: one change of a node is often two events, such as an uncordon and then the removal of
//     the taint. Between the two, the first pods were tried in vain, and are tried again after the others.
//   - mixed: upstream moves them in the order of a map, and a busy scheduler takes the next one meanwhile; see
//     moveEntitiesToActiveOrBackoffQueue in
//     https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/backend/queue/scheduling_queue.go.
func (c *Cluster) shuffleWaitingPods(before *cluster.State, queue []*v1.Pod) []*v1.Pod {
	random := c.controllers.Arrivals
	if random == nil {
		return queue
	}
	old, fresh := splitQueue(before, queue)
	if len(old) < 2 {
		return queue
	}
	switch random.IntN(3) {
	case 1:
		first := random.IntN(len(old))
		old = slices.Concat(old[first:], old[:first])
	case 2:
		random.Shuffle(len(old), func(i, j int) { old[i], old[j] = old[j], old[i] })
	}
	return append(old, fresh...)
}

// splitQueue returns the pods of the queue that waited in the state before, and the new ones.
func splitQueue(before *cluster.State, queue []*v1.Pod) (old, fresh []*v1.Pod) {
	there := map[types.UID]bool{}
	for _, pod := range before.Unscheduled() {
		there[pod.UID] = true
	}
	isOld := func(pod *v1.Pod) bool { return there[pod.UID] }
	return list.Where(queue, isOld), list.Without(queue, isOld)
}
