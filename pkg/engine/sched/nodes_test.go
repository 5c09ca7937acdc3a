package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// One engine gets one cluster after the other. Each time, three pods that keep apart come to its nodes in their order, whatever the nodes
// were before. Upstream takes one node of each zone in turn, and begins with the zone of the first node.
func TestNodesAreThoseOfTheState(t *testing.T) {
	tainted := node("n2", nil)
	tainted.Spec.Taints = []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}}
	n1, n2, n3 := node("n1", nil), node("n2", nil), node("n3", nil)
	inZone := func(name, z string) *v1.Node { return node(name, map[string]string{zone: z}) }
	a1, b1, a2 := inZone("a1", "a"), inZone("b1", "b"), inZone("a2", "a")
	engine := newEngine(t, Ties{})
	set, pods := replicas("web", 3, hard("web", hostname))
	for _, test := range []struct {
		name  string
		nodes []*v1.Node
		want  map[string]string
	}{
		{"two", []*v1.Node{n1, n3}, map[string]string{"web-0": "n1", "web-1": "n3", "web-2": "pending "}},
		{"one between them", []*v1.Node{n1, n2, n3}, map[string]string{"web-0": "n1", "web-1": "n2", "web-2": "n3"}},
		{"it is tainted", []*v1.Node{n1, tainted, n3}, map[string]string{"web-0": "n1", "web-1": "n3", "web-2": "pending "}},
		{"in another order", []*v1.Node{n3, n2, n1}, map[string]string{"web-0": "n3", "web-1": "n2", "web-2": "n1"}},
		{"the first is gone", []*v1.Node{n2, n1}, map[string]string{"web-0": "n2", "web-1": "n1", "web-2": "pending "}},
		{"another at the end", []*v1.Node{n2, n1, n3}, map[string]string{"web-0": "n2", "web-1": "n1", "web-2": "n3"}},
		{"two zones", []*v1.Node{a1, b1, a2}, map[string]string{"web-0": "a1", "web-1": "b1", "web-2": "a2"}},
		{"the first of its zone is gone", []*v1.Node{b1, a2}, map[string]string{"web-0": "b1", "web-1": "a2", "web-2": "pending "}},
		{"and changes its zone", []*v1.Node{inZone("b1", "a"), a2}, map[string]string{"web-0": "b1", "web-1": "a2", "web-2": "pending "}},
		{"one is left", []*v1.Node{n3}, map[string]string{"web-0": "n3", "web-1": "pending ", "web-2": "pending "}},
	} {
		state := (&cluster.State{Now: cluster.Epoch}).With(set, pods[0], pods[1], pods[2])
		state.Nodes = test.nodes
		result, err := engine.Place(t.Context(), state, pods)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, outcome(result)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
