package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ran returns the result of one step on nodes a-1, a-2, b-1 and n-1, which has no zone and a taint. web, a Deployment of 5, has pods on
// a-1, a-1 and b-1, one that waits, and one on a-2 that is being deleted. Of the pods without an owner, one runs on n-1, one is gated, and
// one has ended.
func ran(t *testing.T) *simulation.Result {
	t.Helper()
	nodes := reporttest.Nodes("a-1", "a-2", "b-1", "n-1")
	delete(nodes[3].Labels, v1.LabelTopologyZone)
	nodes[3].Spec = v1.NodeSpec{Unschedulable: true, Taints: []v1.Taint{{Key: "dedicated", Value: "batch", Effect: v1.TaintEffectNoSchedule}}}
	nodes[3].Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
	r := reporttest.Result(t, nodes, "apply")
	r.Notes = []string{"A note of the run."}

	replicas, yes := int32(5), true
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web"}, Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1", UID: "set", OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "web", Controller: &yes}}}}
	pod := func(name, node, owner string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{NodeName: node, Containers: make([]v1.Container, 2)}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: "set", Controller: &yes}}
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{TopologyKey: v1.LabelTopologyZone, MaxSkew: 1}}
		}
		return p
	}
	ending := pod("web-1-e", "a-2", "web-1")
	ending.DeletionTimestamp = &metav1.Time{}
	gated := pod("gated", "", "")
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/quota"}}
	ended := pod("ended", "a-1", "")
	ended.Status.Phase = v1.PodSucceeded
	lost := pod("bare", "n-1", "")
	lost.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}
	pods := []*v1.Pod{pod("web-1-a", "a-1", "web-1"), lost, pod("web-1-b", "a-1", "web-1"), pod("web-1-c", "b-1", "web-1"), pod("web-1-d", "", "web-1"), ending, gated, ended}

	step := &r.Steps[0]
	step.State = &cluster.State{Nodes: nodes, Deployments: []*appsv1.Deployment{web}, ReplicaSets: []*appsv1.ReplicaSet{set}, Pods: pods}
	step.Placed = []placement.Placement{
		{Pod: pods[0], Node: "a-1", Decision: placement.Decision{Feasible: 3, Scored: 3, Ties: 1, Margin: 40, RunnerUp: "b-1",
			Scores: []placement.Score{{Plugin: "Fit", Weighted: 50, Ahead: -10}, {Plugin: "Spread", Weighted: 150, Ahead: 50}}, Deciders: []string{"Spread"}}},
		{Pod: pods[2], Node: "a-1", Decision: placement.Decision{Feasible: 1}},
	}
	step.Pending = []placement.Pending{{Pod: pods[4], Message: "0/4 nodes are available: 4 Insufficient cpu.", Reasons: []placement.Reason{{Plugin: "NodeResourcesFit", Message: "Insufficient cpu", Nodes: 4}}}}
	step.Preempted = []placement.Preemption{{Victim: pod("old", "b-1", ""), For: pods[3], Node: "b-1"}}
	step.Rollouts = []controller.Rollout{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}, Desired: 5, Updated: 3, Old: 1, Ready: 3, NotCreated: []string{"web-1-f"}, Waiting: "web-1-d waits for a node"}}
	step.Notes = []string{"A note of the step."}
	return r
}

func newReport(t *testing.T) *Report {
	t.Helper()
	judged := [][]expect.Judged{{
		{Want: "0 pods Pending", Got: "1 pod Pending", Why: "no room", Source: &manifest.Place{File: "scenario.yaml", Line: 9}},
		{Want: "web runs", Got: "it does", Met: true},
	}}
	return New(ran(t), judged, "v0.1.0")
}

// By hand: of the 7 pods that have not ended, one is being deleted, 3 run, 2 wait, and 1 is on a lost node.
func TestNew(t *testing.T) {
	r := newReport(t)
	reporttest.Golden(t, "new/report.json", reporttest.Write(t, Formats, r, "json", report.Options{}))
	reporttest.Golden(t, "new/report.text", reporttest.Write(t, Formats, r, "wide", report.Options{All: true}))
	s := r.Steps[0]
	if want := (Summary{Pods: 6, Running: 3, Pending: 2, NotReady: 1, Terminating: 1, Placed: 2, Preempted: 1}); s.Summary != want {
		t.Errorf("%+v, want %+v", s.Summary, want)
	}
	if diff := cmp.Diff([]string{v1.LabelTopologyZone}, s.TopologyKeys); diff != "" {
		t.Errorf("topology keys (-want +got):\n%s", diff)
	}
	type row struct{ Name, Ready, Status, Node, Workload, Zone string }
	var got []row
	for _, p := range s.Pods {
		got = append(got, row{p.Name, p.Ready, p.Status, p.Node, p.Workload, p.Topology[v1.LabelTopologyZone]})
	}
	want := []row{ // workload by workload, in order of arrival
		{"web-1-a", "2/2", "Running", "a-1", "deployment/web", "a"}, {"web-1-b", "2/2", "Running", "a-1", "deployment/web", "a"},
		{"web-1-c", "2/2", "Running", "b-1", "deployment/web", "b"}, {"web-1-d", "0/2", "Pending", "", "deployment/web", ""},
		{"web-1-e", "0/2", "Terminating", "a-2", "deployment/web", "a"}, {"bare", "0/2", "NotReady", "n-1", "", ""},
		{"gated", "0/2", "SchedulingGated", "", "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	web := s.Workloads[0]
	if web.Desired != 5 || web.Running != 3 || web.Pending != 1 || !cmp.Equal(web.NotCreated, []string{"web-1-f"}) {
		t.Errorf("%+v", web)
	}
	if diff := cmp.Diff([]Distribution{{TopologyKey: v1.LabelTopologyZone, Counts: []Count{{"a", 2}, {"b", 1}}, Skew: 1}}, web.Domains); diff != "" {
		t.Errorf("distribution (-want +got):\n%s", diff)
	}
	decision := &placement.Decision{Feasible: 3, Scored: 3, Ties: 1, Margin: 40, RunnerUp: "b-1", Deciders: []string{"Spread"},
		Scores: []placement.Score{{Plugin: "Fit", Weighted: 50, Ahead: -10}, {Plugin: "Spread", Weighted: 150, Ahead: 50}}}
	if diff := cmp.Diff(decision, s.Pods[0].Decision); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	if n := r.Nodes[3]; !n.Unschedulable || !n.NotReady || n.CPU != 4 || n.Memory != 8<<30 || !cmp.Equal(n.Taints, []string{"dedicated=batch:NoSchedule"}) {
		t.Errorf("%+v", n)
	}
	if diff := cmp.Diff(report.Cluster{Nodes: 4, Levels: []report.Level{{TopologyKey: v1.LabelTopologyZone, Domains: 2, Unlabelled: 1}, {TopologyKey: v1.LabelHostname, Domains: 4}}}, r.Cluster); diff != "" {
		t.Errorf("cluster (-want +got):\n%s", diff)
	}
	if r.Met() || s.Nodes != nil {
		t.Error("an unmet expectation is met, or nodes are listed that did not change")
	}
}

// kubectl's columns for a pod, by its node, its conditions and its deletion.
func TestPodStatus(t *testing.T) {
	condition := func(kind v1.PodConditionType, status v1.ConditionStatus) []v1.PodCondition {
		return []v1.PodCondition{{Type: kind, Status: status}}
	}
	for name, test := range map[string]struct {
		node       string
		conditions []v1.PodCondition
		deleted    bool
		want       string
	}{
		"ready":               {"a-1", condition(v1.PodReady, v1.ConditionTrue), false, "Running"},
		"unknown":             {"a-1", condition(v1.PodReady, v1.ConditionUnknown), false, "NotReady"},
		"another condition":   {"a-1", condition(v1.ContainersReady, v1.ConditionFalse), false, "Running"},
		"waiting":             {"", condition(v1.PodReady, v1.ConditionFalse), false, "Pending"},
		"waiting and deleted": {"", nil, true, "Pending"},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{NodeName: test.node}, Status: v1.PodStatus{Conditions: test.conditions}}
		if test.deleted {
			pod.DeletionTimestamp = &metav1.Time{}
		}
		v := newView(&simulation.Step{State: &cluster.State{Nodes: reporttest.Nodes("a-1"), Pods: []*v1.Pod{pod}}}, nil)
		v.keys = []string{v1.LabelTopologyZone, v1.LabelHostname}
		got := v.pod(pod)
		if got.Status != test.want || (len(got.Topology) == 2) != (test.node != "") {
			t.Errorf("%s: %s in %v, want %s, and the labels of its node", name, got.Status, got.Topology, test.want)
		}
	}
}

// Pods without rules are counted over all levels. Nodes are listed if they changed, and rollouts and drains if they do not end.
func TestNewWithoutRules(t *testing.T) {
	nodes := reporttest.Nodes("a-1", "b-1")
	r := reporttest.Result(t, nodes, "apply")
	r.Steps[0].State = &cluster.State{Nodes: nodes[:1], Pods: []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "bare"}, Spec: v1.PodSpec{NodeName: "a-1"}}}}
	r.Steps[0].Rollouts = []controller.Rollout{{Desired: 1, Updated: 1, Ready: 1, Complete: true}}
	r.Steps[0].Drained = []world.DrainedNode{{Node: "b-1", Ends: true}}
	report := New(r, [][]expect.Judged{{{Met: true}}}, "v0.1.0")
	step := report.Steps[0]
	if len(step.Nodes) != 1 || len(step.Rollouts)+len(step.Drains) != 0 || len(step.Workloads[0].Domains) != 2 || !report.Met() {
		t.Errorf("met %t; want 1 node, no rollout, no drain and 2 levels in\n%+v", report.Met(), step)
	}
}

// Rules about domains of the same rank keep their order: spread constraints, then affinity.
func TestTopologyKeys(t *testing.T) {
	term := func(key string) v1.PodAffinityTerm { return v1.PodAffinityTerm{TopologyKey: key} }
	p := &v1.Pod{Spec: v1.PodSpec{
		TopologySpreadConstraints: []v1.TopologySpreadConstraint{{TopologyKey: "unknown"}, {TopologyKey: v1.LabelHostname}},
		Affinity: &v1.Affinity{
			PodAffinity:     &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term("other")}},
			PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{PodAffinityTerm: term(v1.LabelTopologyZone)}, {PodAffinityTerm: term("other")}}},
		},
	}}
	got := topologyKeys(&cluster.State{Nodes: reporttest.Nodes("a-1"), Pods: []*v1.Pod{p}})
	if diff := cmp.Diff([]string{v1.LabelTopologyZone, v1.LabelHostname, "unknown", "other"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// By hand: two pods of 750m are charged to a quota. It also limits configmaps, which are not counted.
func TestNewStatuses(t *testing.T) {
	result := ran(t)
	pod := func(name string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PodSpec{Containers: []v1.Container{{
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("750m")}},
		}}}}
	}
	left := resource.MustParse("90Gi")
	result.Steps[0].State = &cluster.State{
		Pods: []*v1.Pod{pod("one"), pod("two")},
		ResourceQuotas: []*v1.ResourceQuota{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}, Spec: v1.ResourceQuotaSpec{Hard: v1.ResourceList{
			v1.ResourceRequestsCPU: resource.MustParse("2"), v1.ResourcePods: resource.MustParse("3"), v1.ResourceConfigMaps: resource.MustParse("1"),
		}}}},
		PodGroups: []*schedulingv1beta1.PodGroup{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train"}, Status: schedulingv1beta1.PodGroupStatus{
			Conditions: []metav1.Condition{{Type: "PodGroupInitiallyScheduled", Status: metav1.ConditionTrue, Reason: "Scheduled"}},
		}}},
		CSIStorageCapacities: []*storagev1.CSIStorageCapacity{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "c-a"}, StorageClassName: "zonal", Capacity: &left,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}},
		}},
	}
	step := New(result, make([][]expect.Judged, 1), "").Steps[0]
	got := Step{PodGroups: step.PodGroups, Quotas: step.Quotas, StorageCapacities: step.StorageCapacities}
	want := Step{
		PodGroups:         []PodGroup{{Namespace: "default", Name: "train", Conditions: []Condition{{Type: "PodGroupInitiallyScheduled", Status: "True", Reason: "Scheduled"}}}},
		Quotas:            []Quota{{Namespace: "default", Name: "q", Resources: []Limited{{"pods", "2", "3"}, {"requests.cpu", "1500m", "2"}}}},
		StorageCapacities: []StorageCapacity{{Namespace: "kube-system", Name: "c-a", StorageClass: "zonal", Nodes: "zone=a", Capacity: "90Gi"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if other := New(report.InNamespace(result, "other"), make([][]expect.Judged, 1), "").Steps[0]; len(other.Quotas)+len(other.PodGroups) > 0 {
		t.Errorf("quotas %v and pod groups %v are of another namespace", other.Quotas, other.PodGroups)
	}
}

// A step that is kept alone keeps its number, and has the nodes and declarations that it shares with the steps before it.
func TestKeepStep(t *testing.T) {
	nodes := []report.Node{{Name: "a"}}
	declared := []report.Declared{{}}
	r := &Report{Nodes: []report.Node{{Name: "old"}}, Answer: "Yes", Steps: []Step{{Name: "one", Nodes: nodes, Declared: declared}, {Name: "two"}, {Name: "three"}}}
	r.KeepStep("two")
	want := &Report{Nodes: nodes, Steps: []Step{{Name: "two", Declared: declared}}, Skipped: 1, All: 3}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	reporttest.CheckLines(t, write(t, r, "text", report.Options{}), "Step 2/3 two")
}

// The description of a step is written with a line for each paragraph and each item.
func TestDescriptionOfAStep(t *testing.T) {
	r := &Report{Steps: []Step{{Name: "one", Description: "A paragraph\nof two lines.\n\nThen:\n- an item\n  of two lines\n- another one\n"}}}
	reporttest.CheckLines(t, write(t, r, "text", report.Options{}), "A paragraph of two lines.", "Then:", "- an item of two lines", "- another one")
}
