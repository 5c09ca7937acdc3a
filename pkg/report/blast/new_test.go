package blast

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/risk"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

func blasted(t testing.TB, file string, opts blast.Options) *Report {
	t.Helper()
	s, err := loader.Load(file, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return reported(t, s, opts)
}

func reported(t testing.TB, s *scenario.Scenario, opts blast.Options) *Report {
	t.Helper()
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	step := result.Last()
	analysis, err := blast.Lost(step.State, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := blast.Recover(t.Context(), step.State, s, analysis, opts, nil); err != nil {
		t.Fatal(err)
	}
	blasted := Blasted{Step: step, Analysis: analysis}
	if len(s.Failures.Rates) > 0 {
		if blasted.Risk, err = risk.Analyze(t.Context(), step.State, s.Failures.Rates, risk.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return New(result, []Blasted{blasted}, opts, blast.Filter{}, true, "v0.1.0")
}

// The figures of testdata/world.yaml, as computed by hand.
func TestNewBlast(t *testing.T) {
	r := blasted(t, "testdata/world.yaml", blast.Options{Simultaneous: 1, Mode: node.Unreachable, Levels: []string{doc.Zone}})
	level := r.Steps[0].Levels[0]
	if want := (blast.Radius{Share: 1, Namespace: "default", Workload: "deployment/solo", Lost: 1, Replicas: 1, Domains: []string{"a"}}); !cmp.Equal(want, level.Radius) {
		t.Errorf("radius %+v, want %+v", level.Radius, want)
	}
	// Zone a takes all of solo, the others a third of web and of db.
	if want := (1 + 1./3 + 1./3) / 3; *level.Mean < want-1e-9 || *level.Mean > want+1e-9 {
		t.Errorf("mean %v, want %v", *level.Mean, want)
	}
	if diff := cmp.Diff([]blast.Share{{Share: 1. / 3, Failures: 2}, {Share: 1, Failures: 1}}, level.Shares); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cp"}, level.Unlabelled); diff != "" {
		t.Errorf("unlabelled (-want +got):\n%s", diff)
	}
	type figures struct {
		Pods, Lost, Recovered, Stranded, NotReplaced int
		Budgets                                      []string
	}
	var got []figures
	for _, f := range level.Failures {
		got = append(got, figures{f.Pods, f.Recovery.Lost, len(f.Recovery.Recovered), len(f.Recovery.Stranded), len(f.Recovery.NotReplaced), f.BrokenBudgets})
	}
	web := []string{"default/web"}
	if diff := cmp.Diff([]figures{{4, 4, 1, 1, 2, web}, {4, 4, 0, 1, 3, web}, {3, 3, 0, 1, 2, web}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The pod of the DaemonSet agent that each zone takes is counted apart. Zone a takes one pod each of web and db, which do not come back, so
// that one more failure takes 1 of the 2 that are left; of solo it takes all.
func TestNewRecovery(t *testing.T) {
	r := blasted(t, "testdata/world.yaml", blast.Options{Simultaneous: 1, Mode: node.Unreachable, Levels: []string{doc.Zone}})
	a := r.Steps[0].Levels[0].Failures[0].Recovery
	if a.OfDaemonSets != 1 || a.CountLost() != 3 || a.CountNotReplaced() != 1 {
		t.Errorf("%d of DaemonSets, %d lost and %d not replaced without them; want 1, 3 and 1", a.OfDaemonSets, a.CountLost(), a.CountNotReplaced())
	}
	if a.Lost != len(a.Recovered)+len(a.Stranded)+len(a.NotReplaced) {
		t.Errorf("%d lost are not %d recovered, %d stranded and %d not replaced", a.Lost, len(a.Recovered), len(a.Stranded), len(a.NotReplaced))
	}
	if a.After.Share != 1 || a.AfterReplicated.Share != 0.5 {
		t.Errorf("after it %v, of several replicas %v; want 1 and 0.5", a.After.Share, a.AfterReplicated.Share)
	}
}

func TestWhyNotReplaced(t *testing.T) {
	r := blasted(t, "testdata/world.yaml", blast.Options{Simultaneous: 1, Mode: node.Unreachable, Levels: []string{doc.Zone}})
	got := map[string]string{}
	for _, pod := range r.Steps[0].Levels[0].Failures[1].Recovery.NotReplaced {
		name, _, _ := strings.Cut(pod.Name, "-")
		got[name], _, _ = strings.Cut(pod.Why, ":")
	}
	want := map[string]string{
		"agent": "pod of a DaemonSet", "bare": "bare pod", "db": "pod of a StatefulSet on a node that is only unreachable",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
