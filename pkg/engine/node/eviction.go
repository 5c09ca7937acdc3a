package node

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
)

// evictTainted requests the deletion of the pods that no longer tolerate the NoExecute taints of their node. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/tainteviction/taint_eviction.go.
func (c *Controllers) evictTainted(s *cluster.State) *cluster.State {
	c.followState(s)
	var evicted []*v1.Pod
	for _, due := range c.due {
		for _, pod := range due.leaving {
			if !pod.at.After(s.Now.Time) {
				evicted = append(evicted, pod.Pod)
			}
		}
	}
	return admission.Terminate(s, "DeletionByTaintManager", evicted...)
}

// noExecuteTaints returns the NoExecute taints of the node.
func noExecuteTaints(node *v1.Node) []v1.Taint {
	return list.Without(node.Spec.Taints, func(taint v1.Taint) bool { return taint.Effect != v1.TaintEffectNoExecute })
}

// leavingPod is a pod that must leave its node, and the time at which it must.
type leavingPod struct {
	*v1.Pod
	at time.Time
}

// evictionTime returns when a pod must leave a node with the taints, or false if never. The time counts from when the taint eviction
// controller first sees the pod and a taint together: from the first taint, or from the binding of a pod that got the node later. For
// example, a pod that tolerates a taint for 60 s, and is bound 100 s after the taint was added, leaves 160 s after the taint. evictionTime
// does what upstream's processPodOnNode and getMinTolerationTime do.
func evictionTime(pod *v1.Pod, taints []v1.Taint) (time.Time, bool) {
	if len(taints) == 0 || cluster.IsTerminal(pod) {
		return time.Time{}, false
	}
	var since time.Time // a taint without a time counts as present from the start
	for _, taint := range taints {
		if taint.TimeAdded != nil && (since.IsZero() || taint.TimeAdded.Time.Before(since)) {
			since = taint.TimeAdded.Time
		}
	}
	if bound := boundAt(pod); since.Before(bound) {
		since = bound
	}
	all, used := v1helper.GetMatchingTolerations(klog.Background(), taints, pod.Spec.Tolerations)
	if !all {
		return since, true
	}
	shortest := int64(-1)
	for _, toleration := range used {
		if seconds := toleration.TolerationSeconds; seconds != nil && (shortest < 0 || *seconds < shortest) {
			shortest = max(0, *seconds)
		}
	}
	return since.Add(time.Duration(shortest) * time.Second), shortest >= 0
}

// boundAt returns when the pod got its node; zero if that is unknown.
func boundAt(pod *v1.Pod) time.Time {
	if _, bound := podutil.GetPodCondition(&pod.Status, v1.PodScheduled); bound != nil && bound.Status == v1.ConditionTrue {
		return bound.LastTransitionTime.Time
	}
	return time.Time{}
}

// EvictsBoundSince reports whether by the given time a taint evicts a pod that got its node since the other time, in the state of the last
// call of Next.
func (c *Controllers) EvictsBoundSince(since, by time.Time) bool {
	for _, due := range c.due {
		if slices.ContainsFunc(due.leaving, func(pod leavingPod) bool { return !pod.at.After(by) && !boundAt(pod.Pod).Before(since) }) {
			return true
		}
	}
	return false
}

// IsEvictedWhenUnreachable reports whether the pod is evicted, sooner or later, from a node that does not answer, provided that evictions go on.
func IsEvictedWhenUnreachable(pod *v1.Pod) bool {
	_, leaves := evictionTime(pod, []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}})
	return leaves
}
