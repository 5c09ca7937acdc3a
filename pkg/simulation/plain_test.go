package simulation

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// The caches of plugins' answers change nothing in any step of a recorded case, a scenario or a generated world.
func TestPlainRunsAreTheSame(t *testing.T) {
	for seed := range uint64(30) {
		samePlain(t, fmt.Sprint("world ", 1000+seed), generated(t, 1000+seed))
	}
	for i, kubernetes := range append(sched.EarlierReleases(), sched.Preview()) {
		for seed := range uint64(5) {
			seed += 2000 + 5*uint64(i)
			world := generated(t, seed)
			world.Config = configAs(t, sched.Release{Kubernetes: kubernetes})
			samePlain(t, fmt.Sprint("world ", seed, " as ", kubernetes), world)
		}
	}
	cases, err := filepath.Glob(filepath.Join("testdata", "groundtruth", "*", "case.json"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	for _, path := range cases {
		name := filepath.Base(filepath.Dir(path))
		if name == "h-large" {
			continue // too large for plain walks
		}
		for i, ties := range []string{"upstream", "random"} {
			samePlain(t, name+" "+ties, scenarioOf(t, name, loadCase(t, name), ties, uint64(i)))
		}
	}
	dirs, err := filepath.Glob(filepath.Join("testdata", "groundtruth", "failures", "f*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded failures: %v", err)
	}
	for _, dir := range dirs {
		samePlain(t, dir, failureScenario(t, dir, loadFailure(t, dir), "upstream", 1))
	}
	scenarios, err := filepath.Glob(filepath.Join("..", "..", "scenarios", "*", "scenario.yaml"))
	if err != nil || len(scenarios) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range scenarios {
		if filepath.Base(filepath.Dir(path)) == "five-thousand-nodes" {
			continue // likewise
		}
		s, err := loader.Load(filepath.Dir(path), loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		samePlain(t, path, s)
	}
}

func samePlain(t *testing.T, name string, s *scenario.Scenario) {
	t.Helper()
	plain := *s
	plain.Config = s.Config.Plain()
	want, got := runCase(t, &plain), runCase(t, s)
	for i := range want.Steps {
		a, b := &want.Steps[i], &got.Steps[i]
		type seen struct {
			State     *cluster.State
			Placed    []placement.Placement
			Pending   []placement.Pending
			Preempted []placement.Preemption
			Notes     []string
		}
		before, after := seen{a.State, a.Placed, a.Pending, a.Preempted, a.Notes}, seen{b.State, b.Placed, b.Pending, b.Preempted, b.Notes}
		if !reflect.DeepEqual(before, after) {
			if diff := cmp.Diff(before, after); diff != "" {
				t.Fatalf("%s, step %s (-plain +kept):\n%s", name, a.Name, diff)
			}
		}
	}
}
