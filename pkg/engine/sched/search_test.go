package sched

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// The search ends at as many nodes as upstream's, and the next begins where upstream's would.
func TestSearchEndsWhereUpstreamsDoes(t *testing.T) {
	for _, more := range []string{
		"", "percentageOfNodesToScore: 30", "percentageOfNodesToScore: 100", "profiles: [{percentageOfNodesToScore: 60}]",
		"percentageOfNodesToScore: 30\nprofiles: [{percentageOfNodesToScore: 60}]",
		"profiles: [{plugins: {score: {disabled: [{name: '*'}]}}}]", "profiles: [{plugins: {filter: {disabled: [{name: '*'}]}}}]",
	} {
		config, err := LoadConfig(ConfigOptions{}, "test.yaml", []byte(head+"\n"+more))
		if err != nil {
			t.Fatal(err)
		}
		for _, nodes := range []int{1, 99, 100, 101, 150, 1000, 6000} {
			t.Run(fmt.Sprintf("%q, %d nodes", more, nodes), func(t *testing.T) {
				var objs []cluster.Object
				for i := range nodes {
					objs = append(objs, node(fmt.Sprint("n", i), nil))
				}
				objs[0].(*v1.Node).Spec.Unschedulable = nodes > 1
				objs = append(objs, pod("p1", "100m", 0), pod("p2", "100m", 0))
				state := (&cluster.State{Now: cluster.Epoch}).With(objs...)
				place := func(config *Config) (found []any) {
					engine, err := NewEngine(config, Ties{})
					if err != nil {
						t.Fatal(err)
					}
					defer engine.Close()
					engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{Nodes: 1} }
					result, err := engine.Place(t.Context(), state, []*v1.Pod{state.Pods[0], state.Pods[1]})
					if err != nil {
						t.Fatal(err)
					}
					for _, p := range result.Placed {
						if count := p.Filtered[names.NodeUnschedulable]; count > 1 {
							t.Errorf("%d nodes rejected by a cordon, want 1 at most", count)
						}
						found = append(found, p.Node, p.Feasible, p.Cycle.Searched)
					}
					return append(found, engine.Mark().NextStart())
				}
				if plain, kept := fmt.Sprint(place(config.Plain())), fmt.Sprint(place(config)); kept != plain {
					t.Errorf("each pod's node, feasible and searched nodes, and where the next search begins: %s, upstream %s", kept, plain)
				}
			})
		}
	}
}
