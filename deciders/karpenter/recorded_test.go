package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/deciders/kit/replay"
)

// outcome is how a recorded case ends.
type outcome struct {
	Nodes   []string `json:"live_nodes"` // nodepool/type/zone/capacity type pods=N
	Made    int      `json:"made"`
	Removed int      `json:"removed"`
	Pending int      `json:"pending"`
}

// describe returns the outcome of a case without what is left to chance: the zones, which Karpenter draws among equal prices; in 05a how many
// nodes of each kind there are, since Karpenter orders equal pods by their UIDs.
func (o outcome) describe(name string) string {
	nodes := make([]string, len(o.Nodes))
	for i, node := range o.Nodes {
		nodes[i] = regexp.MustCompile(`/test-zone-[a-d]/`).ReplaceAllString(node, "/")
		if strings.HasPrefix(name, "05a") {
			nodes[i], _, _ = strings.Cut(nodes[i], " ")
		}
	}
	slices.Sort(nodes)
	if strings.HasPrefix(name, "05a") {
		nodes, o.Made = slices.Compact(nodes), 0
	}
	return fmt.Sprintf("%s; made %d, removed %d, %d pending", strings.Join(nodes, ", "), o.Made, o.Removed, o.Pending)
}

// cases returns the recorded cases: what was asked, and how each run of the real programs ended. See testdata/recorded.
func cases(t *testing.T) map[string][]string {
	t.Helper()
	folders, err := filepath.Glob("testdata/recorded/*/observed.json")
	if err != nil || len(folders) == 0 {
		t.Fatal("no cases", err)
	}
	all := map[string][]string{}
	for _, path := range folders {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		runs := map[string]outcome{}
		if err := json.Unmarshal(content, &runs); err != nil {
			t.Fatal(path, err)
		}
		name := filepath.Base(filepath.Dir(path))
		for _, run := range runs {
			all[name] = append(all[name], run.describe(name))
		}
	}
	return all
}

// TestRecorded plays the recorded cases in the small world of these tests. Each must end as one of the runs of the real programs did.
func TestRecorded(t *testing.T) {
	for name, observed := range cases(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				w := play(t, name, seed+1)
				got := outcome{w.nodes(), w.count("create NodeClaim"), w.count("delete NodeClaim"), w.pending()}.describe(name)
				if strings.HasPrefix(name, "06c") || strings.HasPrefix(name, "06g") { // which nodes are empty depends on which pods are deleted
					if w.count("evict") > 0 {
						t.Errorf("seed %d: a node with pods is removed:\n%s", seed+1, strings.Join(w.calls, "\n"))
					}
					continue
				}
				if !slices.Contains(observed, got) {
					t.Errorf("seed %d ends with\n%s\nthe real programs ended with\n%s", seed+1, got, strings.Join(observed, "\n"))
				}
			}
		})
	}
}

// buildAll builds simulate and the decider, in its ordered build if the tests have it.
func buildAll(t *testing.T) (simulate, decider string) {
	t.Helper()
	if ordered {
		return replay.Build(t, "-tags", "ordered", "-modfile", ".ordered/go.mod")
	}
	return replay.Build(t)
}

// TestSimulate runs the recorded cases by simulate, with its controllers and the real scheduler.
func TestSimulate(t *testing.T) {
	simulate, decider := buildAll(t)
	for name, observed := range cases(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range 3 {
				scenario := filepath.Join(t.TempDir(), "scenario.yaml")
				content, err := yaml.Marshal(scenarioOf(t, name, seed+1))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(scenario, content, 0o600); err != nil {
					t.Fatal(err)
				}
				said := replay.Run(t, simulate, "run", scenario, "--decider", "karpenter="+decider, "-o", "json")
				if got := outcomeOf(t, said).describe(name); !slices.Contains(observed, got) {
					t.Errorf("seed %d ends with\n%s\nthe real programs ended with\n%s", seed+1, got, strings.Join(observed, "\n"))
				}
			}
		})
	}
}

// scenarioOf makes a scenario of a recorded case.
func scenarioOf(t *testing.T, name string, seed int) object {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("testdata", "recorded", name))
	if err != nil {
		t.Fatal(err)
	}
	recorded := readCase(t, name)
	decider := object{"name": "karpenter", "args": recorded.args()}
	scenario := object{
		"apiVersion": "faultline/v1alpha1", "kind": "Scenario", "seed": seed, "ties": "random", "arrivals": "random", "terminationSeconds": 0,
		"deciders": []any{decider},
	}
	if recorded.SchedConfig != "" {
		scenario["scheduler"] = object{"config": filepath.Join(folder, recorded.SchedConfig)}
	}
	var steps []any
	for i, step := range recorded.Steps {
		do := object{"name": fmt.Sprintf("step-%d", i)}
		switch {
		case step.Apply != "" && scenario["cluster"] == nil:
			scenario["cluster"] = []any{object{"files": []any{filepath.Join(folder, step.Apply)}}}
			continue
		case step.Apply != "":
			do["apply"] = object{"files": []any{filepath.Join(folder, step.Apply)}}
		case step.Scale != "":
			namespace, name, _ := strings.Cut(step.Scale, "/")
			do["scale"] = object{"target": "deployment/" + name, "namespace": namespace, "replicas": step.Replicas}
		case step.Patch != "":
			kind, name, _ := strings.Cut(step.Patch, "/")
			for _, o := range readObjects(t, filepath.Join(folder, recorded.Steps[0].Apply)) {
				if o["kind"] == kind && path(o, "metadata", "name") == name {
					content, err := yaml.Marshal(mergePatch(o, step.With))
					if err != nil {
						t.Fatal(err)
					}
					file := filepath.Join(t.TempDir(), "changed.yaml")
					if err := os.WriteFile(file, content, 0o600); err != nil {
						t.Fatal(err)
					}
					do["apply"] = object{"files": []any{file}}
				}
			}
		default:
			continue // the recorder starts Karpenter
		}
		steps = append(steps, do)
	}
	scenario["steps"] = steps
	return scenario
}

// outcomeOf reads the outcome from a report.
func outcomeOf(t *testing.T, report []byte) outcome {
	t.Helper()
	var read struct {
		Steps []struct {
			Pods    []struct{ Node string }
			Decided []struct {
				Acts []struct {
					Verb, Why string
					Object    struct{ Kind, Name string }
				}
			}
		}
	}
	if err := json.Unmarshal(report, &read); err != nil {
		t.Fatal(err)
	}
	var o outcome
	nodes, pods := map[string]string{}, map[string]int{}
	for i, step := range read.Steps {
		for _, decided := range step.Decided {
			for _, act := range decided.Acts {
				switch act.Verb + " " + act.Object.Kind {
				case "create NodeClaim":
					o.Made++
				case "delete NodeClaim":
					o.Removed++
				case "create Node": // the reason is: type, zone, capacity type
					pool, _, _ := strings.Cut(act.Object.Name, "-")
					nodes[act.Object.Name] = pool + "/" + strings.ReplaceAll(act.Why, ", ", "/")
				case "delete Node":
					delete(nodes, act.Object.Name)
				}
			}
		}
		if i == len(read.Steps)-1 {
			for _, pod := range step.Pods {
				pods[pod.Node]++
			}
		}
	}
	o.Pending = pods[""]
	for name, node := range nodes {
		o.Nodes = append(o.Nodes, fmt.Sprintf("%s pods=%d", node, pods[name]))
	}
	return o
}
