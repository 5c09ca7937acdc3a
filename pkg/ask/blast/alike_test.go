package blast

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/engine/node"
)

// Two nodes of one zone have a replica of web each, of 600m. Since they were placed n2 has changed, so that it takes no other replica:
// what n1 loses is stranded. n1 still has room, and takes what n2 loses. Nodes that differ so must not stand for each other.
func TestNodesThatDifferAreLookedAtApart(t *testing.T) {
	base := settle(t, nodeIn("n1", "z"), nodeIn("n2", "z"), pods("Deployment", "web", 2, "600m", "nodeSelector: {topology.kubernetes.io/zone: z},"))
	for name, change := range map[string]func(*v1.Node){
		"a taint":  func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}} },
		"a cordon": func(n *v1.Node) { n.Spec.Unschedulable = true },
		"no room":  func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("1") },
		"a label":  func(n *v1.Node) { n.Labels[zone] = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			changed := base.Node("n2").DeepCopy()
			change(changed)
			got := map[string]outcome{}
			for _, failure := range recovered(t, base.With(changed), Options{Levels: []string{v1.LabelHostname}, Mode: node.Deleted}).Levels[0].Failures {
				got[failure.Nodes[0]] = of(failure.Recovery)
			}
			want := map[string]outcome{"n1": {Lost: 1, Stranded: 1}, "n2": {Lost: 1, Recovered: 1}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Three equal nodes: n1 has a replica of db, which may be nowhere else, and n2 one of web, which may be anywhere. What n1 loses is
// stranded, what n2 loses is not.
func TestNodesWithOtherPodsAreLookedAtApart(t *testing.T) {
	state := settle(t, nodeIn("n1", "z"), nodeIn("n2", "z"), nodeIn("n3", "z"),
		pods("Deployment", "db", 1, "2", "nodeSelector: {kubernetes.io/hostname: n1},"), // the whole node
		pods("Deployment", "web", 1, "1", "nodeSelector: {topology.kubernetes.io/zone: z},"))
	got := map[string]outcome{}
	for _, failure := range recovered(t, state, Options{Levels: []string{v1.LabelHostname}, Mode: node.Deleted}).Levels[0].Failures {
		got[failure.Nodes[0]] = of(failure.Recovery)
	}
	want := map[string]outcome{"n1": {Lost: 1, Stranded: 1}, "n2": {Lost: 1, Recovered: 1}, "n3": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Node a, in zone za, has a pod of low and one of high, which would rather be there; b has 1 CPU left. When a stops answering, the pod of
// low leaves it after 10 s and another one gets b's room. The pod of high leaves after 300 s, and the other one for it drives that one out
// again, which is no loss of the failure: it was not there before. So of the two lost pods one is recovered, and for low a third pod
// waits.
func TestAReplacementThatIsPreemptedIsNotRecovered(t *testing.T) {
	const there = "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [za]}]}}]}},"
	state := settle(t, nodeIn("a", "za"), nodeIn("b", "zb"),
		"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}",
		pods("Deployment", "firm", 1, "1", "priorityClassName: high, nodeSelector: {topology.kubernetes.io/zone: zb},"),
		pods("Deployment", "high", 1, "1", "priorityClassName: high, "+there),
		pods("Deployment", "low", 1, "1", "tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 10}], "+there))
	failure := recovered(t, state, Options{Levels: []string{zone}, Mode: node.Unreachable}).Levels[0].Failures[0]
	if diff := cmp.Diff(outcome{Lost: 2, Recovered: 1, Stranded: 1}, of(failure.Recovery)); diff != "" {
		t.Errorf("recovery (-want +got):\n%s", diff)
	}
	if app := failure.Recovery.Recovered[0].Pod.Labels["app"]; app != "high" {
		t.Errorf("a pod of %s is recovered, want one of high", app)
	}
}

// Both pods of the StatefulSet were on a. There is no room for either elsewhere: db-0 is made again and stays Pending, and db-1 has to wait
// for it, so that nobody replaces that one.
func TestThePodThatIsNotReplaced(t *testing.T) {
	state := settle(t, nodeIn("a", "za"), nodeIn("b", "zb"),
		pods("Deployment", "firm", 1, "2", "nodeSelector: {topology.kubernetes.io/zone: zb},"), pods("StatefulSet", "db", 2, "1", ""))
	got := recovered(t, state, Options{Levels: []string{zone}, Mode: node.Deleted}).Levels[0].Failures[0].Recovery
	if diff := cmp.Diff(outcome{Lost: 2, Stranded: 1, NotReplaced: 1}, of(got)); diff != "" {
		t.Fatalf("recovery (-want +got):\n%s", diff)
	}
	if name := got.NotReplaced[0].Name; name != "db-1" {
		t.Errorf("%s is not replaced, want db-1", name)
	}
}
