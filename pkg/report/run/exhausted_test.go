package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Pods of another namespace do not count for an anti-affinity term: with one pod of each namespace in its own zone, the other zone is free
// for both.
func TestExhaustedByPodsOfTheNamespace(t *testing.T) {
	labels := map[string]string{"app": "web"}
	pod := func(namespace, name, node string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Spec: v1.PodSpec{NodeName: node, Affinity: &v1.Affinity{
			PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
				{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}}}}}
	}
	state := &cluster.State{}
	for _, name := range []string{"n1", "n2"} {
		state.Nodes = append(state.Nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}})
	}
	next := pod("default", "next", "")
	for namespace, want := range map[string][]string{"shop": nil, "default": {"n1", "n2"}} {
		state.Pods = []*v1.Pod{pod("default", "a", "n1"), pod(namespace, "b", "n2")}
		if _, got := findExhaustedTerm(next, state); cmp.Diff(want, got) != "" {
			t.Errorf("with a pod of namespace %s: exhausted are %v, want %v", namespace, got, want)
		}
	}
}

// A pod that its own term does not select may have a domain beside any number of such pods, also right after a pod that the term selects.
func TestExhaustedForEachPod(t *testing.T) {
	web := map[string]string{"app": "web"}
	pod := func(name, node string, labels map[string]string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}, Spec: v1.PodSpec{NodeName: node, Affinity: &v1.Affinity{
			PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
				{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: web}}}}}}}
	}
	terms := exhaustedTerms{state: &cluster.State{
		Nodes: []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{v1.LabelHostname: "n1"}}}},
		Pods:  []*v1.Pod{pod("a", "n1", web)},
	}}
	for _, c := range []struct {
		pod  *v1.Pod
		want string
	}{{pod("b", "", web), v1.LabelHostname}, {pod("c", "", web), v1.LabelHostname}, {pod("d", "", map[string]string{"app": "other"}), ""}, {pod("e", "", web), v1.LabelHostname}} {
		if key, _ := terms.find(c.pod); key != c.want {
			t.Errorf("pod %s: the term over %q is exhausted, want %q", c.pod.Name, key, c.want)
		}
	}
}
