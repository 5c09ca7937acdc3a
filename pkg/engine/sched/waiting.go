package sched

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// waitingOrder returns the pods in the order of their last attempts, the longest ago first. Of pods that were tried in the same second the
// older one comes first, and then the one that is listed first.
//
// With random arrivals, the pods that have waited since an earlier moment come in one of the orders that a real queue gives them when an
// event moves them to it together; see moved.
func (e *Engine) waitingOrder(pods []*v1.Pod) []*v1.Pod {
	order := slices.Clone(pods)
	slices.SortStableFunc(order, func(a, b *v1.Pod) int {
		return cmp.Or(cluster.LastTried(a).Compare(cluster.LastTried(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	if e.moves == nil {
		return order
	}
	fresh := slices.IndexFunc(order, func(pod *v1.Pod) bool { return !cluster.LastTried(pod).Before(e.state.Now.Time) })
	if fresh < 0 {
		fresh = len(order)
	}
	return append(e.moved(order[:fresh]), order[fresh:]...)
}

// moved returns pods that have waited in an order by chance, each of these with the same probability:
//   - as they are: the scheduler is idle, and wakes up when all of them are in the queue.
//   - from any of them on, and then the first ones: one change of a node is often two events, such as an uncordon and then the removal of
//     the taint. Between the two, the first pods were tried in vain, and are tried again after the others.
//   - mixed: upstream moves them in the order of a map, and a busy scheduler takes the next one meanwhile; see
//     moveEntitiesToActiveOrBackoffQueue in
//     https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/backend/queue/scheduling_queue.go.
func (e *Engine) moved(pods []*v1.Pod) []*v1.Pod {
	if len(pods) < 2 {
		return pods
	}
	switch e.moves.IntN(3) {
	case 1:
		first := e.moves.IntN(len(pods))
		return slices.Concat(pods[first:], pods[:first])
	case 2:
		mixed := slices.Clone(pods)
		e.moves.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		return mixed
	}
	return pods
}
