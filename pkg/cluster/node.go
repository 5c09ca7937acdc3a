package cluster

import (
	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	nodeutil "k8s.io/component-helpers/node/util"
	"k8s.io/component-helpers/scheduling/corev1"
)

// Repels reports whether a taint of the node keeps the pod from being scheduled there.
func Repels(node *v1.Node, pod *v1.Pod) bool {
	_, repels := corev1.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, pod.Spec.Tolerations, func(taint *v1.Taint) bool {
		return taint.Effect != v1.TaintEffectPreferNoSchedule
	}, false)
	return repels
}

// Answers reports whether the node's kubelet is working, as far as the API server knows: a kubelet that no longer reports cannot end pods.
// A node without a Ready condition, as when written by hand, answers.
func Answers(node *v1.Node) bool {
	_, ready := nodeutil.GetNodeCondition(&node.Status, v1.NodeReady)
	return ready == nil || ready.Status != v1.ConditionUnknown
}
