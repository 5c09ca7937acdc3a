package controller

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
)

// The function for many nodes gives the same answer for each node as upstream's function for that node alone.
func TestDaemonNodesIsUpstreams(t *testing.T) {
	within := func(requirement v1.NodeSelectorRequirement) *v1.Affinity {
		term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{requirement}}
		return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}}}
	}
	gpu := []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists}}
	for i, spec := range []v1.PodSpec{
		{}, {NodeName: "a"}, {HostNetwork: true}, {NodeSelector: map[string]string{"zone": "z"}},
		{Affinity: within(v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpExists})},
		{Affinity: within(v1.NodeSelectorRequirement{Key: "zone", Operator: "unknown"})},
		{Tolerations: gpu}, {Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists}}},
	} {
		ds := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: v1.PodTemplateSpec{Spec: spec}}}
		should := newDaemonNodeFilter(ds)
		for _, name := range []string{"a", "b"} {
			for _, labels := range []map[string]string{nil, {"zone": "z"}} {
				for _, key := range []string{"", "gpu", v1.TaintNodeUnschedulable, v1.TaintNodeUnreachable, v1.TaintNodeNetworkUnavailable} {
					for _, effect := range []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute, v1.TaintEffectPreferNoSchedule} {
						node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
						if key != "" {
							node.Spec.Taints = []v1.Taint{{Key: key, Effect: effect}}
						}
						run, stay := should(node)
						wantRun, wantStay := daemon.NodeShouldRunDaemonPod(klog.Background(), node, ds)
						if run != wantRun || stay != wantStay {
							t.Errorf("spec %d on %s", i, fmt.Sprint(name, labels, node.Spec.Taints, run, stay, " want ", wantRun, wantStay))
						}
					}
				}
			}
		}
		if len(ds.Spec.Template.Spec.Tolerations) != len(spec.Tolerations) {
			t.Errorf("spec %d: the template has been changed", i)
		}
	}
}
