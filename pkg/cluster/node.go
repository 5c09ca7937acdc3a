package cluster

import (
	"slices"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	nodeutil "k8s.io/component-helpers/node/util"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/kubernetes/pkg/util/taints"
)

// Repels reports whether a taint of the node keeps the pod from being scheduled there.
func Repels(node *v1.Node, pod *v1.Pod) bool { return Untolerated(node, pod) != nil }

// Untolerated returns the first taint of the node that keeps the pod from being scheduled there, or nil if none does.
func Untolerated(node *v1.Node, pod *v1.Pod) *v1.Taint {
	taint, repels := corev1.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, pod.Spec.Tolerations, func(taint *v1.Taint) bool {
		return taint.Effect != v1.TaintEffectPreferNoSchedule
	}, false)
	if !repels {
		return nil
	}
	return &taint
}

// Attracts reports whether the pod's node selector and required node affinity match the node. A rule that does not parse matches nothing.
func Attracts(node *v1.Node, pod *v1.Pod) bool {
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && match
}

// KubeletResponds reports whether the node's kubelet works, as far as the API server knows. A kubelet that no longer reports cannot end pods. A
// node without a Ready condition, such as a node written by hand, counts as working.
func KubeletResponds(node *v1.Node) bool {
	_, ready := nodeutil.GetNodeCondition(&node.Status, v1.NodeReady)
	return ready == nil || ready.Status != v1.ConditionUnknown
}

// NewestKubelet returns the newest minor release of the nodes' kubelets, such as 1.35, or "" if no node says its release. The other parts of a
// cluster are not older than its kubelets.
func NewestKubelet(nodes []*v1.Node) string {
	var newest *version.Version
	for _, node := range nodes {
		if v, err := version.ParseGeneric(node.Status.NodeInfo.KubeletVersion); err == nil && (newest == nil || newest.LessThan(v)) {
			newest = v
		}
	}
	if newest == nil {
		return ""
	}
	return version.MajorMinor(newest.Major(), newest.Minor()).String()
}

// Cordon makes a node unschedulable: it sets spec.unschedulable and adds the taint of the node lifecycle controller. It changes the node in
// place, so pass a copy.
func Cordon(node *v1.Node, now metav1.Time) {
	node.Spec.Unschedulable = true
	AddTaint(node, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule, TimeAdded: &now})
}

// Uncordon undoes [Cordon]. It changes the node in place, so pass a copy.
func Uncordon(node *v1.Node) {
	node.Spec.Unschedulable = false
	node.Spec.Taints, _ = taints.DeleteTaintsByKey(node.Spec.Taints, v1.TaintNodeUnschedulable)
}

// AddTaint adds the taint unless the node has one of the same key and effect. It changes the node in place, so pass a copy.
func AddTaint(node *v1.Node, taint v1.Taint) {
	if !taints.TaintExists(node.Spec.Taints, &taint) {
		node.Spec.Taints = append(slices.Clip(node.Spec.Taints), taint)
	}
}
