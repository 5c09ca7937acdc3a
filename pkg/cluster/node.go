package cluster

import (
	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
)

// Repels tells whether a taint of the node keeps the pod from being scheduled there.
func Repels(node *v1.Node, pod *v1.Pod) bool {
	_, repels := corev1.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, pod.Spec.Tolerations, func(taint *v1.Taint) bool {
		return taint.Effect != v1.TaintEffectPreferNoSchedule
	}, false)
	return repels
}
