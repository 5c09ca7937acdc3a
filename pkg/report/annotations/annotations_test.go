package annotations

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

func podNamed(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Annotations: map[string]string{"mine": "stays"}}}
}

// cycleOver is a cycle in which n nodes are feasible, the first best, and one is refused.
func cycleOver(n int) *placement.Cycle {
	c := &placement.Cycle{
		PreFilter: []placement.Verdict{{Plugin: "NodeResourcesFit", Status: "success"}, {Plugin: "VolumeBinding", Status: "skip"}},
		PreScore:  []placement.Verdict{{Plugin: "NodeResourcesFit", Status: "success"}},
		Filters:   []string{"NodeName", "TaintToleration", "NodeResourcesFit"},
		Refusals:  []placement.Refusal{{Plugin: "TaintToleration", Message: "node(s) had untolerated taint(s)", Count: 1, Nodes: []string{"tainted"}}},
	}
	for i := range n {
		c.Candidates = append(c.Candidates, placement.Candidate{Node: fmt.Sprintf("n%d", i), Rank: i + 1, Total: int64(200 - i), Scores: []placement.PluginScore{
			{Plugin: "NodeResourcesFit", Raw: int64(100 - i), Weighted: int64(200 - 2*i)},
		}})
	}
	return c
}

func annotatedStep(t *testing.T, placed []placement.Placement, pending []placement.Pending) (map[string]map[string]string, []Overflow) {
	t.Helper()
	step := simulation.Step{Name: "s", State: &cluster.State{}, Record: world.Record{Placed: placed, Pending: pending}}
	for _, p := range placed {
		step.State.Pods = append(step.State.Pods, p.Pod)
	}
	for _, p := range pending {
		step.State.Pods = append(step.State.Pods, p.Pod)
	}
	state, overflow, err := Annotate(&simulation.Result{Steps: []simulation.Step{step}}, &step)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for _, pod := range state.Pods {
		all[pod.Name] = pod.Annotations
	}
	return all, overflow
}

// The shapes are those of kube-scheduler-simulator: JSON in strings, scores as strings, and no plugin after the one that refuses.
func TestAnnotated(t *testing.T) {
	all, overflow := annotatedStep(t,
		[]placement.Placement{{Pod: podNamed("placed"), Node: "n0", Cycle: cycleOver(2)}},
		[]placement.Pending{{Pod: podNamed("pending"), Nominated: "tainted", Cycle: cycleOver(0)}, {Pod: podNamed("gated")}})
	if len(overflow) > 0 {
		t.Errorf("%d pods overflow", len(overflow))
	}
	const prefix = "kube-scheduler-simulator.sigs.k8s.io/"
	want := map[string]map[string]string{
		"placed": {
			"mine":                             "stays",
			prefix + "selected-node":           "n0",
			prefix + "prefilter-result-status": `{"NodeResourcesFit":"success","VolumeBinding":""}`,
			prefix + "prefilter-result":        `{}`,
			prefix + "filter-result": `{"n0":{"NodeName":"passed","NodeResourcesFit":"passed","TaintToleration":"passed"},` +
				`"n1":{"NodeName":"passed","NodeResourcesFit":"passed","TaintToleration":"passed"},` +
				`"tainted":{"NodeName":"passed","TaintToleration":"node(s) had untolerated taint(s)"}}`,
			prefix + "postfilter-result": `{}`,
			prefix + "prescore-result":   `{"NodeResourcesFit":"success"}`,
			prefix + "score-result":      `{"n0":{"NodeResourcesFit":"100"},"n1":{"NodeResourcesFit":"99"}}`,
			prefix + "finalscore-result": `{"n0":{"NodeResourcesFit":"200"},"n1":{"NodeResourcesFit":"198"}}`,
		},
		"pending": {
			"mine":                             "stays",
			prefix + "prefilter-result-status": `{"NodeResourcesFit":"success","VolumeBinding":""}`,
			prefix + "prefilter-result":        `{}`,
			prefix + "filter-result":           `{"tainted":{"NodeName":"passed","TaintToleration":"node(s) had untolerated taint(s)"}}`,
			prefix + "postfilter-result":       `{"tainted":{"DefaultPreemption":"preemption victim"}}`,
			prefix + "prescore-result":         `{"NodeResourcesFit":"success"}`,
			prefix + "score-result":            `{}`,
			prefix + "finalscore-result":       `{}`,
		},
		"gated": {"mine": "stays"},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The overflow has all results of a pod that exceed the limit, and the pod keeps as many of the best nodes as fit.
func TestAnnotatedOverflows(t *testing.T) {
	const nodes = 5000
	all, overflow := annotatedStep(t, []placement.Placement{{Pod: podNamed("large"), Node: "n0", Cycle: cycleOver(nodes)}}, nil)
	size := 0
	for key, value := range all["large"] {
		size += len(key) + len(value)
	}
	if size > 256<<10 {
		t.Errorf("the annotations have %d bytes", size)
	}
	count := func(annotations map[string]string) int {
		var byNode map[string]map[string]string
		if err := json.Unmarshal([]byte(annotations[scoreKey]), &byNode); err != nil {
			t.Fatal(err)
		}
		if byNode["n0"] == nil {
			t.Error("the best node is missing")
		}
		return len(byNode)
	}
	if kept := count(all["large"]); kept < 500 {
		t.Errorf("%d nodes are kept; there is room for more", kept)
	}
	if len(overflow) != 1 || overflow[0].Name != "large" || count(overflow[0].Annotations) != nodes {
		t.Errorf("the overflow is %d pods", len(overflow))
	}
}
