package simulation

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/dumptest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/variant"
)

// A run that takes steps from another run has the same result as a run without it: the same states, and the same random draws in later
// steps.
func TestPrefixGivesTheSame(t *testing.T) {
	base, err := loader.Load("../../scenarios/kind-walkthrough", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, random := range []bool{false, true} {
		base := *base
		base.Ties.Random = random
		first, err := Run(t.Context(), &base, Options{})
		if err != nil {
			t.Fatal(err)
		}
		web := cluster.Ref{Kind: "Deployment", Namespace: v1.NamespaceDefault, Name: ownerIn(t, first, "soft-hostname-10")}
		other := variant.Scale(&base, web, "soft-hostname-10", 7)
		if common, ok := scenario.CommonSteps(&base, other); !ok || common != 5 {
			t.Fatalf("%d common steps, %t; want 5", common, ok)
		}
		fresh, shared := runTwice(t, other, first)
		if &shared.Steps[4].Placed[0] != &first.Steps[4].Placed[0] {
			t.Error("the fifth step was run again")
		}
		for i := range fresh.Steps {
			if diff := cmp.Diff(nodesOf(&fresh.Steps[i]), nodesOf(&shared.Steps[i])); diff != "" {
				t.Errorf("random ties %t: step %s (-afresh +with prefix)\n%s", random, fresh.Steps[i].Name, diff)
			}
		}
	}
}

// runTwice runs a scenario from its start, and with a known prefix.
func runTwice(t *testing.T, s *scenario.Scenario, known *Result) (fresh, shared *Result) {
	t.Helper()
	fresh, err := Run(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if shared, err = Run(t.Context(), s, Options{Prefix: known}); err != nil {
		t.Fatal(err)
	}
	return fresh, shared
}

// The settled cluster of a scenario without steps is where a scenario with steps begins: with it as prefix, it is not run again.
func TestStepsFollowTheClusterAsItIs(t *testing.T) {
	dump := dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24})
	base, err := loader.FromFiles(bytes.NewReader(dump), []string{"-"}, nil, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, random := range []bool{false, true} {
		base := *base
		base.Ties.Random = random
		first, err := Run(t.Context(), &base, Options{})
		if err != nil {
			t.Fatal(err)
		}
		other := base.AppendStep(scenario.Step{Name: "restart", Rollout: &scenario.Rollout{
			Target: scenario.Target{Target: "deployment/svc-01", Namespace: "shop"}, Restart: true,
		}})
		fresh, shared := runTwice(t, other, first)
		if shared.Initial != first.Steps[0].State {
			t.Error("the cluster as it is was run again")
		}
		if len(fresh.Steps[0].Placed) == 0 {
			t.Error("nothing was restarted")
		}
		if diff := cmp.Diff(nodesOf(&fresh.Steps[0]), nodesOf(&shared.Steps[0])); diff != "" {
			t.Errorf("random ties %t (-afresh +with prefix)\n%s", random, diff)
		}
		if diff := cmp.Diff(fresh.Notes, shared.Notes); diff != "" {
			t.Errorf("random ties %t: notes (-afresh +with prefix)\n%s", random, diff)
		}
	}
}

// What a world drew with one seed does not influence what it draws with another seed.
func TestWorldsRunAgain(t *testing.T) {
	s, err := loader.Load("../../scenarios/kind-walkthrough", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Ties.Random = true
	world, err := NewWorld(s)
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	for seed := range uint64(5) {
		s.Ties.Seed = seed
		fresh, err := Run(t.Context(), s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Run(t.Context(), s, Options{World: world})
		if err != nil {
			t.Fatal(err)
		}
		for i := range fresh.Steps {
			if diff := cmp.Diff(nodesOf(&fresh.Steps[i]), nodesOf(&again.Steps[i])); diff != "" {
				t.Errorf("seed %d: step %s (-afresh +again)\n%s", seed, fresh.Steps[i].Name, diff)
			}
		}
	}
}

func ownerIn(t *testing.T, result *Result, step string) string {
	t.Helper()
	for i := range result.Steps {
		if result.Steps[i].Name == step {
			return result.Steps[i].State.Deployments[0].Name
		}
	}
	t.Fatalf("no step %s", step)
	return ""
}

func nodesOf(step *Step) map[string]string {
	nodes := map[string]string{}
	for _, pod := range step.State.Pods {
		nodes[pod.Name] = pod.Spec.NodeName
	}
	return nodes
}
