package node

import (
	"math/rand/v2"
	"time"

	"github.com/faultline/faultline/pkg/cluster"
)

// Reconcile lets the controllers of nodes and the kubelets do what is due: nodes are tainted by their conditions, pods that do not
// tolerate a taint are evicted, and pods whose time is over have ended. It returns the same state where nothing is due. The generator
// chooses among equals; nil keeps a fixed order.
func Reconcile(s *cluster.State, r *rand.Rand) *cluster.State {
	return endPods(evictTainted(taintByConditions(s, r)), r)
}

// Next returns the earliest moment after s.Now at which Reconcile has something to do although nothing else changes: a toleration of a
// NoExecute taint runs out, the next node gets one, or a kubelet has ended a pod; zero: never.
func Next(s *cluster.State) time.Time {
	var next time.Time
	consider := func(at time.Time) {
		if at.After(s.Now.Time) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	consider(nextNoExecute(s))
	consider(nextEnd(s))
	tainted := noExecuteTaints(s)
	for _, pod := range s.Pods {
		if at, ok := evictionTime(pod, tainted[pod.Spec.NodeName]); ok && pod.DeletionTimestamp == nil {
			consider(at)
		}
	}
	return next
}
