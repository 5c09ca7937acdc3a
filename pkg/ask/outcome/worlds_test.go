package outcome

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

func deploymentJSON(name string, replicas int, cpu, spec string) apiruntime.RawExtension {
	return apiruntime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "%[1]s"}, "spec": {"replicas": %[2]d,
		"selector": {"matchLabels": {"app": "%[1]s"}}, "template": {"metadata": {"labels": {"app": "%[1]s"}},
		"spec": {%[3]s "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "%[4]s"}}}]}}}}`, name, replicas, spec, cpu)}
}

func applyStep(name string, fresh bool, objects ...apiruntime.RawExtension) scenario.Step {
	return scenario.Step{Name: name, Fresh: fresh, Apply: &scenario.Source{Objects: objects}}
}

func scenarioOf(t *testing.T, zones []topology.Zone, steps ...scenario.Step) *scenario.Scenario {
	t.Helper()
	s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{{Synthetic: &topology.Spec{Zones: zones}}}, Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// generateWorld returns a world of two or three zones, some of which are equal, with a few workloads, and with steps that continue each other.
func generateWorld(t *testing.T, seed uint64) *scenario.Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	var zones []topology.Zone
	for i := range 2 + r.IntN(2) {
		zones = append(zones, topology.Zone{Name: fmt.Sprintf("z-%d", i), NodeGroups: []topology.NodeGroup{{Count: new(1 + r.IntN(2)), CPU: "2"}}})
	}
	rules := []string{
		``,
		`"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "a"}}}]}},`,
		`"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}}]}},`,
		`"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "b"}}}}]}},`,
		`"nodeSelector": {"topology.kubernetes.io/zone": "z-1"},`,
	}
	rule := func() string { return rules[r.IntN(len(rules))] }
	cpu := func() string { return []string{"100m", "900m"}[r.IntN(2)] }
	steps := []scenario.Step{
		applyStep("one", false, deploymentJSON("a", 1+r.IntN(3), cpu(), rule())),
		applyStep("two", false, deploymentJSON("b", 1+r.IntN(2), cpu(), rule())),
	}
	switch r.IntN(3) {
	case 0:
		steps = append(steps, scenario.Step{Name: "down", Scale: &scenario.Scale{Target: scenario.Target{Target: "deployment/a"}, Replicas: 1}})
	case 1:
		steps = append(steps, scenario.Step{Name: "restart", Rollout: &scenario.Rollout{Target: scenario.Target{Target: "deployment/b"}, Restart: true}})
	}
	return scenarioOf(t, zones, append(steps, applyStep("again", true, deploymentJSON("a", 2, cpu(), rule())))...)
}

// placementShares returns the probabilities of the placements, by key.
func placementShares(t *testing.T, step *ExactStep) map[string]string {
	t.Helper()
	all := map[string]string{}
	for i := range step.Classes {
		for _, p := range step.Classes[i].Placements {
			if all[p.key()] != "" {
				t.Fatalf("%s: %s is there twice", step.Name, p.key())
			}
			all[p.key()] = step.Classes[i].Each.RatString()
		}
	}
	return all
}

// Merging interchangeable nodes changes no probability, and saves runs.
func TestMergingChangesNothing(t *testing.T) {
	merged, unmerged := 0, 0
	for seed := range uint64(40) {
		s := generateWorld(t, seed)
		with, without := runExact(t, s, Options{}), runExact(t, s, Options{keepNodesApart: true})
		for i := range with.Steps {
			if diff := cmp.Diff(placementShares(t, &without.Steps[i]), placementShares(t, &with.Steps[i])); diff != "" {
				t.Errorf("seed %d, step %s (-unmerged +merged)\n%s", seed, with.Steps[i].Name, diff)
			}
		}
		merged, unmerged = merged+with.Runs, unmerged+without.Runs
	}
	if 4*merged > 3*unmerged {
		t.Errorf("%d runs with merging, %d without", merged, unmerged)
	}
}

// Trials find every placement as often as its probability predicts, and no other placement.
func TestTrialsAgreeWithExact(t *testing.T) {
	const trials = 400
	for seed := range uint64(6) {
		s := generateWorld(t, seed)
		found := runExact(t, s, Options{})
		set, err := RunTrials(t.Context(), s, trials, 0, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range found.Steps {
			if found.Steps[i].Name == "down" || found.Steps[i].Name == "restart" {
				continue // which pod goes is drawn in trials, too
			}
			counts := map[string]int{}
			for _, f := range set.Steps[i].Placements {
				counts[f.Distribution.key()] = f.Seen
			}
			var observed, expected []float64
			for c := range found.Steps[i].Classes {
				class := &found.Steps[i].Classes[c]
				share, _ := class.Each.Float64()
				for _, p := range class.Placements {
					observed, expected = append(observed, float64(counts[p.key()])), append(expected, share)
					delete(counts, p.key())
				}
			}
			for key, n := range counts {
				t.Errorf("seed %d, step %s: %d trials came to %s, which is not possible", seed, found.Steps[i].Name, n, key)
			}
			if n, _ := strconv.Atoi(set.Steps[i].Different); n > maxListedInTrials {
				continue // the others are not listed one by one
			}
			if chance := chiSquared(observed, expected); chance < 0.0001 {
				t.Errorf("seed %d, step %s: counts %v under %v have chance %g", seed, found.Steps[i].Name, observed, expected, chance)
			}
		}
	}
}

// Four equal nodes in two zones of two; two pods that avoid each other's zone. The first goes anywhere (4 ways), the second
// to one of two nodes of the other zone: 8 ordered ways, 4 placements of 1/4 each. All are one state and its mirror images.
func TestByHand(t *testing.T) {
	apart := `"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "a"}}}]}},`
	zones := []topology.Zone{
		{Name: "z-1", NodeGroups: []topology.NodeGroup{{Count: new(2)}}},
		{Name: "z-2", NodeGroups: []topology.NodeGroup{{Count: new(2)}}},
	}
	found := runExact(t, scenarioOf(t, zones, applyStep("apart", false, deploymentJSON("a", 2, "100m", apart))), Options{})
	step := &found.Steps[0]
	if len(step.Classes) != 1 || step.Classes[0].Ways.Int64() != 4 || step.Classes[0].Each.RatString() != "1/4" || len(step.Classes[0].Placements) != 4 {
		t.Errorf("got %d classes, the first of %s ways with %s each; want one of 4 ways with 1/4", len(step.Classes), step.Classes[0].Ways, step.Classes[0].Each)
	}
	if found.Runs != 2 { // one for the cluster, one for the step: each tie is among nodes that stand for each other
		t.Errorf("%d runs, want 2", found.Runs)
	}
	// A rule that names a zone makes the zones different.
	named := `"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z-2"]}]}}]}},`
	found = runExact(t, scenarioOf(t, zones, applyStep("named", false, deploymentJSON("a", 1, "100m", named))), Options{})
	for _, p := range found.Steps[0].Classes[0].Placements {
		for node := range p.Nodes() {
			if node != "z-2-node-1" && node != "z-2-node-2" {
				t.Errorf("the pod is on %s, and its rule prefers zone z-2", node)
			}
		}
	}
}

// The order of two pods decides which of them is deleted: states that differ only in that order must not be merged.
func TestOrderCountsWherePodsAreDeleted(t *testing.T) {
	zones := []topology.Zone{{Name: "z-1", NodeGroups: []topology.NodeGroup{{Count: new(1), CPU: "2"}, {Name: "large", Count: new(1), CPU: "4"}}}}
	down := scenario.Step{Name: "down", Scale: &scenario.Scale{Target: scenario.Target{Target: "deployment/a"}, Replicas: 1}}
	s := scenarioOf(t, zones, applyStep("two", false, deploymentJSON("a", 2, "0", "")), down)
	found := runExact(t, s, Options{})
	// With equal scores either node may get the first pod, and the newer pod is deleted: so each node keeps its pod with the chance of coming
	// first.
	first := placementShares(t, &runExact(t, scenarioOf(t, zones, applyStep("one", false, deploymentJSON("a", 1, "0", ""))), Options{}).Steps[0])
	if diff := cmp.Diff(first, placementShares(t, &found.Steps[1])); diff != "" {
		t.Errorf("(-first +left)\n%s", diff)
	}
}

func TestTooMany(t *testing.T) {
	_, err := RunExact(t.Context(), walkthrough(t), Options{maxRuns: 20})
	var many *TooMany
	if !errors.As(err, &many) || many.Runs != 20 || many.Step == "" {
		t.Errorf("got %v", err)
	}
}

// Every trial is the run with its seed, on any number of workers.
func TestTrialsAreRuns(t *testing.T) {
	s := walkthrough(t)
	s.Ties.Seed = 7
	s.Ties.Arrivals = true
	const n = 20
	var sets []*TrialSet
	for _, procs := range []int{1, 8} {
		before := runtime.GOMAXPROCS(procs)
		set, err := RunTrials(t.Context(), s, n, 0, Options{})
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, set)
	}
	if diff := cmp.Diff(sets[0].Steps, sets[1].Steps); diff != "" {
		t.Errorf("(-one worker +eight)\n%s", diff)
	}
	for i, step := range sets[0].Steps {
		counts := map[string]int{}
		for trial := range uint64(n) {
			one := *s
			one.Ties.Random, one.Ties.Seed = true, 7+trial
			result, err := simulation.Run(t.Context(), &one, simulation.Options{})
			if err != nil {
				t.Fatal(err)
			}
			counts[newDistribution(result.Steps[i].State).key()]++
		}
		for _, f := range step.Placements {
			if got := counts[f.Distribution.key()]; got != f.Seen {
				t.Errorf("step %s: %d trials and %d runs came to %s", step.Name, f.Seen, got, f.Distribution.key())
			}
		}
	}
}

// With until at 5 points, a share of one half takes about 0.25·(1.96/0.05)² = 384 trials, so the first check, after 500, is enough.
func TestUntil(t *testing.T) {
	set, err := RunTrials(t.Context(), walkthrough(t), 2000, 0.05, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if set.N != checkInterval || !set.Reached {
		t.Errorf("%d trials, reached %t; want %d", set.N, set.Reached, checkInterval)
	}
	set, err = RunTrials(t.Context(), walkthrough(t), 60, 0.01, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if set.N != 60 || set.Reached {
		t.Errorf("%d trials, reached %t; want 60, and not", set.N, set.Reached)
	}
}
