package node

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// evictTainted asks for the deletion of the pods that no longer tolerate the NoExecute taints of their node:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/tainteviction/taint_eviction.go.
func evictTainted(s *cluster.State) *cluster.State {
	tainted := noExecuteTaints(s)
	if len(tainted) == 0 {
		return s
	}
	var evicted []*v1.Pod
	for _, pod := range s.Pods {
		if at, ok := evictionTime(pod, tainted[pod.Spec.NodeName]); ok && pod.DeletionTimestamp == nil && !at.After(s.Now.Time) {
			evicted = append(evicted, pod)
		}
	}
	return admission.Terminate(s, "DeletionByTaintManager", evicted...)
}

// noExecuteTaints returns the NoExecute taints of the nodes that have any, by node.
func noExecuteTaints(s *cluster.State) map[string][]v1.Taint {
	tainted := map[string][]v1.Taint{}
	for _, node := range s.Nodes {
		for _, taint := range node.Spec.Taints {
			if taint.Effect == v1.TaintEffectNoExecute {
				tainted[node.Name] = append(tainted[node.Name], taint)
			}
		}
	}
	return tainted
}

// evictionTime returns when a pod must leave a node with the taints, counted from the first of them; false: never. It is
// upstream's processPodOnNode with its getMinTolerationTime.
func evictionTime(pod *v1.Pod, taints []v1.Taint) (time.Time, bool) {
	if len(taints) == 0 || cluster.Terminal(pod) {
		return time.Time{}, false
	}
	var since time.Time // a taint without a time has always been there
	for _, taint := range taints {
		if taint.TimeAdded != nil && (since.IsZero() || taint.TimeAdded.Time.Before(since)) {
			since = taint.TimeAdded.Time
		}
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
