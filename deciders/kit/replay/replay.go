// Package replay runs scenarios with a decider, for the tests of deciders: both programs are built from this tree.
package replay

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Report is the part of simulate's report on a run that tests of deciders look at.
type Report struct {
	Steps []Step `json:"steps"`
}

// Step is a step of the run.
type Step struct {
	Name string `json:"name"`
	Pods []struct {
		Name string `json:"name"`
		Node string `json:"node"`
	} `json:"pods"`
	Decided []Decided `json:"decided"`
}

// Decided is what a decider did in a step.
type Decided struct {
	Acts []struct {
		Round   int    `json:"round"`
		Verb    string `json:"verb"`
		Node    string `json:"node"`
		Refused string `json:"refused"`
	} `json:"acts"`
	AddedNodes   []string `json:"addedNodes"`
	RemovedNodes []string `json:"removedNodes"`
	Cycle        *struct {
		EverySeconds float64 `json:"everySeconds"`
	} `json:"cycle"`
}

// Build builds simulate and, with the flags, the decider in the working directory. It returns their paths.
func Build(t testing.TB, flags ...string) (simulate, decider string) {
	t.Helper()
	dir := t.TempDir()
	simulate, decider = filepath.Join(dir, "simulate"), filepath.Join(dir, "decider")
	for _, args := range [][]string{{"build", "-C", "../..", "-o", simulate, "./cmd/simulate"}, append(append([]string{"build", "-o", decider}, flags...), ".")} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	return simulate, decider
}

// Run runs simulate with the arguments, and returns what it prints.
func Run(t testing.TB, simulate string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(simulate, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("simulate %v: %v", args, err)
	}
	return out
}

// RunJSON runs simulate with the arguments, and returns its report.
func RunJSON(t testing.TB, simulate string, args ...string) *Report {
	t.Helper()
	report := &Report{}
	if err := json.Unmarshal(Run(t, simulate, append(args, "-o", "json")...), report); err != nil {
		t.Fatal(err)
	}
	return report
}
