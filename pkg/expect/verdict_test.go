package expect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVerdict(t *testing.T) {
	moved := func(name string, swapped bool) Move {
		return Move{Namespace: "default", OldName: name, Name: name, Swapped: swapped}
	}
	radius := func(step, key, text string, before, after float64) RadiusChange {
		return RadiusChange{Step: step, TopologyKey: key, Text: text, Old: before, New: after}
	}
	excess := func(step, key, workload string, by float64) ExcessChange {
		return ExcessChange{Step: step, TopologyKey: key, Workload: workload, By: by, Text: key + ": " + workload}
	}
	for _, test := range []struct {
		line  string
		kinds []string
		worse bool
		of    Comparison
	}{
		{"no difference", nil, false, Comparison{Steps: 1}},
		{"2 steps not alike", nil, false, Comparison{Steps: 2, Different: 2}},
		{"1 step added, 2 steps removed", nil, false, Comparison{Steps: 3, StepsAdded: 1, StepsRemoved: 2}},
		{"1 pod moved", []string{FailOnMoved, FailOnAny}, false, Comparison{Steps: 2, Different: 2, Moved: []Move{moved("p", false), moved("p", false)}}},
		// A pod that has moved once counts as moved, whatever it does in other steps.
		{"3 pods moved (1 of them only changed places)", []string{FailOnMoved, FailOnAny}, false, Comparison{
			Moved: []Move{moved("p", true), moved("q", false), moved("q", true), moved("r", true), moved("r", false)}}},
		{"2 pods moved (only changed places)", []string{FailOnMoved, FailOnAny}, false, Comparison{Moved: []Move{moved("p", true), moved("q", true)}}},
		{"2 newly Pending", []string{FailOnPending, FailOnAny}, true, Comparison{Steps: 1, Pending: []Change{{"a", 1, 3, 2}}}},
		{"up to 2 newly Pending in b and 1 other step", []string{FailOnPending, FailOnAny}, true, Comparison{Steps: 3, Pending: []Change{{"a", 1, 2, 1}, {"b", 0, 2, 2}, {"c", 9, 0, 0}}}},
		{"up to 2 newly Pending in a and 1 other step", []string{FailOnPending, FailOnAny}, true, Comparison{Steps: 3, Pending: []Change{{"a", 1, 3, 2}, {"b", 0, 2, 2}}}},
		{"9 fewer Pending in c", nil, false, Comparison{Steps: 3, Pending: []Change{{"c", 9, 0, 0}}}},
		// What got worse comes before what got better, and pods that are not ready belong to no kind.
		{"1 newly not ready in b, 1 fewer Pending in a", []string{FailOnAny}, true, Comparison{Steps: 2, Pending: []Change{{"a", 1, 0, 0}}, NotReady: []Change{{"b", 0, 1, 1}}}},
		// Pods of another workload than before are newly Pending, even if the total is equal.
		{"1 newly Pending", []string{FailOnPending, FailOnAny}, true, Comparison{Steps: 1, Pending: []Change{{"a", 2, 1, 1}}}},
		// A larger radius alone is not judged; a workload that is further from an even spread is, once for all workloads of a level.
		{"zone up in b (spread no worse), rack down in a", nil, false, Comparison{Steps: 2, Radii: []RadiusChange{
			radius("a", "zone", "zone down", 0.5, 0), radius("a", "rack", "rack down", 0.5, 0.2), radius("b", "zone", "zone up", 0.1, 0.2)}}},
		{"zone: web in b and 1 other workload, node: web in b, rack down in b", []string{FailOnRadius, FailOnAny}, true, Comparison{Steps: 2,
			Excess: []ExcessChange{excess("a", "zone", "api", 0.1), excess("b", "zone", "web", 0.2), excess("b", "node", "web", 0.3)},
			Radii:  []RadiusChange{radius("b", "zone", "zone up", 0, 0.2), radius("b", "rack", "rack down", 0.2, 0)}}},
		{"web has 1 replica left of 3 and 1 other workload, too", []string{FailOnRadius, FailOnAny}, true, Comparison{Steps: 2,
			OneReplica: []string{"web has 1 replica left of 3", "api has 1 replica left of 2", "web has 1 replica left of 3"}}},
		{"up to 2 more lost pods do not come back", []string{FailOnStranded, FailOnAny}, true, Comparison{NotBack: []Change{{"a", 5, 1, 0}, {"a", 0, 2, 2}}}},
		{"up to 4 more lost pods come back", nil, false, Comparison{NotBack: []Change{{"a", 5, 1, 0}, {"a", 1, 0, 0}}}},
		{"1 quorum newly lost, 2 budgets newly broken, 1 workload no longer gone", []string{FailOnAny}, true, Comparison{
			QuorumLost: Names{[]string{"db", "db"}, []string{"etcd"}}, Gone: Names{nil, []string{"web", "web"}}, BrokenBudgets: Names{[]string{"b", "a", "b"}, nil}}},
		{"1 rollout newly stuck, 2 expectations newly unmet, 3 rollouts no longer stuck, 4 expectations no longer unmet", []string{FailOnExpectations, FailOnAny}, true,
			Comparison{NewlyStuck: 1, NewlyUnmet: 2, NoLongerStuck: 3, NoLongerUnmet: 4}},
		{"2 pods added, 1 pod removed", nil, false, Comparison{PodsAdded: []string{"a/p", "b/p", "a/p"}, PodsRemoved: []string{"a/q"}}},
		{"1 pod moved, 1 newly Pending, 1 pod removed", []string{FailOnMoved, FailOnPending, FailOnAny}, true, Comparison{Steps: 1, Different: 1,
			PodsRemoved: []string{"a/q"}, Pending: []Change{{"a", 0, 1, 1}}, Moved: []Move{moved("p", false)}}},
	} {
		if diff := cmp.Diff(Verdict{Line: test.line, Kinds: test.kinds, Worse: test.worse}, test.of.Verdict()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
