package advice

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
)

func figured(name string, pending int, radius float64, moved, complexity int) Candidate {
	zone := metric.LevelMetrics{TopologyKey: v1.LabelTopologyZone, Radius: radius, Skew: 1}
	return Candidate{Name: name, complexity: complexity, Found: whatif.Found{Moved: moved, Metrics: metric.Metrics{Pending: pending, Levels: []metric.LevelMetrics{zone}}}}
}

// All figures, in the order in which they decide. The results of a rollout count only if it ends.
func TestFigures(t *testing.T) {
	c := figured("", 1, 0.5, 0, 0)
	c.Levels[0].Failures = []metric.FailureMetrics{{Stranded: 3, OwnStranded: 2}}
	c.Levels = append(c.Levels, metric.LevelMetrics{TopologyKey: v1.LabelHostname, Radius: 0.25, Skew: 2})
	before := []goal{{"not back after the loss of a zone", 2}, {"radius of a zone", 0.5}, {"radius of a node", 0.25}}
	skews := []goal{{"skew over zone", 1}, {"skew over hostname", 2}}
	check := func(groups ...[]goal) {
		t.Helper()
		want := []goal{{"Pending", 1}}
		for _, group := range groups {
			want = append(want, group...)
		}
		if diff := cmp.Diff(want, c.computeGoals(), cmp.AllowUnexported(goal{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	check(before, skews)
	c.Rollout = &CandidateRollout{Metrics: metric.Metrics{Pending: 3, Levels: []metric.LevelMetrics{{TopologyKey: v1.LabelTopologyZone, Radius: 0.75, Skew: 4}}}}
	check([]goal{{"the rollout", rolloutNeverEnds}}, before, skews)
	c.Rollout.Ends, c.Strategy = true, "maxUnavailable 1"
	c.Trials = &CandidateTrials{WorstPending: 5, Radius: []TrialRadius{{TopologyKey: v1.LabelTopologyZone, Worst: 1}}}
	check([]goal{{"the rollout", rolloutEndsWithStrategy}, {"Pending after a rollout", 3}}, before, []goal{{"radius of a zone after a rollout", 0.75},
		{"Pending in the worst trial", 5}, {"radius of a zone in the worst trial", 1}}, skews, []goal{{"skew over zone after a rollout", 4}})
}

// The front comes first, though worse has as few Pending pods as the first. Among candidates with the same figures, the one that moves
// fewer pods comes first, then the simpler one.
func TestRank(t *testing.T) {
	candidates := []Candidate{figured("worse", 0, 0.6, 0, 0), figured("complex", 0, 0.5, 0, 2), figured("moves", 0, 0.5, 1, 0),
		figured("narrow", 1, 0.1, 0, 0), figured("simple", 0, 0.5, 0, 1)}
	rank(candidates)
	var got [][4]string
	for _, c := range candidates {
		got = append(got, [4]string{c.Name, c.SameAs, c.BeatenBy, c.BeatenIn})
	}
	want := [][4]string{{"simple"}, {"complex", "simple"}, {"moves", "simple"}, {"narrow"}, {"worse", "", "simple", "radius of a zone (50% against 60%)"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Figures that only one of two candidates has, such as the figures after a rollout that ends, are not compared.
func TestAgainst(t *testing.T) {
	a, b := figured("a", 0, 0.5, 0, 0), figured("b", 2, 0.25, 0, 0)
	a.Rollout, b.Rollout = &CandidateRollout{Ends: true, Metrics: metric.Metrics{Pending: 3}}, &CandidateRollout{}
	a.goals, b.goals = a.computeGoals(), b.computeGoals()
	better, worse := a.DifferencesFrom(&b)
	want := [][]string{{"Pending (0 against 2)", "the rollout (ends against never ends)"}, {"radius of a zone (50% against 25%)"}}
	if diff := cmp.Diff(want, [][]string{better, worse}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A rollout that ends and leaves the pods as they were does no harm.
func TestUnharmed(t *testing.T) {
	for name, test := range map[string]struct {
		after CandidateRollout
		want  bool
	}{
		"as before":        {CandidateRollout{Ends: true, Metrics: figured("", 1, 0.5, 0, 0).Metrics}, true},
		"never ends":       {CandidateRollout{Metrics: figured("", 1, 0.5, 0, 0).Metrics}, false},
		"more are Pending": {CandidateRollout{Ends: true, Metrics: figured("", 2, 0.5, 0, 0).Metrics}, false},
		"a larger radius":  {CandidateRollout{Ends: true, Metrics: figured("", 1, 0.6, 0, 0).Metrics}, false},
	} {
		c := candidateRun{Candidate: figured("", 1, 0.5, 0, 0)}
		c.Rollout = &test.after
		if got := c.rolloutHarmless(); got != test.want {
			t.Errorf("%s: unharmed %t", name, got)
		}
		c.Levels[0].Skew = 0
		if c.rolloutHarmless() {
			t.Errorf("%s: unharmed, though less evenly spread", name)
		}
	}
}

// The worst trial is the first with the most Pending pods and the largest radius at the first level that differs.
func TestSumUp(t *testing.T) {
	var found []*metric.Metrics
	for _, of := range []struct {
		pending int
		zone    float64
	}{{0, 0.5}, {2, 0.5}, {2, 0.75}, {2, 0.25}, {1, 1}, {0, 0.5}, {2, 0.75}} {
		m := figured("", of.pending, of.zone, 0, 0).Metrics
		m.Levels = append([]metric.LevelMetrics{{TopologyKey: "region", Radius: 1}}, m.Levels...)
		found = append(found, &m)
	}
	got := summarizeTrials(found, 7)
	got.Low, got.High = 0, 0
	want := &CandidateTrials{N: 7, Seed: 7, MedianPending: 2, WorstPending: 2, SomePending: 5, WorstSeed: 9,
		Radius: []TrialRadius{{"region", 1, 1}, {v1.LabelTopologyZone, 0.5, 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Failures are simulated for the workload as it is, for no rule, and for each candidate that no other covers. Then a candidate whose
// failures strand nothing covers the candidates that are at best as good. One whose failures strand more than the lower bound does not
// cover them, and they are next, unless they leave more pods Pending than now.
func TestUnsettled(t *testing.T) {
	key := v1.LabelTopologyZone
	open := func(name string, pending int, radius float64) Candidate {
		c := figured(name, pending, radius, 0, 1)
		c.Patch, c.Rules, c.minStranded = []byte("{}"), []string{name}, map[string]float64{key: 0}
		return c
	}
	now, none := open(AsItIs, 0, 0.5), open("none", 0, 0.75)
	now.Patch, none.Rules = nil, nil
	all := []Candidate{now, none, open("same", 0, 0.5), open("hard", 2, 0.25), open("harder", 2, 0.25)}
	names := func() (names []string) {
		for _, c := range selectForFailures(all) {
			names = append(names, c.Name)
		}
		return names
	}
	simulated := func(i, stranded int) {
		all[i].minStranded = nil
		all[i].Levels[0].Failures = []metric.FailureMetrics{{OwnStranded: stranded}}
		all[i].goals = all[i].computeGoals()
	}
	rank(all)
	if diff := cmp.Diff([]string{AsItIs, "hard", "none"}, names()); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	at := func(name string) int { return slices.IndexFunc(all, func(c Candidate) bool { return c.Name == name }) }
	simulated(at(AsItIs), 1)
	simulated(at("none"), 1)
	simulated(at("hard"), 1)
	if diff := cmp.Diff([]string{"same"}, names()); diff != "" {
		t.Errorf("where all strand one (-want +got):\n%s", diff)
	}
	simulated(at(AsItIs), 0)
	if diff := cmp.Diff([]string(nil), names()); diff != "" {
		t.Errorf("where one strands none (-want +got):\n%s", diff)
	}
	rank(all)
	var got [][4]string
	for _, c := range all {
		got = append(got, [4]string{c.Name, c.SameAs, c.BeatenBy, c.AtBest})
	}
	want := [][4]string{{AsItIs}, {"hard"}, {"same", "", "", AsItIs}, {"none", "", AsItIs}, {"harder"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ranked (-want +got):\n%s", diff)
	}
}
