package node

import (
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/util/taints"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
)

// completePods marks the pods as succeeded that have run for the time in their annotation.
func (c *Controllers) completePods(s *cluster.State) *cluster.State {
	c.follow(s)
	var completed []*v1.Pod
	for _, due := range c.due {
		for _, pod := range due.completing {
			if at, _ := cluster.CompletesAt(pod); !at.After(s.Now.Time) {
				completed = append(completed, pod)
			}
		}
	}
	slices.SortFunc(completed, c.pods.Compare)
	changed := list.Each(completed, func(pod *v1.Pod) cluster.Object { return cluster.Complete(pod, s.Now) })
	return s.With(changed...)
}

// endPods removes the pods that have ended: their kubelet has had the time that it needs, or the pod garbage collector deletes them because
// their node is gone or out of service. See https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podgc/gc_controller.go.
func (c *Controllers) endPods(s *cluster.State, r *rand.Rand) *cluster.State {
	c.follow(s)
	var ending []*v1.Pod
	for _, due := range c.due {
		ending = append(ending, due.ending...)
	}
	slices.SortFunc(ending, c.pods.Compare)
	var gone, kept []cluster.Object
	for _, pod := range ending {
		awaited := admission.AwaitedByJob(s, pod)
		if cluster.Terminal(pod) {
			if !awaited {
				gone = append(gone, pod)
			}
			continue
		}
		node := c.byName[pod.Spec.NodeName]
		if node != nil && !isOutOfService(node) && pod.DeletionTimestamp.After(s.Now.Time) && !quick(r) {
			continue
		}
		if awaited {
			kept = append(kept, cluster.Stop(pod, s.Now))
		} else {
			gone = append(gone, pod)
		}
	}
	return s.With(kept...).Without(gone...)
}

// quick reports, randomly, whether a kubelet has ended a pod before its time. Without a generator it returns false.
func quick(r *rand.Rand) bool { return r != nil && r.IntN(4) == 0 }

// isOutOfService reports whether the garbage collector removes the Terminating pods of the node.
func isOutOfService(node *v1.Node) bool {
	ready := readyCondition(node)
	return ready != nil && ready.Status != v1.ConditionTrue &&
		taints.TaintKeyExists(node.Spec.Taints, v1.TaintNodeOutOfService)
}
