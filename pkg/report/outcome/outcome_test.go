package outcome

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/outcome"
	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// placed returns an outcome with the pods of web on these nodes.
func placed(pending int, nodes map[string]int) outcome.Distribution {
	web := cluster.WorkloadRef{Namespace: "default", Workload: "deployment/web"}
	return outcome.Distribution{Workloads: []outcome.PlacedWorkload{{WorkloadRef: web, Nodes: nodes, Pending: pending}}}
}

func figures(pending, skew int, radius float64) *metric.Metrics {
	return &metric.Metrics{Pending: pending, Levels: []metric.LevelMetrics{{TopologyKey: v1.LabelTopologyZone, Skew: skew, Radius: radius}}}
}

// exact returns a step with three placements: two of 3/8 each, and one of 1/4 that leaves a pod Pending.
func exact(t *testing.T) *Report {
	t.Helper()
	return NewExact(&outcome.Exact{
		First: reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply"), ExactMethod: outcome.ExactMethod{Runs: 7, States: 3}, Notes: []string{"Arrivals were held fixed."},
		Steps: []outcome.ExactStep{
			{Step: outcome.NewStep("apply", "apply -f web.yaml", []outcome.Class{
				{Placement: placed(0, map[string]int{"a-1": 2, "b-1": 1}), Ways: big.NewInt(2), Each: big.NewRat(3, 8), Metrics: figures(0, 1, 2./3)},
				{Ways: big.NewInt(1), Each: big.NewRat(1, 4), Placements: []outcome.Distribution{placed(1, map[string]int{"a-1": 1, "b-1": 1})}, Metrics: figures(1, 0, 0.5)},
			})},
			{Step: outcome.NewStep("delete", "", []outcome.Class{{Ways: big.NewInt(1), Each: big.NewRat(1, 1), Placements: []outcome.Distribution{{}}, Metrics: figures(0, 0, 0)}})},
		},
	}, "v0.1.0")
}

// trials returns 10 trials, 8 with one placement and 2 with another.
func trials(t *testing.T) *Report {
	t.Helper()
	vary := func(median, low, high, p95, worst float64, seed uint64) outcome.Variation {
		return outcome.Variation{Median: median, Low: &low, High: &high, P95: p95, Worst: worst, Seed: &seed}
	}
	spread := vary(1, 0, 1, 2, 2, 9)
	seen := func(trials, pending int, nodes map[string]int, seed uint64) outcome.Placement {
		return outcome.Placement{Chance: outcome.Frequency(stats.Proportion{Successes: trials, N: 10}), Seed: &seed, Pending: pending, Distribution: placed(pending, nodes)}
	}
	return NewTrials(&outcome.TrialSet{
		First:        reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply"),
		TrialsMethod: outcome.TrialsMethod{N: 10, Seed: 5, Confidence: outcome.Confidence, Until: 0.01},
		Steps: []outcome.Step{{
			Name: "apply", AnyPending: outcome.Frequency(stats.Proportion{Successes: 2, N: 10}), Pending: spread, Different: "3",
			Levels: []outcome.LevelVariation{{TopologyKey: v1.LabelTopologyZone, Skew: spread, Radius: vary(0.5, 0.5, 0.5, 0.5, 1, 6)}},
			Preempted: []outcome.PreemptedWorkload{{
				WorkloadRef: cluster.WorkloadRef{Namespace: "default", Workload: "job/work"}, Chance: outcome.Frequency(stats.Proportion{Successes: 3, N: 10}),
			}},
			Placements: []outcome.Placement{seen(8, 0, map[string]int{"a-1": 2, "b-1": 1}, 5), seen(1, 2, map[string]int{"b-1": 1}, 9)},
		}},
	}, "v0.1.0")
}

// By hand: 2 · 3/8 + 1/4 = 1; the median has no Pending pod, and the worst has one.
func TestExact(t *testing.T) {
	r := exact(t)
	reporttest.Formats(t, Formats, r, "exact", "outcomes-report", Kind)
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"Outcomes:    exact: every way to decide the ties among nodes, from 7 runs through 3 states",
		"3 placements are possible; the likeliest has 37.5% (3/8). In 25% (1/4) a pod is Pending.",
		"37.5%   3/8           ×2     0         a-1 2, b-1 1",
		"25%     1/4           ×1     1         a-1 1, b-1 1",
		"Pending pods         0        1     1",
		"skew over zones      1        1     1",
		"radius of a zone     66.7%    66.7%   66.7%",
		"There are no pods.",
	)
}

// By hand: Wilson's interval for 8 of 10 is 49.0 % to 94.3 %. The third placement has the remaining trial.
func TestTrials(t *testing.T) {
	r := trials(t)
	reporttest.Formats(t, Formats, r, "trials", "outcomes-report", Kind)
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"Outcomes:    10 trials, seeds 5 to 14; intervals of 95%, of which some are wider than ±1%; give more --trials",
		"80%     49%    94.3%   0         5      a-1 2, b-1 1",
		"10%     1.8%   40.4%   2         9      b-1 1",
		"and 1 more, with 10% together",
		"Pods are preempted: of job/work in 30% of the trials.",
	)
}

// If there are many workloads, only those with different places are listed: web is, and the other 11 of 12 are not.
func TestManyWorkloads(t *testing.T) {
	r := exact(t)
	for i := range 11 {
		for j := range r.Steps[0].Placements {
			p := &r.Steps[0].Placements[j]
			p.Workloads = append(p.Workloads, outcome.PlacedWorkload{WorkloadRef: cluster.WorkloadRef{Namespace: "default", Workload: fmt.Sprintf("deployment/app-%d", i)}, Nodes: map[string]int{"a-1": 1}})
		}
	}
	got := reporttest.Write(t, Formats, r, "text", report.Options{})
	reporttest.CheckLines(t, got, "37.5%   3/8           ×2     0         web: a-1 2, b-1 1", "11 workloads have the same nodes in each; use --all to list them.")
	if strings.Contains(got, "app-0") {
		t.Errorf("a workload that is the same in each is listed:\n%s", got)
	}
	if got = reporttest.Write(t, Formats, r, "text", report.Options{All: true}); !strings.Contains(got, "; app-10: a-1 1") {
		t.Errorf("--all does not list every workload:\n%s", got)
	}
}

func TestOdds(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 1: "100%", 1. / 3: "33.3%", 0.5: "50%", 0.0012: "0.12%", 0.001: "0.1%", 0.00001: "1.0e-03%", 0.9999: "99.99%"} {
		if got := formatShare(share); got != want {
			t.Errorf("odds(%v) is %s, want %s", share, got, want)
		}
	}
}

func TestMarkdownHostile(t *testing.T) {
	const h = reporttest.Hostile
	r := &Report{Head: report.Head{Scenario: h, Notes: []string{h}}, Exact: &outcome.ExactMethod{}, Nodes: []report.Node{{Name: h}}, Steps: []outcome.Step{{Name: h, Different: "1",
		Levels: []outcome.LevelVariation{{TopologyKey: h}}, Placements: []outcome.Placement{{Distribution: outcome.Distribution{Workloads: []outcome.PlacedWorkload{{WorkloadRef: cluster.WorkloadRef{Namespace: h, Workload: h}, Nodes: map[string]int{h: 1}}}}}}}}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}
