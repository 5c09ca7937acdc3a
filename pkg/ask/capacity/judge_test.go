package capacity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// pod returns a pod on the node, or on none for "", whose controller is of this kind, or that has none for "".
func pod(name, kind, node string, phase v1.PodPhase) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{NodeName: node}, Status: v1.PodStatus{Phase: phase}}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "web", Controller: new(true)}}
	}
	return p
}

// One ReplicaSet has 2 pods, and is scaled by 1.
func TestJudge(t *testing.T) {
	web := func(name, node string) *v1.Pod { return pod(name, "ReplicaSet", node, v1.PodRunning) }
	ended := pod("c", "ReplicaSet", "n", v1.PodSucceeded)
	type verdicts struct {
		Stranded, Excess int
		Fits             bool
		Refused, Words   string
	}
	for name, test := range map[string]struct {
		pods      []*v1.Pod
		preempted []*v1.Pod
		want      verdicts
	}{
		"all have nodes":          {pods: []*v1.Pod{web("a", "n"), web("b", "n"), web("c", "n")}, want: verdicts{Fits: true}},
		"the first is named":      {pods: []*v1.Pod{web("a", "n"), web("b", ""), web("c", "")}, want: verdicts{Stranded: 2, Excess: 2, Refused: "b"}},
		"one waited before":       {pods: []*v1.Pod{web("a", "n"), web("b", "n"), web("c", "n"), pod("old", "", "", v1.PodPending)}, want: verdicts{Fits: true}},
		"its own waited before":   {pods: []*v1.Pod{web("a", "n"), web("b", "n"), pod("other", "", "", v1.PodPending), web("old", "")}, want: verdicts{Stranded: 1, Excess: 1, Refused: "old"}},
		"another loses its node":  {pods: []*v1.Pod{web("a", "n"), web("b", "n"), web("c", "n"), pod("lost", "", "", v1.PodPending)}, want: verdicts{Stranded: 1, Excess: 1, Refused: "lost"}},
		"one is not made":         {pods: []*v1.Pod{web("a", "n"), web("b", "n")}, want: verdicts{Stranded: 1, Excess: 1, Words: "1 of the pods asked for are not made"}},
		"one has ended":           {pods: []*v1.Pod{web("a", "n"), web("b", "n"), ended}, want: verdicts{Stranded: 1, Excess: 1, Words: "1 of the pods asked for are not made"}},
		"a bare pod makes room":   {pods: []*v1.Pod{web("a", "n"), web("b", "n"), web("c", "n")}, preempted: []*v1.Pod{pod("bare", "", "n", v1.PodRunning)}, want: verdicts{Excess: 1, Words: "pod bare, which nobody replaces, makes room by preemption"}},
		"a replaced one does too": {pods: []*v1.Pod{web("a", "n"), web("b", "n"), web("c", "n")}, preempted: []*v1.Pod{web("d", "n")}, want: verdicts{Fits: true}},
	} {
		p := &prober{base: &simulation.Result{Steps: make([]simulation.Step, 1)}, pending: map[types.UID]bool{"old": true, "other": true},
			state: &cluster.State{Pods: []*v1.Pod{pod("old", "", "", v1.PodPending), pod("other", "", "", v1.PodPending)}},
			mix:   []Share{{Ref: cluster.Ref{Kind: "ReplicaSet", Name: "web"}, Proportion: 1, Now: 2}}}
		step := simulation.Step{State: &cluster.State{Pods: test.pods}}
		for _, of := range test.pods {
			if of.Spec.NodeName == "" {
				step.Pending = append(step.Pending, placement.Pending{Pod: of})
			}
		}
		for _, victim := range test.preempted {
			step.Preempted = append(step.Preempted, placement.Preemption{Victim: victim})
		}
		v := p.judge(&simulation.Result{Steps: []simulation.Step{step}}, 1)
		got := verdicts{Stranded: v.stranded, Excess: v.excess, Fits: v.fits, Words: v.why}
		if v.firstPending != nil {
			got.Refused = v.firstPending.Pod.Name
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The loss of a zone takes two pods that nothing replaces, which need no room, and pods that live and die with its node.
func TestSurvives(t *testing.T) {
	config, err := sched.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.NewCluster(config, sched.Ties{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	state := &cluster.State{Pods: []*v1.Pod{pod("bare", "", "a", v1.PodRunning), pod("agent", "DaemonSet", "a", v1.PodRunning), pod("static", "Node", "a", v1.PodRunning),
		pod("db", "StatefulSet", "a", v1.PodRunning)}}
	for _, name := range []string{"a", "b"} {
		state.Nodes = append(state.Nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: name}}})
	}
	v, err := losses{level: v1.LabelTopologyZone, mode: node.Unreachable, recoverer: recoverIn(w)}.judge(t.Context(), &simulation.Step{State: state})
	if err != nil {
		t.Fatal(err)
	}
	if !v.fits || v.unreplaced != 2 {
		t.Errorf("fits %t, %d not replaced; want true, and the bare pod and that of the StatefulSet", v.fits, v.unreplaced)
	}
}

// Every kind of refusal, the most nodes first. Two nodes failed, and have a taint because of that.
func TestBindings(t *testing.T) {
	term := func(key string) v1.PodAffinityTerm {
		return v1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}
	}
	refused := &placement.Pending{Pod: &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{
		PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term("rack")},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term("hall")}}},
		PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term("zone")}},
	}}}}
	for _, reason := range [][2]string{
		{"NodeResourcesFit", "Insufficient cpu"}, {"NodeResourcesFit", "Insufficient memory"}, {"NodeResourcesFit", "Insufficient example.com/gpu"},
		{"NodeResourcesFit", "Too many pods"}, {"TaintToleration", "untolerated taint {gpu: }"}, {"TaintToleration", "untolerated taint {unreachable: }"},
		{"NodeUnschedulable", "unschedulable"}, {"NodePorts", "no free ports"}, {"InterPodAffinity", "didn't satisfy existing pods anti-affinity rules"},
		{"InterPodAffinity", "didn't match pod anti-affinity rules"}, {"InterPodAffinity", "didn't match pod affinity rules"},
		{"PodTopologySpread", "didn't match pod topology spread constraints"}, {"VolumeZone", "no available volume zone"}, {"Unknown", "no"},
	} {
		refused.Reasons = append(refused.Reasons, placement.Reason{Plugin: reason[0], Message: reason[1], Nodes: 1})
	}
	refused.Reasons[0].Nodes, refused.Reasons[5].Nodes = 2, 2
	var got []string
	for _, b := range bindings(refused, 2) {
		got = append(got, b.Kind+": "+b.What)
	}
	want := []string{
		"cpu: cpu", "taint: the failure itself", "memory: memory", "resource: example.com/gpu", "pods: the number of pods a node takes", "taint: a taint",
		"node: a cordon", "port: the host port", "rule: the required anti-affinity of pods that are there",
		"rule: required anti-affinity over rack", "rule: required affinity over zone",
		"rule: didn't match pod topology spread constraints", "volume: no available volume zone", "other: no",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := bindings(&placement.Pending{Message: "gated"}, 0); len(got) != 1 || got[0].What != "gated" {
		t.Errorf("of a pod that no node refused: %v", got)
	}
}

// Each node has 4 free cores, 3 pods and 2 of each of three other resources, some of which a pod on n3 takes. In the full cluster, one more
// pod of 1 core is on n1.
func TestHeadroomByNode(t *testing.T) {
	worker := func(name string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			"cpu": resource.MustParse("4"), "pods": resource.MustParse("3"), "b.example.com": resource.MustParse("2"), "a.example.com": resource.MustParse("2"), "c.example.com": {}, "d.example.com": resource.MustParse("2")}}}
	}
	asks := func(of *v1.Pod, list v1.ResourceList) *v1.Pod {
		of.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: list}}}
		return of
	}
	now := &cluster.State{Nodes: []*v1.Node{worker("n1"), worker("n2"), worker("n3")}, Pods: []*v1.Pod{
		asks(pod("a", "", "n3", v1.PodRunning), v1.ResourceList{"a.example.com": resource.MustParse("1"), "b.example.com": resource.MustParse("1")})}}
	full := now.With(asks(pod("b", "", "n1", v1.PodRunning), v1.ResourceList{"cpu": resource.MustParse("1")}))
	cycle := &placement.Cycle{Refusals: []placement.Refusal{
		{Plugin: "NodeResourcesFit", Message: "Insufficient cpu", Nodes: []string{"n1"}},
		{Plugin: "NodeResourcesFit", Message: "Too many pods, Insufficient a.example.com", Nodes: []string{"n2"}},
		{Plugin: "NodeAffinity", Message: "no", Nodes: []string{"n3"}},
	}}
	want := []Headroom{
		{Resource: "cpu", Allocatable: 12, Free: 12, Used: 1, TooSmall: 3, OtherShort: 4, Refused: 4},
		{Resource: "pods", Allocatable: 9, Requested: 1, Free: 8, Used: 1, TooSmall: 3, OtherShort: 2, Refused: 2},
		{Resource: "a.example.com", Allocatable: 6, Requested: 1, Free: 5, TooSmall: 2, OtherShort: 2, Refused: 1},
		{Resource: "b.example.com", Allocatable: 6, Requested: 1, Free: 5, OtherShort: 4, Refused: 1},
	}
	if diff := cmp.Diff(want, computeHeadroom(now, full, cycle)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range want {
		want[i].TooSmall, want[i].OtherShort, want[i].Refused = 0, 0, 0
	}
	if diff := cmp.Diff(want, computeHeadroom(now, full, nil)); diff != "" {
		t.Errorf("without verdicts (-want +got):\n%s", diff)
	}
}
