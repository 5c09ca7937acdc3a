package sched

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// The search ends at as many nodes as upstream's, and the next begins where upstream's would.
func TestSearchEndsWhereUpstreamsDoes(t *testing.T) {
	for _, more := range []string{
		"", "percentageOfNodesToScore: 30", "percentageOfNodesToScore: 100", "profiles: [{percentageOfNodesToScore: 60}]",
		"percentageOfNodesToScore: 30\nprofiles: [{percentageOfNodesToScore: 60}]",
	} {
		config, err := LoadConfig("test.yaml", []byte(head+"\n"+more))
		if err != nil {
			t.Fatal(err)
		}
		for _, nodes := range []int{1, 99, 100, 101, 150, 1000, 6000} {
			t.Run(fmt.Sprintf("%q, %d nodes", more, nodes), func(t *testing.T) {
				var objs []cluster.Object
				for i := range nodes {
					objs = append(objs, node(fmt.Sprint("n", i), nil))
				}
				objs = append(objs, pod("p1", "100m", 0), pod("p2", "100m", 0))
				state := (&cluster.State{Now: cluster.Epoch}).With(objs...)
				place := func(config *Config) (found []int) {
					engine, err := NewEngine(config, Ties{})
					if err != nil {
						t.Fatal(err)
					}
					defer engine.Close()
					result, err := engine.Place(t.Context(), state, []*v1.Pod{state.Pods[0], state.Pods[1]})
					if err != nil {
						t.Fatal(err)
					}
					for _, p := range result.Placed {
						found = append(found, p.Feasible)
					}
					return append(found, engine.Mark().StartAt())
				}
				if plain, kept := fmt.Sprint(place(config.Plain())), fmt.Sprint(place(config)); kept != plain {
					t.Errorf("feasible nodes of each pod, and where the next search begins: %s, upstream %s", kept, plain)
				}
			})
		}
	}
}
