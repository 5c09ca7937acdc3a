package sched

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

const (
	hostname = v1.LabelHostname
	zone     = v1.LabelTopologyZone
	region   = v1.LabelTopologyRegion
)

// walkthrough is the cluster of the kind walkthrough: a tainted control plane and three workers, two of them in one region.
func walkthrough() *cluster.State {
	control := node("affinity-control-plane", nil)
	control.Spec.Taints = []v1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: v1.TaintEffectNoSchedule}}
	return (&cluster.State{Now: cluster.Epoch}).With(
		control,
		node("w1", map[string]string{zone: "west-1a", region: "west"}),
		node("w2", map[string]string{zone: "west-1c", region: "west"}),
		node("w3", map[string]string{zone: "east-1b", region: "east"}),
	)
}

func node(name string, labels map[string]string) *v1.Node {
	all := map[string]string{hostname: name}
	for key, value := range labels {
		all[key] = value
	}
	resources := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("16Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: all},
		Status:     v1.NodeStatus{Capacity: resources, Allocatable: resources},
	}
}

// replicas returns a ReplicaSet and n of its pods with the affinity, each requesting 50m and 128Mi.
func replicas(name string, n int, affinity *v1.Affinity) (*appsv1.ReplicaSet, []*v1.Pod) {
	labels := map[string]string{"app": name}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	var pods []*v1.Pod
	for i := range n {
		id := fmt.Sprintf("%s-%d", name, i)
		pods = append(pods, &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: id, Namespace: "default", UID: types.UID(id), Labels: labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
			},
			Spec: v1.PodSpec{
				SchedulerName: v1.DefaultSchedulerName,
				Affinity:      affinity,
				Containers: []v1.Container{{Name: "c", Image: "pause", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
					v1.ResourceCPU: resource.MustParse("50m"), v1.ResourceMemory: resource.MustParse("128Mi"),
				}}}},
			},
		})
	}
	return set, pods
}

func apart(app, key string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, TopologyKey: key}
}

func hard(app, key string) *v1.Affinity {
	return &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart(app, key)}}}
}

func soft(app string, weights map[string]int32, keys ...string) *v1.Affinity {
	anti := &v1.PodAntiAffinity{}
	for _, key := range keys {
		anti.PreferredDuringSchedulingIgnoredDuringExecution = append(anti.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.WeightedPodAffinityTerm{Weight: weights[key], PodAffinityTerm: apart(app, key)})
	}
	return &v1.Affinity{PodAntiAffinity: anti}
}

func newEngine(t *testing.T, ties Ties) *Engine {
	t.Helper()
	config, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := NewEngine(config, ties)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return engine
}

func place(t *testing.T, ties Ties, state *cluster.State, set *appsv1.ReplicaSet, pods []*v1.Pod) *placement.Result {
	t.Helper()
	state = state.With(set)
	for _, pod := range pods {
		state = state.With(pod)
	}
	result, err := newEngine(t, ties).Place(t.Context(), state, pods)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// The scores are computed by hand. With the first pod on w1, its term and the second pod's own term of weight 100 cost the west 200, which
// normalises to 0, 0, 100 and counts twice; default spreading gives 66 or 100, twice; the resources give every worker 171, and tolerating
// all taints 300.
func TestScoresOfTheWalkthrough(t *testing.T) {
	set, pods := replicas("web", 3, soft("web", map[string]int32{region: 100}, region))
	result := place(t, Ties{}, walkthrough(), set, pods)

	type row struct {
		Node         string
		Ties         int
		Margin       int64
		Deciders     []string
		Without      int
		Interpod     int64
		RunnerUp     string
		Feasible     int
		RefusedTaint int
	}
	var got []row
	for _, p := range result.Placed {
		r := row{Node: p.Node, Ties: p.Ties, Margin: p.Margin, Deciders: p.Deciders, Without: p.Without, RunnerUp: p.RunnerUp, Feasible: p.Feasible, RefusedTaint: p.Filtered["TaintToleration"]}
		for _, score := range p.Scores {
			if score.Plugin == "InterPodAffinity" {
				r.Interpod = score.Weighted
			}
		}
		got = append(got, r)
	}
	want := []row{
		{Node: "w1", Ties: 3, Feasible: 3, RefusedTaint: 1},
		{Node: "w3", Ties: 1, Margin: 200, Deciders: []string{"InterPodAffinity"}, Without: 2, Interpod: 200, RunnerUp: "w2", Feasible: 3, RefusedTaint: 1},
		{Node: "w2", Ties: 1, Margin: 68, Deciders: []string{"PodTopologySpread"}, Without: 3, RunnerUp: "w1", Feasible: 3, RefusedTaint: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("placements (-want +got):\n%s", diff)
	}
}

func TestWeightedTermsDecideByAMarginOf102(t *testing.T) {
	set, pods := replicas("web", 2, soft("web", map[string]int32{region: 100, zone: 99}, region, zone))
	result := place(t, Ties{}, walkthrough(), set, pods)
	if got := result.Placed[1]; got.Node != "w3" || got.Margin != 102 || got.RunnerUp != "w2" {
		t.Errorf("second pod on %s with margin %d over %s, want w3, 102, w2", got.Node, got.Margin, got.RunnerUp)
	}
}

func TestPendingHasUpstreamsWords(t *testing.T) {
	set, pods := replicas("web", 4, hard("web", hostname))
	result := place(t, Ties{}, walkthrough(), set, pods)
	want := []placement.Pending{{
		Pod: pods[3],
		Message: "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 node(s) didn't match pod anti-affinity rules. " +
			"preemption: 0/4 nodes are available: 1 Preemption is not helpful for scheduling, 3 No preemption victims found for incoming pod.",
		Reasons: []placement.Reason{
			{Plugin: "InterPodAffinity", Message: "node(s) didn't match pod anti-affinity rules", Nodes: 3},
			{Plugin: "TaintToleration", Message: "node(s) had untolerated taint(s)", Nodes: 1},
		},
	}}
	if diff := cmp.Diff(want, result.Pending); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
}

func TestSeedsReachEveryNodeThatTies(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(60) {
		set, pods := replicas("web", 1, nil)
		result := place(t, Ties{Random: true, Seed: seed}, walkthrough(), set, pods)
		seen[result.Placed[0].Node]++
	}
	// Each of three nodes is expected 20 times; fewer than 5 has a probability of about one in a hundred thousand.
	for _, name := range []string{"w1", "w2", "w3"} {
		if seen[name] < 5 {
			t.Errorf("%s was chosen %d times of 60: %v", name, seen[name], seen)
		}
	}
}

// An engine that is reset answers like a new one, even if nodes are sampled and the search continues where it ended: each of the 31 pods
// is offered 100 nodes of 150, which ends at the 100th (30 pods would end at the last, where the first search began).
func TestResetAnswersAsNew(t *testing.T) {
	state := &cluster.State{Now: cluster.Epoch}
	for i := range 150 {
		state = state.With(node(fmt.Sprintf("n%03d", i), map[string]string{zone: fmt.Sprintf("z%d", i%3)}))
	}
	set, pods := replicas("web", 31, nil)
	state = state.With(set)
	for _, pod := range pods {
		state = state.With(pod)
	}
	for _, ties := range []Ties{{}, {Random: true, Seed: 3}} {
		engine := newEngine(t, ties)
		var answers [][]string
		for range 3 {
			engine.Reset()
			result, err := engine.Place(t.Context(), state, pods)
			if err != nil {
				t.Fatal(err)
			}
			var nodes []string
			for _, p := range result.Placed {
				nodes = append(nodes, p.Node)
			}
			answers = append(answers, nodes)
		}
		if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
			t.Errorf("ties %+v: second answer (-first +second):\n%s", ties, diff)
		}
		if diff := cmp.Diff(answers[0], answers[2]); diff != "" {
			t.Errorf("ties %+v: third answer (-first +third):\n%s", ties, diff)
		}
	}
}

// The labels of a running pod can change, and anti-affinity reads them.
func TestChangedLabelsAreSeen(t *testing.T) {
	set, pods := replicas("web", 2, nil)
	pods[1].Spec.Affinity = hard("web", region)
	engine := newEngine(t, Ties{})
	state := walkthrough().With(set, pods[0])
	first, err := engine.Place(t.Context(), state, pods[:1])
	if err != nil {
		t.Fatal(err)
	}
	released := first.Placed[0].Pod.DeepCopy()
	released.Labels = map[string]string{"app": "quarantined"}
	state = state.With(released, pods[1])
	second, err := engine.Place(t.Context(), state, pods[1:])
	if err != nil {
		t.Fatal(err)
	}
	if got := second.Placed[0].Feasible; got != 3 {
		t.Errorf("%d nodes were feasible, want all 3 workers: the first pod no longer matches", got)
	}
}
