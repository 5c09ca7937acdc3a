package rebalance

import (
	"testing"

	"github.com/faultline/faultline/pkg/ask/rebalance"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// answer has two moves, and a workload that stays as it is.
func answer(goal rebalance.Goal) *rebalance.Answer {
	ref := func(name string) cluster.PodRef {
		return cluster.PodRef{Namespace: "shop", Name: name, Workload: "deployment/web"}
	}
	return &rebalance.Answer{
		Goal: goal, Level: "topology.kubernetes.io/zone", Before: 5, After: 3, Fewest: true, More: true, Tried: 4,
		Moves: []rebalance.Move{{PodRef: ref("web-1"), From: "a-1", To: "b-1", Next: "web-5", Left: 4}, {PodRef: ref("web-2"), From: "a-1", To: "b-2", Next: "web-6", Left: 3}},
		Stuck: []rebalance.Stuck{{WorkloadRef: cluster.WorkloadRef{Namespace: "shop", Workload: "statefulset/db"}, Pods: 1, Why: "the next pod lands on a-1 again"}},
	}
}

func TestFormats(t *testing.T) {
	result := reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply")
	reporttest.Formats(t, Formats, New(result, answer(rebalance.Skew), "v0.1.0"), "moves", "rebalance-report", Kind)
	none := &rebalance.Answer{Goal: rebalance.Soft, Before: 1, After: 1, Moves: []rebalance.Move{}, Stuck: answer(rebalance.Soft).Stuck}
	reporttest.Formats(t, Formats, New(result, none, "v0.1.0"), "none", "rebalance-report", Kind)
}

// The first line is the answer.
func TestVerdict(t *testing.T) {
	soft := answer(rebalance.Soft)
	soft.Fewest, soft.After = false, 1
	for want, a := range map[string]*rebalance.Answer{
		"2 moves: of 5 pods beyond an even spread over zones, 3 are left; no fewer moves get as far; no budget is broken, no pod is newly Pending.":                          answer(rebalance.Skew),
		"2 moves: of 5 pods that the worst loss of a zone takes beyond an even spread, 3 are left; no fewer moves get as far; no budget is broken, no pod is newly Pending.": answer(rebalance.Radius),
		"2 moves: of 5 pods whose preferred rules are not met, 1 is left; no budget is broken, no pod is newly Pending.":                                                     soft,
		"0 moves: no deletion helps, and there are 2 pods beyond an even spread over zones.":                                                                                 {Goal: rebalance.Skew, Level: "topology.kubernetes.io/zone", Before: 2, After: 2},
		"0 moves: there is none to better, with 0 pods whose preferred rules are not met.":                                                                                   {Goal: rebalance.Soft},
	} {
		r := &Report{Answer: *a}
		if got := document(r, report.Options{}).Answer(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestHostile(t *testing.T) {
	const h = reporttest.Hostile
	pod := cluster.PodRef{Namespace: h, Name: h, Workload: h}
	r := &Report{Head: report.Head{Scenario: h}, Answer: rebalance.Answer{
		Goal: rebalance.Skew, Level: h, Before: 1, Moves: []rebalance.Move{{PodRef: pod, From: h, To: h, Next: h}},
		Stuck: []rebalance.Stuck{{WorkloadRef: cluster.WorkloadRef{Namespace: h, Workload: h}, Pods: 1, Why: h}},
	}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}
