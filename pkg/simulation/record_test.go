package simulation

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
)

// recordEverything records everything about every cycle.
func recordEverything(string, cluster.Ref, *v1.Pod) *placement.Depth { return &placement.Depth{} }

// On every recorded step, the parts of each score add up to the plugin's own score, for every node and every pod, and keeping them changes
// no decision.
func TestPartsAddUpToThePluginsScores(t *testing.T) {
	plugins := map[string]int{}
	for _, name := range cases {
		c := loadCase(t, name)
		plain := runCase(t, scenarioOf(t, name, c, "upstream", 1))
		result, err := Run(context.Background(), scenarioOf(t, name, c, "upstream", 1), Options{Record: recordEverything})
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range result.Steps {
			if got, want := len(step.Placed), len(plain.Steps[i].Placed); got != want {
				t.Fatalf("%s: %s: %d pods placed, and %d without a record", name, step.Name, got, want)
			}
			for j, placed := range step.Placed {
				if want := plain.Steps[i].Placed[j].Node; placed.Node != want {
					t.Errorf("%s: %s: %s is on %s, and on %s without a record", name, step.Name, placed.Pod.Name, placed.Node, want)
				}
				checkParts(t, name+": "+step.Name+": "+placed.Pod.Name, placed.Cycle, plugins)
			}
			for _, pending := range step.Pending {
				if pending.Cycle == nil {
					t.Errorf("%s: %s: no cycle for the pending pod %s", name, step.Name, pending.Pod.Name)
				}
			}
		}
	}
	for _, plugin := range []string{"InterPodAffinity", "PodTopologySpread"} {
		if plugins[plugin] == 0 {
			t.Errorf("no score of %s has parts, so nothing is tested; got %v", plugin, plugins)
		}
	}
}

// The points equal the scores of the candidates, for every pod of every recorded step.
func TestPointsAreThoseOfTheCandidates(t *testing.T) {
	points := func(string, cluster.Ref, *v1.Pod) *placement.Depth { return &placement.Depth{Points: true} }
	scored := 0
	for _, name := range cases {
		c := loadCase(t, name)
		want := recordOf(t, scenarioOf(t, name, c, "upstream", 1), recordEverything)
		for pod, got := range recordOf(t, scenarioOf(t, name, c, "upstream", 1), points) {
			if len(want[pod].Candidates) != len(got.Points.Nodes) {
				t.Fatalf("%s: %s: %d nodes have points, and there are %d candidates", name, pod, len(got.Points.Nodes), len(want[pod].Candidates))
			}
			for _, candidate := range want[pod].Candidates {
				at := slices.Index(got.Points.Nodes, candidate.Node)
				if at < 0 || got.Points.Totals[at] != candidate.Total {
					t.Fatalf("%s: %s: not the points of %s: %+v", name, pod, candidate.Node, got.Points)
				}
				for i, score := range candidate.Scores {
					scored++
					if got.Points.Plugins[i] != score.Plugin || got.Points.OfNode(at)[i] != score.Weighted {
						t.Errorf("%s: %s: %s gives %s %d, not %d", name, pod, score.Plugin, candidate.Node, score.Weighted, got.Points.OfNode(at)[i])
					}
				}
			}
		}
	}
	if scored == 0 {
		t.Error("nothing was scored, so nothing is tested")
	}
}

// recordOf returns the cycles of the pods that got a node, by step and name.
func recordOf(t *testing.T, s *scenario.Scenario, depth func(string, cluster.Ref, *v1.Pod) *placement.Depth) map[string]*placement.Cycle {
	t.Helper()
	result, err := Run(t.Context(), s, Options{Record: depth})
	if err != nil {
		t.Fatal(err)
	}
	cycles := map[string]*placement.Cycle{}
	for _, step := range result.Steps {
		for _, placed := range step.Placed {
			cycles[step.Name+"/"+placed.Pod.Name] = placed.Cycle
		}
	}
	return cycles
}

// checkParts checks a cycle, and counts the scores that have parts, by plugin.
func checkParts(t *testing.T, where string, cycle *placement.Cycle, plugins map[string]int) {
	t.Helper()
	if cycle == nil {
		t.Fatalf("%s: no cycle", where)
	}
	for _, candidate := range cycle.Candidates {
		var total int64
		for _, score := range candidate.Scores {
			total += score.Weighted
			if score.Weighted != score.Normalised*score.Weight {
				t.Errorf("%s: %s: %s: %d x %d is not %d", where, candidate.Node, score.Plugin, score.Normalised, score.Weight, score.Weighted)
			}
			switch score.Plugin {
			case "InterPodAffinity", "PodTopologySpread", "NodeAffinity":
			default:
				continue
			}
			var sum float64
			for _, part := range score.Parts {
				sum += part.Score
			}
			if int64(math.Round(sum)) != score.Raw {
				t.Errorf("%s: %s: the parts of %s add up to %v, and its score is %d: %+v", where, candidate.Node, score.Plugin, sum, score.Raw, score.Parts)
			}
			if len(score.Parts) > 0 {
				plugins[score.Plugin]++
			}
		}
		if total != candidate.Total {
			t.Errorf("%s: %s: the scores add up to %d, and the total is %d", where, candidate.Node, total, candidate.Total)
		}
	}
}

// The same holds for generated worlds, which have every kind of rule.
func TestPartsAddUpInGeneratedWorlds(t *testing.T) {
	plugins := map[string]int{}
	for seed := range uint64(60) {
		result, err := Run(context.Background(), generated(t, seed), Options{Record: recordEverything})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range result.Steps {
			for _, placed := range step.Placed {
				checkParts(t, fmt.Sprintf("seed %d: %s: %s", seed, step.Name, placed.Pod.Name), placed.Cycle, plugins)
			}
		}
	}
	for _, plugin := range []string{"InterPodAffinity", "PodTopologySpread"} {
		if plugins[plugin] == 0 {
			t.Errorf("no score of %s has parts, so nothing is tested; got %v", plugin, plugins)
		}
	}
}

// A record names only as many nodes as Depth asks for: the best ones, the chosen one, and those in Named.
func TestRecordKeepsWhatIsAskedFor(t *testing.T) {
	c := loadCase(t, "b-soft-hetero")
	for _, nodes := range []int{1, 2} {
		result, err := Run(context.Background(), scenarioOf(t, "b-soft-hetero", c, "random", 3), Options{
			Record: func(string, cluster.Ref, *v1.Pod) *placement.Depth { return &placement.Depth{Nodes: nodes} },
		})
		if err != nil {
			t.Fatal(err)
		}
		all, err := Run(context.Background(), scenarioOf(t, "b-soft-hetero", c, "random", 3), Options{Record: recordEverything})
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range result.Steps {
			for j, placed := range step.Placed {
				kept, full := placed.Cycle.Candidates, all.Steps[i].Placed[j].Cycle.Candidates
				if len(kept) > nodes+1 || len(kept) > len(full) {
					t.Fatalf("%s: %d candidates kept of %d, %d asked for", placed.Pod.Name, len(kept), len(full), nodes)
				}
				has := false
				for k, candidate := range kept {
					has = has || candidate.Node == placed.Node
					if k < nodes && candidate.Node != full[k].Node && candidate.Rank != full[k].Rank {
						t.Errorf("%s: candidate %d is %s, and %s is better", placed.Pod.Name, k, candidate.Node, full[k].Node)
					}
				}
				if !has {
					t.Errorf("%s: its node %s is not among the candidates", placed.Pod.Name, placed.Node)
				}
			}
		}
	}
}
