package controller

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	"k8s.io/kubernetes/pkg/features"
)

// daemonNodes says of nodes whether a pod of the DaemonSet should start there, and whether one may stay. It is
// daemon.NodeShouldRunDaemonPod for many nodes, which upstream does not export: tolerations and affinity are made once. See
// nodeShouldRunDaemonPod in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/daemon/daemon_controller.go.
func daemonNodes(ds *appsv1.DaemonSet) func(*v1.Node) (run, stay bool) {
	spec := ds.Spec.Template.Spec
	affinity := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity)
	daemonutil.AddOrUpdateDaemonPodTolerations(&spec) // which makes another list
	comparisons := utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	tolerates := func(node *v1.Node, effects ...v1.TaintEffect) bool {
		_, untolerated := corev1.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, spec.Tolerations,
			func(taint *v1.Taint) bool { return slices.Contains(effects, taint.Effect) }, comparisons)
		return !untolerated
	}
	return func(node *v1.Node) (run, stay bool) {
		if spec.NodeName != "" && spec.NodeName != node.Name {
			return false, false
		}
		if fits, _ := affinity.Match(node); !fits { // as upstream, none where it cannot be parsed
			return false, false
		}
		if tolerates(node, v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule) {
			return true, true
		}
		return false, tolerates(node, v1.TaintEffectNoExecute)
	}
}
