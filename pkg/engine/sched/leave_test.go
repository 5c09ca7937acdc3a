package sched

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// The pods that stay on a node are in the same order in every run, whichever pods have left.
func TestPodsThatStayKeepAnOrder(t *testing.T) {
	state := (&cluster.State{Now: cluster.Epoch}).With(node("n1", nil), node("n2", nil))
	var leaving []cluster.Object
	for i := range 12 {
		p := pod(fmt.Sprint("p", i), "100m", 0)
		p.Labels = map[string]string{"app": "web"}
		p = running(p, "n1")
		if state = state.With(p); i%2 == 0 {
			leaving = append(leaving, p)
		}
	}
	last := pod("last", "100m", 0)
	last.Spec.Affinity = soft("web", map[string]int32{hostname: 1}, hostname)
	var first []string
	for i := range 10 {
		engine := newEngine(t, Ties{})
		engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{} }
		if _, err := engine.Place(t.Context(), state, nil); err != nil {
			t.Fatal(err)
		}
		result, err := engine.Place(t.Context(), state.Without(leaving...).With(last), []*v1.Pod{last})
		if err != nil {
			t.Fatal(err)
		}
		var pods []string
		for _, candidate := range result.Placed[0].Cycle.Candidates {
			for _, score := range candidate.Scores {
				for _, part := range score.Parts {
					pods = append(pods, part.Pods...)
				}
			}
		}
		if i == 0 {
			first = slices.Clone(pods)
		}
		if diff := cmp.Diff(first, pods); diff != "" || len(pods) != 6 {
			t.Fatalf("the pods that count, %d of them (-first +this):\n%s", len(pods), diff)
		}
	}
}
