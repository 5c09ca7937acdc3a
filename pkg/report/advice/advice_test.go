package advice

import (
	"encoding/json"
	"strings"
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

// counted returns figures with that many Pending pods, that radius over 2 zones, and the pods that the loss of each zone strands.
func counted(pending int, radius float64, stranded ...int) metric.Metrics {
	zones := metric.LevelMetrics{TopologyKey: v1.LabelTopologyZone, Domains: 2, Radius: radius, RadiusIn: "a"}
	for i, n := range stranded {
		zones.Failures = append(zones.Failures, metric.FailureMetrics{Domain: string(rune('a' + i)), Lost: 5, Stranded: n + 1, OwnLost: 3, OwnStranded: n})
	}
	return metric.Metrics{Pods: 4, Pending: pending, Levels: []metric.LevelMetrics{zones}}
}

// advised returns a report with a best rule, one with the same figures, one whose rollout gets stuck, and the workload without changes.
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
	same.Name, same.SameAs, same.Front, same.Rollout, same.Trials = "soft zone + soft hostname", "soft zone", false, nil, nil
	stuck := candidate("hard zone", `{"spec":{}}`, counted(2, 0.5, 1, 2), seen(10, 3, 0.5))
	stuck.OwnPending, stuck.Why, stuck.Rollout = 1, "0/2 nodes are available.", &advice.CandidateRollout{Waiting: "web-1 waits for a node"}
	now := candidate("as it is", "", counted(1, 1, 2, 0), seen(50, 1, 1))
	now.Front, now.BeatenBy, now.BeatenIn = false, "soft zone", "Pending pods"
	now.Rollout.Pending = 2
	return New(&advice.Advice{
		Workload: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Replicas: 4, Result: reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply", "last"),
		Candidates: []advice.Candidate{best, same, stuck, now}, LeftOut: []string{"hard rack: no node has the label"},
	}, ScenarioArguments{Input: "shop.yaml", Ties: " --seed 3"}, top, "v0.1.0")
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
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{All: true}),
		"4 candidates of shop/deployment/web (4 replicas) after step last; 50 runs with random ties of each that no other beats, seeds 1 to 50. An asterisk marks those that are not beaten. NOT BACK counts its own pods.",
		"* 1    soft zone   0         2       ends         50%           0               0               75%",
		"* 2    hard zone   2         2       never ends   50%           2               3               50%",
		"  3    as it is    1         2       ends         100%          2               1               100%",
		"   Same result: soft zone + soft hostname",
		`     PATCH='{"spec":{"template":{"note":"it'\''s"}}}'`,
		`     kubectl patch deployment/web -n shop --type merge --patch "$PATCH"`,
		`     simulate blast shop.yaml --patch "shop/deployment/web=$PATCH" --recover=false --step last --ties random --seed 17  # the worst trial`,
		"   Not solved: 2 of 3 pods that the loss of zone b takes of it do not come back; after 2 of the 2 failures looked at some do not",
		"   Not solved: a rolling update never ends: web-1 waits for a node",
		"   Not solved: with random ties a pod is Pending in 10 of 50 runs (95% interval 10% to 30%, seeds 1 to 50)",
		"Not shown: 1 beaten by soft zone in Pending pods: as it is",
	)
}

// The workload without changes has no patch, and is not compared with itself.
func TestAllShown(t *testing.T) {
	r := advised(t, 4)
	out := reporttest.Write(t, Formats, r, "text", report.Options{All: true})
	reporttest.CheckLines(t, out,
		"   Beaten by soft zone in Pending pods",
		"   Not solved: after a rolling update 2 pods are Pending",
		"   Not solved: 2 of 3 pods that the loss of zone a takes of it do not come back",
		"   Run again:",
		"     simulate blast shop.yaml --step last --seed 3  # what each failure takes, what does not come back, and why")
	if strings.Count(out, "as it is") != 3 || strings.Count(out, "simulate compare") != 2 {
		t.Errorf("as it is stands in the table, in its title and in its rule, and two others are compared with it; got\n%s", out)
	}
	if soft, now := r.Candidates[0], r.Candidates[3]; soft.Apply == "" || now.Apply != "" {
		t.Errorf("soft zone is applied by %q, as it is by %q", soft.Apply, now.Apply)
	}
}

// A candidate that another beats was run without trials, a ReplicaSet has no rollout, and new nodes may bring a level.
func TestUnknownFigures(t *testing.T) {
	var got []string
	for _, cell := range advised(t, 1).table([]*Candidate{{}})[1] {
		got = append(got, cell.Text)
	}
	want := []string{"  0", "", "0", "0", "<none>", "<none>", "<none>", "<none>", "<none>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of equal worst failures, the first is named. A rolling update is named with what gets worse after it.
func TestUnsolved(t *testing.T) {
	level := func(key string, radius float64, skew int, stranded ...int) metric.LevelMetrics {
		of := metric.LevelMetrics{TopologyKey: key, Radius: radius, RadiusIn: "x", Skew: skew}
		for i, n := range stranded {
			of.Failures = append(of.Failures, metric.FailureMetrics{Domain: string(rune('a' + i)), Lost: 5, Stranded: n + 1, OwnLost: 3, OwnStranded: n})
		}
		return of
	}
	c := &Candidate{Candidate: advice.Candidate{
		Patch: json.RawMessage("{}"), Strategy: "maxUnavailable 1", Stuck: "web-1 waits", OwnPending: 1,
		Found: whatif.Found{Metrics: metric.Metrics{Pending: 1, Levels: []metric.LevelMetrics{
			level("region", 0.5, 1), level("zone", 0, 1, 1, 2, 2, 1), level("rack", 0.5, 1, 2, 1), level("hall", 0.5, 1, 0, 1)}}},
		Rollout: &advice.CandidateRollout{Ends: true, Metrics: metric.Metrics{Pending: 1, Levels: []metric.LevelMetrics{
			level("region", 0.75, 2), level("zone", 0, 2), level("rack", 0.5, 1), level("row", 1, 3)}}},
		Trials: &advice.CandidateTrials{N: 9, Radius: []advice.TrialRadius{{TopologyKey: "row", Worst: 1}}},
	}}
	c.Levels[0].RadiusIn = ""
	r := &Report{Workload: "deployment/web"}
	want := []string{
		"a rolling update goes on with maxUnavailable 1, so that pods are missing meanwhile; as the strategy is now it never ends: web-1 waits",
		"1 pod is Pending, 1 of them of deployment/web",
		"after a rolling update the loss of a region takes up to 75% instead of 50%",
		"after a rolling update the pods are less evenly spread over the domains of zone: skew 2 instead of 1",
		"2 of 3 pods that the loss of zone b takes of it do not come back; after 4 of the 4 failures looked at some do not",
		"the loss of a rack takes up to 50% of it (x)",
		"2 of 3 pods that the loss of rack a takes of it do not come back; after 2 of the 2 failures looked at some do not",
		"the loss of a hall takes up to 50% of it (x)",
		"1 of 3 pods that the loss of hall b takes of it does not come back",
	}
	if diff := cmp.Diff(want, append(r.costs(c), r.unsolved(c)...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBeaten(t *testing.T) {
	beaten := func(name, by string) *Candidate {
		return &Candidate{Candidate: advice.Candidate{Name: name, BeatenBy: by, BeatenIn: "Pending"}}
	}
	got := (&Report{}).beatenLines([]*Candidate{beaten("a", "x"), beaten("b", "y"), beaten("c", "x"), {Candidate: advice.Candidate{Name: "d", Front: true}},
		{Candidate: advice.Candidate{Name: "e"}}, {Candidate: advice.Candidate{Name: "f", AtBest: "x"}}})
	want := []string{"2 beaten by x in Pending: a; c", "1 beaten by y in Pending: b", "1 not beaten, but ranked lower: d",
		"1 not advised in any case, since more pods are Pending; failures of them were not simulated: e"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
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
		if shown, rest := advised(t, top).splitShown(); len(shown) != want || len(rest) != 4-want {
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
	one := base(of(1, "soft zone", "{}"), of(1, "as it is", ""))
	one.Replicas = 1
	none, strategy, both := of(1, "none", "{}"), of(1, "as it is, maxUnavailable 1", "{}"), of(1, "soft zone, maxUnavailable 1", "{}")
	none.Rules, strategy.Strategy, both.Strategy = nil, "maxUnavailable 1", "maxUnavailable 1"
	free := base(none, of(2, "as it is", ""))
	free.Candidates[1].BeatenBy = "none"
	free.Replicas = 1
	later := func(by string) Candidate {
		now := of(2, "as it is", "")
		now.BeatenBy = by
		return now
	}
	bare := of(1, "as it is", "")
	bare.Rules = nil
	for want, r := range map[string]*Report{
		"No rule changes anything here: deployment/web has 1 replica, and 1 other candidate came to the same.": one,
		"Let the pods of deployment/web have no rule to keep apart but the scheduler's own defaults.":          free,
		"Leave the rule of deployment/web as it is, and set maxUnavailable 1.":                                 base(strategy, later(strategy.Name)),
		"Let the pods of deployment/web keep apart by soft zone, maxUnavailable 1.":                            base(both, later(both.Name)),
		"Leave deployment/web as it is (no rule): it ranks first, and none of 1 other candidate beats it.":     base(bare, of(2, "soft zone", "{}")),
		"Leave deployment/web as it is (as it is): 1 other candidate came to the same. " + equalHereNote:       base(of(1, "soft zone", "{}"), of(1, "as it is", "")),
		"Leave deployment/web as it is (as it is): it ranks first, and none of 1 other candidate beats it.":    base(of(1, "as it is", ""), of(2, "soft zone", "{}")),
		// No rule at all has equal results here, which is no reason to drop the present one.
		"Leave deployment/web as it is (as it is): it ranks first, and none of 2 other candidates beats it. Without any rule it comes to the same here. " + equalHereNote: base(of(1, "as it is", ""), none, of(2, "soft zone", "{}")),
		"Let the pods of deployment/web keep apart by soft zone.": base(of(1, "soft zone", "{}"), later("soft zone")),
	} {
		if got := r.verdict(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"azAZ09-_./:=,+@%": "azAZ09-_./:=,+@%", "[": "'['", "{": "'{'", ";": "';'", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'"} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Pods of other workloads that are Pending with any rule count neither for nor against a rule.
func TestPendingOfOthers(t *testing.T) {
	r := &Report{Workload: "deployment/web", Candidates: []Candidate{
		{Candidate: advice.Candidate{Name: "soft zone", Patch: json.RawMessage(`{}`), Found: whatif.Found{Metrics: counted(3, 0.5)}, Trials: &advice.CandidateTrials{N: 5, Seed: 1, SomePending: 5, WorstPending: 3}}},
		{Candidate: advice.Candidate{Name: "hard zone", Patch: json.RawMessage(`{}`), Found: whatif.Found{Metrics: counted(4, 0.5)}, Trials: &advice.CandidateTrials{N: 5, Seed: 1, SomePending: 5, WorstPending: 4}}},
		{Candidate: advice.Candidate{Name: advice.AsItIs, Found: whatif.Found{Metrics: counted(3, 0.5)}, Trials: &advice.CandidateTrials{N: 5, Seed: 1, SomePending: 5, WorstPending: 3}}},
	}}
	for i, want := range []bool{false, true, false} {
		var said []string
		for _, line := range r.unsolved(&r.Candidates[i]) {
			if strings.Contains(line, "Pending") {
				said = append(said, line)
			}
		}
		if (len(said) == 2) != want || (len(said) == 0) == want {
			t.Errorf("%s: %q", r.Candidates[i].Name, said)
		}
	}
}
