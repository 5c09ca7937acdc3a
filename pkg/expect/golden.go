package expect

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/simulation"
)

// Golden has the placements of a scenario's pods after each step, at the time when its golden file was written.
type Golden struct {
	Steps []GoldenStep `json:"steps"`
}

// GoldenStep has the placements after one step.
type GoldenStep struct {
	Name string `json:"name"`
	// Pending is the number of Pending pods.
	Pending int `json:"pending"`
	// Workloads has the number of running pods by workload and node. A workload is kind/name in lower case, after its namespace unless that is
	// the default one. A bare pod is its own workload.
	Workloads map[string]map[string]int `json:"workloads,omitempty"`
}

// GoldenFile returns the path of a scenario's golden file: placements.golden.yaml beside a scenario.yaml, and NAME.placements.golden.yaml
// beside any other NAME.yaml.
func GoldenFile(file string) string {
	folder, base := filepath.Split(file)
	if base == loader.FileName {
		return folder + "placements.golden.yaml"
	}
	return folder + strings.TrimSuffix(base, filepath.Ext(base)) + ".placements.golden.yaml"
}

// NewGolden returns the placements of a result.
func NewGolden(result *simulation.Result) *Golden {
	g := &Golden{}
	for i := range result.Steps {
		step := &result.Steps[i]
		golden := GoldenStep{Name: step.Name, Pending: len(step.Pending)}
		owner := step.State.Owners()
		for _, pod := range step.State.Pods {
			of := owner(pod)
			// A StatefulSet keeps a Terminating pod: no other pod takes its place.
			if holds := of.Kind == "StatefulSet" && !cluster.IsTerminal(pod); pod.Spec.NodeName == "" || !cluster.IsActive(pod) && !holds {
				continue
			}
			name := of.Qualified()
			if golden.Workloads == nil {
				golden.Workloads = map[string]map[string]int{}
			}
			if golden.Workloads[name] == nil {
				golden.Workloads[name] = map[string]int{}
			}
			golden.Workloads[name][pod.Spec.NodeName]++
		}
		g.Steps = append(g.Steps, golden)
	}
	return g
}

// ReadGolden reads a golden file. It returns nil if the file does not exist.
func ReadGolden(file string) (*Golden, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	data, err := manifest.ReadFile(nil, nil, file)
	if err != nil {
		return nil, err
	}
	g := &Golden{}
	if err := manifest.Unmarshal(file, data, g); err != nil {
		return nil, fmt.Errorf("%w (simulate test --update writes it anew)", err)
	}
	return g, nil
}

// Write writes the golden file.
func (g *Golden) Write(file string) error {
	data, err := yaml.Marshal(g)
	if err != nil {
		return err
	}
	head := "# How many pods of each workload every node has after each step. Written by simulate test --update.\n"
	return os.WriteFile(file, append([]byte(head), data...), 0o644)
}

// Judge returns, for each step, the judged expectation that its placements equal those in the golden file of that name. The last step also
// lists the steps that only the file has.
func (g *Golden) Judge(result *simulation.Result, file string) []Judged {
	now := NewGolden(result)
	judged := make([]Judged, len(result.Steps))
	for i := range result.Steps {
		var differences []string
		at := slices.IndexFunc(g.Steps, func(s GoldenStep) bool { return s.Name == now.Steps[i].Name })
		if at < 0 {
			differences = []string{"the file has no such step"}
		} else {
			differences = g.Steps[at].listDifferences(&now.Steps[i])
		}
		if i == len(result.Steps)-1 {
			differences = append(differences, g.missingSteps(now)...)
		}
		judged[i] = Judged{Want: "placements as in " + filepath.Base(file), Got: "the same", Met: len(differences) == 0}
		if !judged[i].Met {
			judged[i].Got, judged[i].Why = joinSome(differences, "; "), describePending(result.Steps[i].Pending)
		}
	}
	return judged
}

// missingSteps lists the steps that only the file has.
func (g *Golden) missingSteps(now *Golden) []string {
	var gone []string
	for _, was := range g.Steps {
		if !slices.ContainsFunc(now.Steps, func(s GoldenStep) bool { return s.Name == was.Name }) {
			gone = append(gone, fmt.Sprintf("the file has a step %q, and the scenario has none", was.Name))
		}
	}
	return gone
}

// listDifferences returns, for each workload, "deployment/web: w1 2 (was 1), w2 0 (was 1)", and "2 Pending (was 0)".
func (s *GoldenStep) listDifferences(now *GoldenStep) []string {
	var differences []string
	if now.Pending != s.Pending {
		differences = append(differences, fmt.Sprintf("%d Pending (was %d)", now.Pending, s.Pending))
	}
	for _, name := range unionKeys(s.Workloads, now.Workloads) {
		var nodes []string
		for _, node := range unionKeys(s.Workloads[name], now.Workloads[name]) {
			if is, was := now.Workloads[name][node], s.Workloads[name][node]; is != was {
				nodes = append(nodes, fmt.Sprintf("%s %d (was %d)", node, is, was))
			}
		}
		if len(nodes) > 0 {
			differences = append(differences, name+": "+joinSome(nodes, ", "))
		}
	}
	return differences
}

// unionKeys returns the keys of both maps, sorted.
func unionKeys[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
