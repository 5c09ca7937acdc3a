package advice

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// counted is so many Pending pods, and over 2 zones that radius and what the loss of each strands.
func counted(pending int, radius float64, stranded ...int) metric.Metrics {
	zones := metric.LevelMetrics{TopologyKey: v1.LabelTopologyZone, Domains: 2, Radius: radius, RadiusIn: "a"}
	for i, n := range stranded {
		zones.Failures = append(zones.Failures, metric.FailureMetrics{Domain: string(rune('a' + i)), Lost: 3, Stranded: n})
	}
	return metric.Metrics{Pods: 4, Pending: pending, Levels: []metric.LevelMetrics{zones}}
}

// advised has a best rule, one with the same figures, one whose rollout gets stuck, and the workload as it is.
func advised(t *testing.T, top int) *Report {
	t.Helper()
	candidate := func(name string, patch string, of metric.Metrics, trials *advice.CandidateTrials) advice.Candidate {
		c := advice.Candidate{Name: name, Rules: []string{name + " in words"}, Found: whatif.Found{Metrics: of, Moved: 2}, Trials: trials, Front: true,
			Rollout: &advice.CandidateRollout{Ends: true, Metrics: of}}
		if patch != "" {
			c.Patch = json.RawMessage(patch)
		}
		return c
	}
	seen := func(some, worst int, radius float64) *advice.CandidateTrials {
		return &advice.CandidateTrials{N: 50, Seed: 1, WorstPending: worst, SomePending: some, Low: 0.1, High: 0.3, WorstSeed: 17, Radius: []advice.TrialRadius{{TopologyKey: v1.LabelTopologyZone, Median: 0.5, Worst: radius}}}
	}
	best := candidate("soft zone", `{"spec":{"template":{"note":"it's"}}}`, counted(0, 0.5, 0, 0), seen(0, 0, 0.75))
	best.Surge = 1
	same := best
	same.Name, same.SameAs, same.Front = "soft zone + soft hostname", "soft zone", false
	stuck := candidate("hard zone", `{"spec":{}}`, counted(2, 0.5, 1, 2), seen(10, 3, 0.5))
	stuck.OwnPending, stuck.Why, stuck.Rollout = 1, "0/2 nodes are available.", &advice.CandidateRollout{Waiting: "web-1 waits for a node"}
	now := candidate("as it is", "", counted(1, 1, 2, 0), seen(50, 1, 1))
	now.Front, now.BeatenBy, now.BeatenIn = false, "soft zone", "Pending pods"
	now.Rollout.Pending = 2
	return New(&advice.Advice{
		Workload: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Replicas: 4, Result: reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply", "last"),
		Candidates: []advice.Candidate{best, same, stuck, now}, LeftOut: []string{"hard rack: no node has the label"},
	}, Again{Input: "shop.yaml", Ties: " --seed 3"}, top, "v0.1.0")
}

func TestFormats(t *testing.T) {
	r := advised(t, 3)
	for _, format := range []string{"text", "markdown"} {
		reporttest.Golden(t, "web."+format, reporttest.Write(t, Formats, r, format, report.Options{}))
	}
	out := reporttest.Write(t, Formats, r, "json", report.Options{})
	if err := reporttest.Validate(t, reporttest.Schema(t, "advice-report"), out); err != nil {
		t.Error(err)
	}
	reporttest.Has(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"4 candidates of shop/deployment/web (4 replicas) after step last; 50 runs with random ties of each that no other beats, seeds 1 to 50. An asterisk marks those that are not beaten.",
		"* 1    soft zone   0         2       ends         50%           0               0               75%",
		"* 2    hard zone   2         2       never ends   50%           2               3               50%",
		"  3    as it is    1         2       ends         100%          2               1               100%",
		"   Same result: soft zone + soft hostname",
		`     PATCH='{"spec":{"template":{"note":"it'\''s"}}}'`,
		`     kubectl patch deployment/web -n shop --type merge --patch "$PATCH"`,
		`     simulate blast shop.yaml --patch "shop/deployment/web=$PATCH" --recover=false --step last --ties random --seed 17  # the worst trial`,
		"   Not solved: the loss of zone b still strands 2 pods of 3 that it takes; 2 of the 2 failures looked at strand some",
		"   Not solved: a rolling update never ends: web-1 waits for a node",
		"   Not solved: with random ties a pod is Pending in 10 of 50 runs (95% interval 10% to 30%, seeds 1 to 50)",
		"Not shown: 1 beaten by soft zone in Pending pods: as it is",
	)
}

// Candidates with the same figures share their rank.
func TestRanks(t *testing.T) {
	var ranks []int
	for _, c := range advised(t, 1).Candidates {
		ranks = append(ranks, c.Rank)
	}
	if diff := cmp.Diff([]int{1, 1, 2, 3}, ranks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTop(t *testing.T) {
	for top, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3} {
		if shown, rest := advised(t, top).shown(); len(shown) != want || len(rest) != 4-want {
			t.Errorf("of the top %d, %d are shown and %d are not", top, len(shown), len(rest))
		}
	}
}

func TestVerdict(t *testing.T) {
	base := func(c ...Candidate) *Report { return &Report{Workload: "deployment/web", Replicas: 2, Candidates: c} }
	of := func(rank int, name, patch string) Candidate {
		c := Candidate{Rank: rank, Candidate: advice.Candidate{Name: name, Rules: []string{name}}}
		if patch != "" {
			c.Patch = json.RawMessage(patch)
		}
		return c
	}
	for want, r := range map[string]*Report{
		"No rule changes anything here: 1 other candidate came to the same as deployment/web does as it is.": base(of(1, "soft zone", "{}"), of(1, "as it is", "")),
		"Leave deployment/web as it is (as it is): it ranks first, and none of 1 other candidate beats it.":  base(of(1, "as it is", ""), of(2, "soft zone", "{}")),
		"Let the pods of deployment/web keep apart by soft zone.":                                            base(of(1, "soft zone", "{}"), of(2, "as it is", "")),
	} {
		if got := r.verdict(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"a-b_c./:=,+@%1": "a-b_c./:=,+@%1", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'"} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
