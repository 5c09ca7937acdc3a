package capacity_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Two nodes that differ only in their names, places and some KiB are one group. With another taint, size, label or price they are two,
// since one cannot replace the other.
func TestGroups(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1.Node)
		want   []string // the groups, with their nodes by zone
	}{
		"nothing":     {func(*v1.Node) {}, []string{"worker a:2"}},
		"the zone":    {func(n *v1.Node) { n.Labels[v1.LabelTopologyZone] = "b" }, []string{"worker a:1 b:1"}},
		"a taint":     {func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}} }, []string{"worker a:1", "worker-2 a:1"}},
		"a cordon":    {func(n *v1.Node) { n.Spec.Unschedulable = true }, []string{"worker a:1", "worker-2 a:1"}},
		"the size":    {func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("8") }, []string{"worker a:1", "worker-2 a:1"}},
		"some KiB":    {func(n *v1.Node) { n.Status.Allocatable[v1.ResourceMemory] = resource.MustParse("15013468Ki") }, []string{"worker a:2"}},
		"some MiB":    {func(n *v1.Node) { n.Status.Allocatable[v1.ResourceMemory] = resource.MustParse("15400000Ki") }, []string{"worker a:1", "worker-2 a:1"}},
		"a label":     {func(n *v1.Node) { n.Labels["disk"] = "ssd" }, []string{"worker a:1", "worker-2 a:1"}},
		"its price":   {func(n *v1.Node) { n.Annotations = map[string]string{topology.PriceAnnotation: "2"} }, []string{"worker a:1", "worker-2 a:1"}},
		"its own key": {func(n *v1.Node) { n.Labels["node-name"] = n.Name }, []string{"worker a:2"}},
	} {
		var nodes []cluster.Object
		for _, node := range []string{"worker-1", "worker-2"} {
			nodes = append(nodes, &v1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{v1.LabelHostname: node, v1.LabelTopologyZone: "a"}},
				Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("15013440Ki")}},
			})
		}
		test.change(nodes[1].(*v1.Node))
		groups, err := capacity.Groups(&scenario.Scenario{Cluster: nodes})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, group := range groups {
			says := group.Name
			for _, zone := range group.Zones {
				says += " " + zone.Name + ":" + string(rune('0'+len(zone.Nodes)))
			}
			got = append(got, says)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
}

// The largest pod fits on the plain node: of its 4 CPUs 3 are requested, one of them by a pod that has ended, so 2 are free. The other
// nodes are larger and take no pod: one is tainted, one is cordoned, and one has no place for a further pod. Of two nodes with the most
// memory, the first is named.
func TestLargestPods(t *testing.T) {
	node := func(name, cpu, pods string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("4Gi"), v1.ResourcePods: resource.MustParse(pods)}}}
	}
	pod := func(name, node, cpu string, phase v1.PodPhase) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.PodStatus{Phase: phase}, Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{
			{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}}}
	}
	tainted, cordoned := node("tainted", "16", "10"), node("cordoned", "16", "10")
	tainted.Spec.Taints = []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}}
	cordoned.Spec.Unschedulable = true
	state := (&cluster.State{}).With(tainted, cordoned, node("crowded", "16", "1"), node("plain", "4", "2"), node("twin", "1", "2"),
		pod("a", "plain", "2", v1.PodRunning), pod("b", "plain", "1", v1.PodSucceeded), pod("c", "crowded", "1", v1.PodRunning))
	want := []capacity.Pod{
		{By: v1.ResourceCPU, Node: "plain", CPU: 2, Memory: 4 << 30},
		{By: v1.ResourceMemory, Node: "plain", CPU: 2, Memory: 4 << 30},
	}
	if diff := cmp.Diff(want, capacity.LargestPods(state)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of 12 CPUs 2 are requested, and a unit takes 3: three more units fit. Of a fourth unit only one pod would have a node, so it does not
// fit.
func TestAUnitFitsWhole(t *testing.T) {
	result := run(t, three, deployment("web", 1, "1", "1Gi", ""), deployment("api", 1, "1", "1Gi", ""))
	got := findAnswers(t, result, nil, []string{"deployment/web=2,deployment/api=1"}, capacity.Options{})
	if diff := cmp.Diff([]string{"deployment/web=2,deployment/api=1 3 cpu on 3"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
