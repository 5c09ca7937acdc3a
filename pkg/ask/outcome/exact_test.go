package outcome

import (
	"encoding/json"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// recordedCase is a case of package simulation: what a real control plane did, step by step.
type recordedCase struct {
	Steps []struct {
		Name   string
		Fresh  bool
		File   string
		Expect struct{ PlacementsWithRandomTies []recordedPlacement }
	}
}

// recordedPlacement has the number of pods of each node, and the number of runs with these numbers.
type recordedPlacement struct {
	Nodes map[string]int
	Seen  int
}

func loadCase(t *testing.T, name string) (*recordedCase, *scenario.Scenario) {
	t.Helper()
	dir := filepath.Join("..", "..", "simulation", "testdata", "groundtruth", name)
	data, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := &recordedCase{}
	if err := json.Unmarshal(data, c); err != nil {
		t.Fatal(err)
	}
	file := &scenario.File{Cluster: []scenario.Source{{Files: []string{filepath.Join(dir, "nodes.yaml")}}}}
	for _, step := range c.Steps {
		file.Steps = append(file.Steps, scenario.Step{
			Name: step.Name, Fresh: step.Fresh, Apply: &scenario.Source{Files: []string{filepath.Join(dir, step.File)}},
		})
	}
	s, err := loader.New(name, file)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func runExact(t *testing.T, s *scenario.Scenario, opts Options) *Exact {
	t.Helper()
	found, err := RunExact(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range found.Steps {
		sum := new(big.Rat)
		for i := range step.Classes {
			sum.Add(sum, step.Classes[i].Total())
		}
		if sum.Cmp(big.NewRat(1, 1)) != 0 {
			t.Errorf("%s: probabilities add up to %s", step.Name, sum.RatString())
		}
	}
	return found
}

// probabilitiesByNode adds up the probabilities of the distributions of all pods over nodes.
func probabilitiesByNode(t *testing.T, step *ExactStep) []nodeOutcome {
	t.Helper()
	var all []nodeOutcome
	for i := range step.Classes {
		c := &step.Classes[i]
		if c.Ways.Cmp(big.NewInt(int64(len(c.Placements)))) != 0 {
			t.Fatalf("%s: %d of %s placements are listed", step.Name, len(c.Placements), c.Ways)
		}
	placements:
		for _, p := range c.Placements {
			nodes := p.Nodes()
			for j := range all {
				if maps.Equal(all[j].nodes, nodes) {
					all[j].p.Add(all[j].p, c.Each)
					continue placements
				}
			}
			all = append(all, nodeOutcome{nodes, new(big.Rat).Set(c.Each)})
		}
	}
	return all
}

type nodeOutcome struct {
	nodes map[string]int
	p     *big.Rat
}

// The outcomes of a real control plane with random ties are possible, and as frequent as their probabilities predict.
func TestExactAgreesWithARealControlPlane(t *testing.T) {
	for _, name := range []string{"a-walkthrough", "b-soft-hetero", "e-pod-affinity"} {
		t.Run(name, func(t *testing.T) {
			c, s := loadCase(t, name)
			found := runExact(t, s, Options{})
			for i := range found.Steps {
				step, want := &found.Steps[i], c.Steps[i].Expect.PlacementsWithRandomTies
				all := probabilitiesByNode(t, step)
				counts, shares := make([]float64, len(all)), make([]float64, len(all))
				for j, o := range all {
					shares[j], _ = o.p.Float64()
				}
				if step.Name == "08-web-then-cache-in-one-apply" {
					// These pods wait for the arrival of another pod: the time of their next try decides, not a tie.
					continue
				}
				for _, w := range want {
					possible := false
					for j, o := range all {
						if maps.Equal(o.nodes, w.Nodes) {
							possible = true
							counts[j] = float64(w.Seen)
						}
					}
					if !possible {
						t.Errorf("%s: %v was seen %d times, and is none of the %d outcomes", step.Name, w.Nodes, w.Seen, len(all))
					}
				}
				if name == "a-walkthrough" && len(want) != len(all) {
					t.Errorf("%s: %d outcomes, and %d were seen", step.Name, len(all), len(want))
				}
				if chance := chiSquared(counts, shares); chance <= 0.001 {
					t.Errorf("%s: counts %v under probabilities %v have chance %g", step.Name, counts, shares, chance)
				}
			}
		})
	}
}
