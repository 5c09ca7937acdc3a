package sched

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// hundredAndOneNodes returns 101 nodes of 8 CPUs, n000 to n100, each filled by one pod of priority 1. The pod of n100 started last, the pod of n000 next
// to last, and the others long before.
func hundredAndOneNodes() *cluster.State {
	state := &cluster.State{Now: cluster.Epoch}
	started := map[int]time.Duration{0: 1000 * time.Second, 100: 2000 * time.Second}
	for i := range 101 {
		name := fmt.Sprintf("n%03d", i)
		low := pod("on-"+name, "8", 1)
		state = state.With(node(name, nil), cluster.BindPod(low, name, cluster.Epoch.Add(started[i])))
	}
	return state
}

// Preemption examines a hundred of these 101 nodes, in the order of the cluster from the first node on, and takes the victim that started
// last: the pod of n000. From the second node on, or backwards, it would examine n100, whose pod started later still.
func TestPreemptionLooksAtTheFirstNodes(t *testing.T) {
	urgent := highPriorityPod("8")
	result, err := newEngine(t, Ties{}).Place(t.Context(), hundredAndOneNodes().With(urgent), []*v1.Pod{urgent})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Preempted) != 1 || result.Preempted[0].Node != "n000" {
		t.Errorf("preempted %v, want the pod on n000", result.Preempted)
	}
}

// With random ties it begins anywhere. Only from the first node does it miss n100.
func TestPreemptionBeginsAnywhereByChance(t *testing.T) {
	var nodes []string
	for seed := range uint64(3) {
		urgent := highPriorityPod("8")
		result, err := newEngine(t, Ties{Random: true, Seed: seed}).Place(t.Context(), hundredAndOneNodes().With(urgent), []*v1.Pod{urgent})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, result.Preempted[0].Node)
	}
	if !slices.Contains(nodes, "n100") {
		t.Errorf("preempted on %v, want n100 among them", nodes)
	}
}

// onlyOn requires one of the nodes by name, which PreFilter reads.
func onlyOn(names ...string) *v1.Affinity {
	required := &v1.NodeSelector{}
	for _, name := range names {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, v1.NodeSelectorTerm{
			MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}}},
		})
	}
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
}

// Two equal workers are named, the later one first. Upstream walks them in the random order of a map; here the first by name wins,
// each time.
func TestNamedNodesAreTakenByName(t *testing.T) {
	for range 20 {
		set, pods := replicas("web", 1, onlyOn("w3", "w2"))
		result := place(t, Ties{}, walkthrough(), set, pods)
		if got := result.Placed[0]; got.Node != "w2" || got.Ties != 2 {
			t.Fatalf("placed on %s, one of %d equal nodes, want w2, one of 2", got.Node, got.Ties)
		}
	}
}

// In a cluster of 150 nodes, a search stops at a hundred feasible nodes, but not if PreFilter names all nodes.
func TestNamedNodesAreAllLookedAt(t *testing.T) {
	state := &cluster.State{Now: cluster.Epoch}
	var names []string
	for i := range 150 {
		names = append(names, fmt.Sprintf("n%03d", i))
		state = state.With(node(names[i], nil))
	}
	for _, test := range []struct {
		affinity *v1.Affinity
		want     int
	}{{nil, 100}, {onlyOn(names...), 150}} {
		set, pods := replicas("web", 1, test.affinity)
		result := place(t, Ties{}, state, set, pods)
		if got := result.Placed[0].Feasible; got != test.want {
			t.Errorf("%d nodes were found feasible, want %d", got, test.want)
		}
	}
}
