package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/deciders/kit/replay"
)

// outcome is how a recorded case ends.
type outcome struct {
	Order []string       `json:"quota_reserved_order"`
	End   map[string]end `json:"end"`
	// Evicted has pairs of a workload and Kueue's text.
	Evicted [][]string     `json:"evicted"`
	Pods    map[string]int `json:"pods_by_node"`
}

// end is how a workload ends.
type end struct {
	Admitted string              `json:"admitted"`
	Flavors  []map[string]string `json:"flavors"`
	Count    []int               `json:"count"`
	Text     *string             `json:"text"`
}

// describe returns the outcome without what is left to chance: UIDs, and where the scheduler puts pods among equal nodes.
func (o outcome) describe() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(o.End)) {
		e := o.End[name]
		text := ""
		if e.Text != nil {
			text = *e.Text
		}
		lines = append(lines, fmt.Sprint(name, " admitted ", e.Admitted, e.Flavors, e.Count, " ", text))
	}
	lines = append(lines, "order "+strings.Join(o.Order, " "))
	for _, pair := range o.Evicted {
		lines = append(lines, fmt.Sprint("evicted ", pair[0], ": ", uids.ReplaceAllString(pair[1], "$1: ?")))
	}
	return strings.Join(lines, "\n")
}

var uids = regexp.MustCompile(`(UID): [0-9a-f-]+`)

// onTopology are the cases in which only Kueue says on which node each pod runs. In 05d the eight Jobs that fill the nodes are equal, and chance says
// which of them is on which node.
func onTopology(name string) bool {
	return strings.HasPrefix(name, "04") || strings.HasPrefix(name, "05a")
}

// recordedCase is case.json.
type recordedCase struct {
	Steps []struct {
		Apply  any    `json:"apply"`
		Finish string `json:"finish"`
		Delete string `json:"delete"`
	} `json:"steps"`
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatal(path, err)
	}
}

// writeScenario writes the recorded case as a scenario, and returns its path.
func writeScenario(t *testing.T, folder string, seed int) string {
	t.Helper()
	var recorded recordedCase
	readJSON(t, filepath.Join(folder, "case.json"), &recorded)
	type object = map[string]any
	scenario := object{"apiVersion": "faultline/v1alpha1", "kind": "Scenario", "seed": seed, "ties": "random", "terminationSeconds": 0}
	decider := object{"name": "kueue"}
	if _, err := os.Stat(filepath.Join(folder, "kueue-config.yaml")); err == nil {
		decider["args"] = []string{"--config=" + filepath.Join(folder, "kueue-config.yaml")}
	}
	scenario["deciders"] = []any{decider}
	var steps []any
	for i, step := range recorded.Steps {
		do := object{"name": fmt.Sprintf("step-%d", i)}
		file, _ := step.Apply.(string)
		switch {
		case file != "" && scenario["cluster"] == nil:
			scenario["cluster"] = []any{object{"files": []any{filepath.Join(folder, file)}}}
			continue
		case file != "":
			do["apply"] = object{"files": []any{filepath.Join(folder, file)}}
		case step.Finish != "":
			do["finish"] = object{"target": "job/" + step.Finish}
		default:
			continue // the recorder starts Kueue
		}
		steps = append(steps, do)
	}
	scenario["steps"] = steps
	content, err := yaml.Marshal(scenario)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// queueReport is the part of the report of simulate queue that the tests look at.
type queueReport struct {
	Workloads []struct {
		Name       string `json:"name"`
		Job        struct{ Name string }
		State      string
		Reason     string
		Message    string
		Admissions []struct {
			Pods    int
			Flavors map[string]string
			Places  map[string]int
		}
		Evictions []struct {
			At              float64
			Reason, Message string
		}
	} `json:"workloads"`
}

// outcomeOf reads the outcome from the reports of simulate queue and simulate run.
func outcomeOf(t *testing.T, queue, run []byte) outcome {
	t.Helper()
	var report queueReport
	var pods struct {
		Steps []struct{ Pods []struct{ Node string } }
	}
	for content, into := range map[*[]byte]any{&queue: &report, &run: &pods} {
		if err := json.Unmarshal(*content, into); err != nil {
			t.Fatal(err)
		}
	}
	o := outcome{End: map[string]end{}, Pods: map[string]int{}}
	evicted := map[string]float64{}
	for _, w := range report.Workloads {
		name := "job-" + w.Job.Name
		e := end{Admitted: "no"}
		if w.State != "pending" {
			last := w.Admissions[len(w.Admissions)-1]
			e = end{Admitted: "True", Flavors: []map[string]string{last.Flavors}, Count: []int{last.Pods}}
		} else if w.Reason != "" {
			text := fmt.Sprintf("False:%s | %s", w.Reason, w.Message)
			e.Text = &text
		}
		o.End[name] = e
		if len(w.Admissions) > 0 {
			o.Order = append(o.Order, name)
		}
		for _, one := range w.Evictions {
			text := fmt.Sprintf("True:%s | %s", one.Reason, one.Message)
			o.Evicted = append(o.Evicted, []string{name, text})
			evicted[name+text] = one.At
		}
	}
	slices.SortFunc(o.Evicted, func(a, b []string) int { return int(evicted[a[0]+a[1]] - evicted[b[0]+b[1]]) })
	for _, pod := range pods.Steps[len(pods.Steps)-1].Pods {
		if pod.Node != "" {
			o.Pods[pod.Node]++
		}
	}
	return o
}

// checkRacks checks that each workload of a case whose jobs ask for a rack has all its pods in one: h-121 is a node of rack 12.
func checkRacks(t *testing.T, queue []byte) {
	t.Helper()
	var report queueReport
	if err := json.Unmarshal(queue, &report); err != nil {
		t.Fatal(err)
	}
	placed := 0
	for _, w := range report.Workloads {
		racks := map[string]bool{}
		for _, admission := range w.Admissions {
			for node, pods := range admission.Places {
				racks[node[:len(node)-1]] = true
				placed += pods
			}
		}
		if len(racks) > 1 {
			t.Errorf("%s is in the racks %v", w.Job.Name, slices.Sorted(maps.Keys(racks)))
		}
	}
	if placed == 0 {
		t.Error("no workload has a place")
	}
}

// TestRecorded runs the recorded cases by simulate, with its controllers and the real scheduler. Each must end as one of the runs of the real
// programs did, and two runs must write the same bytes.
func TestRecorded(t *testing.T) {
	simulate, decider := replay.Build(t, "-tags", "ordered", "-modfile", ".ordered/go.mod")
	folders, err := filepath.Glob("testdata/recorded/*")
	if err != nil || len(folders) == 0 {
		t.Fatal("no cases", err)
	}
	for _, folder := range folders {
		name := filepath.Base(folder)
		folder, err := filepath.Abs(folder)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			var observed map[string]outcome
			readJSON(t, filepath.Join(folder, "observed.json"), &observed)
			var ends []string
			for _, run := range observed {
				ends = append(ends, run.describe())
			}
			for seed := range 3 {
				scenario := writeScenario(t, folder, seed+1)
				flag := "kueue=" + decider
				queue := replay.Run(t, simulate, "queue", scenario, "--decider", flag, "-o", "json")
				run := replay.Run(t, simulate, "run", scenario, "--decider", flag, "-o", "json")
				got := outcomeOf(t, queue, run)
				if !slices.Contains(ends, got.describe()) {
					t.Errorf("seed %d ends with\n%s\nthe real programs ended with\n%s", seed+1, got.describe(), strings.Join(ends, "\nor\n"))
				}
				if diff := cmp.Diff(observed["1"].Pods, got.Pods); onTopology(name) && diff != "" {
					t.Errorf("seed %d has other pods on the nodes:\n%s", seed+1, diff)
				}
				if strings.HasPrefix(name, "05d") {
					checkRacks(t, queue)
				}
				if again := replay.Run(t, simulate, "queue", scenario, "--decider", flag, "-o", "json"); string(again) != string(queue) {
					t.Errorf("seed %d: two runs differ:\n%s", seed+1, cmp.Diff(string(queue), string(again)))
				}
			}
		})
	}
}

// TestTranscripts runs what the documentation shows, what would help a job that waits, and wrong input.
func TestTranscripts(t *testing.T) {
	simulate, decider := replay.Build(t, "-tags", "ordered", "-modfile", ".ordered/go.mod")
	replay.Transcripts(t, simulate, decider, "kueue")
}
