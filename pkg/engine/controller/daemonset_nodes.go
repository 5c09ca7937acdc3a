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

// newDaemonNodeFilter returns a function that reports whether a pod of the DaemonSet should start on a node, and whether an existing one may stay.
// Upstream exports daemon.NodeShouldRunDaemonPod for one node; this one builds tolerations and affinity once for many nodes. See
// nodeShouldRunDaemonPod in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/daemon/daemon_controller.go.
func newDaemonNodeFilter(ds *appsv1.DaemonSet) func(*v1.Node) (run, stay bool) {
	spec := ds.Spec.Template.Spec
	affinity := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity)
	daemonutil.AddOrUpdateDaemonPodTolerations(&spec) // it makes a new list of tolerations
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
		if fits, _ := affinity.Match(node); !fits { // as upstream, no node fits an affinity that cannot be parsed
			return false, false
		}
		if tolerates(node, v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule) {
			return true, true
		}
		return false, tolerates(node, v1.TaintEffectNoExecute)
	}
}
