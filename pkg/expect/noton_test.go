package expect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// web-1 is on n1, which has 100 points by Fit and 90 by Spread. n2 has as many, n3 has 40 fewer by Spread and 10 fewer by Fit, n4 has 20
// fewer by Spread and 10 more by Fit. The filters refuse n5 and n6, and did not look at n7. db-1 is Pending.
func stepWithCycles() *simulation.Step {
	candidate := func(node string, fit, spread int64) placement.Candidate {
		return placement.Candidate{Node: node, Chosen: node == "n1", Total: fit + spread, Scores: []placement.PluginScore{
			{Plugin: "Fit", Weighted: fit}, {Plugin: "Spread", Weighted: spread}, {Plugin: "Image"}, {Plugin: "Taints"}, {Plugin: "Volumes"}}}
	}
	pod := func(name, app string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}}}
	}
	return &simulation.Step{Record: world.Record{
		Placed: []placement.Placement{{Pod: pod("web-0", "web"), Node: "n6"}, {Pod: pod("web-1", "web"), Node: "n1", Cycle: &placement.Cycle{
			Candidates: []placement.Candidate{candidate("n1", 100, 90), candidate("n2", 100, 90), candidate("n4", 110, 70), candidate("n3", 90, 50)},
			Refusals:   []placement.Refusal{{Message: "Insufficient cpu", Nodes: []string{"n5"}}, {Message: "is full", Nodes: []string{"n6"}}},
		}}},
		Pending: []placement.Pending{{Pod: pod("db-1", "db"), Cycle: &placement.Cycle{Refusals: []placement.Refusal{{Message: "Too many pods", Nodes: []string{"n1"}}}}}},
	}}
}

func TestReasons(t *testing.T) {
	const anti = "node(s) didn't match pod anti-affinity rules"
	for _, test := range []struct {
		of      scenario.NotOn
		right   []string
		choices []string // after the right ones
		words   string
	}{
		{scenario.NotOn{Node: "n2", Selector: "app=web"}, []string{asMany}, []string{fewerBy + "Fit", fewerBy + "Spread", fewerBy + "Image", anti}, "It has as many points, and chance decided"},
		{scenario.NotOn{Node: "n3", Selector: "app=web"}, []string{fewerBy + "Spread", fewerBy + "Fit"}, []string{fewerBy + "Image", fewerBy + "Taints", asMany, anti}, "It has fewer points by Spread and Fit"},
		{scenario.NotOn{Node: "n4", Selector: "app=web"}, []string{fewerBy + "Spread"}, []string{fewerBy + "Fit", fewerBy + "Image", fewerBy + "Taints", asMany, anti}, "It has fewer points by Spread"},
		{scenario.NotOn{Node: "n5", Selector: "app=web"}, []string{"Insufficient cpu"}, []string{"Insufficient memory", "Too many pods", fewerPoints}, "`Insufficient cpu`"},
		{scenario.NotOn{Node: "n6", Selector: "app=web"}, []string{"is full"}, []string{fewerPoints}, "`is full`"},
		{scenario.NotOn{Node: "n1"}, []string{"Too many pods"}, []string{"Insufficient cpu", "Insufficient memory", fewerPoints}, "`Too many pods`"},
		{of: scenario.NotOn{Node: "n1", Selector: "app=web"}}, // it is there
		{of: scenario.NotOn{Node: "n7", Selector: "app=web"}},
		{of: scenario.NotOn{Node: "n1", Selector: "app=none"}},
	} {
		q, step := &scenario.Question{NotOn: &test.of}, stepWithCycles()
		answers, err := Answers(t.Context(), q, nil, step)
		if err != nil {
			t.Fatal(err)
		}
		if len(test.right) == 0 {
			if len(answers) > 0 {
				t.Errorf("%v: %q is right, and nothing is", test.of, answers)
			}
			continue
		}
		var right []string
		for _, answer := range answers {
			right = append(right, answer...)
		}
		if diff := cmp.Diff(test.right, right); diff != "" {
			t.Errorf("%v: right (-want +got):\n%s", test.of, diff)
		}
		if diff := cmp.Diff(append(test.right, test.choices...), Fields(q, step)); diff != "" {
			t.Errorf("%v: choices (-want +got):\n%s", test.of, diff)
		}
		if diff := cmp.Diff(test.words, AnswerInWords(q, nil, answers)); diff != "" {
			t.Errorf("%v: words (-want +got):\n%s", test.of, diff)
		}
	}
}
