package sched

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// ownRules is a profile with rules: a weight for required affinity, a default spread constraint, and added node affinity.
const ownRules = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 7}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{maxSkew: 2, topologyKey: topology.kubernetes.io/region, whenUnsatisfiable: ScheduleAnyway}]
  - name: NodeAffinity
    args:
      addedAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 4
          preference: {matchExpressions: [{key: topology.kubernetes.io/region, operator: In, values: [east]}]}
`

// Three pods run: front-0 on w1 and w2, which require back, and other/far on w3, in a namespace of team a. A pod of back arrives, which
// prefers the pods of team a's namespaces, and w2.
//
//	InterPodAffinity  w1: 7 (front-0 requires it, over hosts); w2: 7; w3: 20 (its own term, over zones)
//	NodeAffinity      w1: 0; w2: 30; w3: 4 (added by the profile)
//	PodTopologySpread over regions: no pod of back runs, so each node has maxSkew-1 = 1
func TestPartsOfEveryOrigin(t *testing.T) {
	config, err := LoadConfig(ConfigOptions{}, "own.yaml", []byte(ownRules))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := NewEngine(config, Ties{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	_, front := replicas("front", 2, &v1.Affinity{PodAffinity: &v1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart("back", hostname)},
	}})
	_, far := replicas("far", 1, nil)
	far[0].Namespace, far[0].OwnerReferences = "other", nil
	front[0].Spec.NodeName, front[1].Spec.NodeName, far[0].Spec.NodeName = "w1", "w2", "w3"
	set, back := replicas("back", 1, &v1.Affinity{
		PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 20, PodAffinityTerm: v1.PodAffinityTerm{
			TopologyKey: zone, LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
		}}}},
		NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 30, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: hostname, Operator: v1.NodeSelectorOpIn, Values: []string{"w2"}}},
		}}}},
	})
	state := walkthrough().With(set, front[0], front[1], far[0], back[0],
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{"team": "a"}}})
	engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{Before: true} }
	result, err := engine.Place(context.Background(), state, back)
	if err != nil {
		t.Fatal(err)
	}
	cycle := result.Placed[0].Cycle
	got := map[string][]string{}
	for _, candidate := range cycle.Candidates {
		for _, score := range candidate.Scores {
			sum := 0.0
			for _, part := range score.Parts {
				sum += part.Score
				got[candidate.Node] = append(got[candidate.Node], fmt.Sprintf("%s %s %g×%d=%g %v", part.Rule, part.Domain, part.Weight, part.Count, part.Score, part.Pods))
			}
			if len(score.Parts) > 0 && int64(math.Round(sum)) != score.Raw {
				t.Errorf("%s: the parts of %s add up to %g, but the score is %d", candidate.Node, score.Plugin, sum, score.Raw)
			}
		}
	}
	spread := func(region string) string {
		return fmt.Sprintf("the profile's constraint [0], maxSkew 2 %s %g×0=1 []", region, math.Log(4)) // 2 regions
	}
	want := map[string][]string{
		"w1": {"the profile's node affinity [0]  4×0=0 []", "its own preferred node affinity [0]  30×0=0 []", spread("west"),
			"its own preferred affinity [0] west-1a 20×0=0 []", "required affinity of pods that run, by hardPodAffinityWeight w1 7×1=7 [default/front-0]"},
		"w2": {"the profile's node affinity [0]  4×0=0 []", "its own preferred node affinity [0]  30×0=30 []", spread("west"),
			"its own preferred affinity [0] west-1c 20×0=0 []", "required affinity of pods that run, by hardPodAffinityWeight w2 7×1=7 [default/front-1]"},
		"w3": {"the profile's node affinity [0]  4×0=4 []", "its own preferred node affinity [0]  30×0=0 []", spread("east"),
			"its own preferred affinity [0] east-1b 20×1=20 [other/far-0]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if before := cycle.Before; len(before.Unscheduled()) != 1 || len(before.Pods) != 4 {
		t.Errorf("before it there are %d pods, %d of them without a node; want 4 and 1", len(before.Pods), len(before.Unscheduled()))
	}
}

// A record holds the rejections by plugin and message, and the verdicts of PreFilter.
func TestRecordOfARefusal(t *testing.T) {
	engine := newEngine(t, Ties{})
	defer engine.Close()
	engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{Nodes: 1, Named: []string{"w3"}} }
	set, pods := replicas("web", 4, hard("web", hostname))
	result, err := engine.Place(context.Background(), withPlacedPods(walkthrough(), pods).With(cluster.Object(set)), pods)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Pending) != 1 {
		t.Fatalf("%d pods are Pending, want 1", len(result.Pending))
	}
	cycle := result.Pending[0].Cycle
	want := []placement.Refusal{
		{Plugin: "InterPodAffinity", Message: "node(s) didn't match pod anti-affinity rules", Count: 3, Nodes: []string{"w1", "w3"}},
		{Plugin: "TaintToleration", Message: "node(s) had untolerated taint(s)", Count: 1, Nodes: []string{"affinity-control-plane"}},
	}
	if diff := cmp.Diff(want, cycle.Refusals); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if cycle.Searched != 4 || cycle.Scored != 0 || len(cycle.Candidates) != 0 {
		t.Errorf("%d nodes searched, %d scored, %d candidates; want 4, 0 and 0", cycle.Searched, cycle.Scored, len(cycle.Candidates))
	}
}
