package node

import (
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/util/taints"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// endPods takes away the pods that have ended: their kubelet has had the time that it needs, or the pod garbage collector ends them since
// their node is gone or out of service:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podgc/gc_controller.go.
func (c *Controllers) endPods(s *cluster.State, r *rand.Rand) *cluster.State {
	c.follow(s)
	nodes := c.view(s).byName
	var gone, kept []cluster.Object
	for _, pod := range c.pods.Of(group{terminating: true}).Pods() {
		node := nodes[pod.Spec.NodeName]
		switch {
		case cluster.Terminal(pod):
			if !admission.AwaitedByJob(s, pod) {
				gone = append(gone, pod)
			}
			continue
		case node == nil, isOutOfService(node):
		case !cluster.Answers(node), pod.DeletionTimestamp.After(s.Now.Time) && !quick(r):
			continue
		}
		if admission.AwaitedByJob(s, pod) {
			kept = append(kept, cluster.Stop(pod, s.Now))
		} else {
			gone = append(gone, pod)
		}
	}
	return s.With(kept...).Without(gone...)
}

// quick reports, by chance, whether a kubelet has ended a pod sooner than it may; without a generator none has.
func quick(r *rand.Rand) bool { return r != nil && r.IntN(4) == 0 }

// nextEnd returns the earliest moment after now at which a kubelet ends a pod; zero: never.
func (c *Controllers) nextEnd(s *cluster.State) time.Time {
	var next time.Time
	c.follow(s)
	nodes := c.view(s).byName
	for _, pod := range c.pods.Of(group{terminating: true}).Pods() {
		if cluster.Terminal(pod) || !pod.DeletionTimestamp.After(s.Now.Time) {
			continue
		}
		if node := nodes[pod.Spec.NodeName]; node != nil && cluster.Answers(node) && (next.IsZero() || pod.DeletionTimestamp.Time.Before(next)) {
			next = pod.DeletionTimestamp.Time
		}
	}
	return next
}

func isTerminating(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil }

// isOutOfService reports whether the garbage collector removes the pods of the node that are Terminating.
func isOutOfService(node *v1.Node) bool {
	ready := readyCondition(node)
	return ready != nil && ready.Status != v1.ConditionTrue &&
		taints.TaintKeyExists(node.Spec.Taints, v1.TaintNodeOutOfService)
}
