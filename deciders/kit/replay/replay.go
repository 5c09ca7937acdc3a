// Package replay runs scenarios with a decider, for the tests of deciders: both programs are built from this tree.
package replay

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

var update = flag.Bool("update", false, "write the transcripts anew")

// Transcripts runs the commands of the transcripts in testdata/transcripts: each folder has the files of a transcript, and in the file transcript
// each command after "$ ", with what it prints, in which the folder's own path is left out. The decider is found in the PATH by its name.
func Transcripts(t *testing.T, simulate, decider, name string) {
	t.Helper()
	bin := t.TempDir()
	for path, link := range map[string]string{simulate: "simulate", decider: "faultline-" + name} {
		if err := os.Symlink(path, filepath.Join(bin, link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("COLUMNS", "140")
	files, err := filepath.Glob("testdata/transcripts/*/transcript")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			folder, err := filepath.Abs(filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for line := range strings.Lines(string(want)) {
				if !strings.HasPrefix(line, "$ ") {
					if strings.HasPrefix(line, "# ") {
						got.WriteString(line)
					}
					continue
				}
				got.WriteString(line)
				cmd := exec.Command("bash", "-c", strings.TrimPrefix(line, "$ "))
				cmd.Dir = folder
				out, _ := cmd.CombinedOutput() // an error is a line of the transcript
				got.Write(bytes.ReplaceAll(out, []byte(folder+string(filepath.Separator)), nil))
			}
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if got.String() != string(want) {
				t.Errorf("%s: the commands print\n%s\nnot\n%s", file, got.String(), want)
			}
		})
	}
}
