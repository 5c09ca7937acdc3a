package capacity_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/cluster"
)

// idleNode returns a node of the group with 4 CPU, 8Gi and places for 3 pods.
func idleNode(name, group string, change func(*v1.Node)) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"node-pool": group}}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("3")}}}
	if change != nil {
		change(node)
	}
	return node
}

// podOn returns a pod of the owner on a node, with these requests.
func podOn(node, kind, owner, cpu, memory string, change func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: owner + "-" + node, Namespace: "default", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: new(true)}}}, Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}}}}}}
	if change != nil {
		change(pod)
	}
	return pod
}

// A further pod of web requests 1 CPU and 2Gi, and one of big 2 CPU and 1Gi. The nodes of 4 CPU and 8Gi:
//
//	open    1 CPU and 2Gi are requested; 3 CPU and 6Gi are free, and web fits: nothing is stranded
//	memory  1 CPU and 7.5Gi are requested; no pod can use the 3 free CPU without memory, and 0.5Gi of memory is too little
//	cpu     3.5 CPU and 2Gi; 0.5 free CPU is too little, and no pod can use the 6 free Gi without CPU
//	full    pods of 0.7, 0.7 and 0.1 CPU and 1Gi each, the 3 pods that it takes: 2.5 CPU and 5Gi are free, with no place for a pod
//	taint   only the agent runs there, with 0.5 CPU and 1Gi: 3.5 CPU and 7Gi are behind the taint
//	cordon  no pods: 4 CPU and 8Gi are free, and the node takes no pods
//
// The node open has room for a further pod of web, small, small2 and big, but not for 7.5Gi or 3.5 CPU. Free are 3 + 3 + 0.5 + 2.5 + 3.5 +
// 4 = 16.5 CPU, of which 13.5 are stranded, and 6 + 0.5 + 6 + 5 + 7 + 8 = 32.5Gi, of which 26.5Gi are stranded.
func TestStranded(t *testing.T) {
	state := &cluster.State{
		Nodes: []*v1.Node{
			idleNode("open", "general", nil), idleNode("memory", "general", nil), idleNode("cpu", "general", nil), idleNode("full", "general", nil),
			idleNode("taint", "tainted", func(node *v1.Node) {
				node.Spec.Taints = []v1.Taint{{Key: "dedicated", Value: "x", Effect: v1.TaintEffectNoSchedule}}
			}),
			idleNode("cordon", "old", func(node *v1.Node) { node.Spec.Unschedulable = true }),
		},
		Pods: []*v1.Pod{
			podOn("open", "StatefulSet", "web", "1", "2Gi", nil), podOn("memory", "StatefulSet", "large", "1", "7680Mi", nil), podOn("cpu", "StatefulSet", "heavy", "3500m", "2Gi", nil),
			podOn("full", "StatefulSet", "small", "700m", "1Gi", nil), podOn("full", "StatefulSet", "small2", "700m", "1Gi", nil), podOn("full", "DaemonSet", "agent", "100m", "1Gi", nil),
			podOn("taint", "DaemonSet", "agent", "500m", "1Gi", nil),
			podOn("", "StatefulSet", "big", "2", "1Gi", func(pod *v1.Pod) { pod.Status.Phase = v1.PodPending }),
		},
	}
	got, err := capacity.FindStranded(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	const gi = 1 << 30
	want := capacity.Idle{Nodes: 6, Members: state.Nodes, UsableBy: 4,
		CPU: capacity.Spare{Allocatable: 24, DaemonSets: 0.6, Free: 16.5, Stranded: 13.5, Reasons: []capacity.StrandedBy{
			{Why: capacity.TakesNoPods, Amount: 4}, {Why: capacity.BehindTaints, Amount: 3.5}, {Why: capacity.WithoutMemory, Amount: 3},
			{Why: capacity.NoPodsLeft, Amount: 2.5}, {Why: capacity.TooLittle, Amount: 0.5}}},
		Memory: capacity.Spare{Allocatable: 48 * gi, DaemonSets: 2 * gi, Free: 32.5 * gi, Stranded: 26.5 * gi, Reasons: []capacity.StrandedBy{
			{Why: capacity.TakesNoPods, Amount: 8 * gi}, {Why: capacity.BehindTaints, Amount: 7 * gi}, {Why: capacity.WithoutCPU, Amount: 6 * gi},
			{Why: capacity.NoPodsLeft, Amount: 5 * gi}, {Why: capacity.TooLittle, Amount: 0.5 * gi}}}}
	if diff := cmp.Diff(want, got.All); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var groups []string
	for _, g := range got.Groups {
		groups = append(groups, g.Group)
	}
	if diff := cmp.Diff([]string{"general", "tainted", "old"}, groups); diff != "" || got.Groups[0].CPU.Stranded != 6 || got.Groups[1].CPU.DaemonSets != 0.5 {
		t.Errorf("groups (-want +got)\n%s%+v", diff, got.Groups)
	}
	if got.Workloads != 6 {
		t.Errorf("%d workloads, want web, large, heavy, small, small2 and big", got.Workloads)
	}
}

// One node has labels that no workload selects, and another lacks only a device, for the one workload that can be there.
func TestStrandedElsewhere(t *testing.T) {
	gpu := func(pod *v1.Pod) {
		pod.Spec.NodeSelector = map[string]string{"node-pool": "gpu"}
		pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	}
	state := &cluster.State{
		Nodes: []*v1.Node{
			idleNode("other", "other", nil),
			idleNode("gpu", "gpu", func(node *v1.Node) { node.Status.Allocatable["example.com/gpu"] = resource.MustParse("1") }),
		},
		Pods: []*v1.Pod{podOn("gpu", "StatefulSet", "learn", "1", "1Gi", gpu)},
	}
	got, err := capacity.FindStranded(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []capacity.StrandedBy{{Why: capacity.NotSelected, Amount: 4}, {Why: capacity.WithoutAnother, Amount: 3}}
	if diff := cmp.Diff(want, got.All.CPU.Reasons); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
