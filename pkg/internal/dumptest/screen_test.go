package dumptest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/faultline/faultline/cmd/simulate/app"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/internal/dumptest"
	"github.com/faultline/faultline/pkg/internal/golden"
)

const (
	// screen is the number of lines that a planner sees without scrolling, and lineLength the length of a line.
	screen     = 42
	lineLength = 100
)

// On the dump of a realistic cluster with all its irregularities, the answer of each command fits a screen: its first lines are about the
// question, and the lines about the input come last. Words that are longer than a line, and commands to be copied, may be wider.
func TestAnswersFitAScreen(t *testing.T) {
	t.Setenv("COLUMNS", strconv.Itoa(lineLength))
	dump := filepath.Join(t.TempDir(), "dump.json")
	if err := os.WriteFile(dump, dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 48}), 0o600); err != nil {
		t.Fatal(err)
	}
	var answers strings.Builder
	for _, args := range [][]string{
		{"run", dump},
		{"run", dump, "--scale", "1.5", "-q"},
		{"run", dump, "--add-nodes", "2", "--like", "ip-10-0-1-16", "-q"},
		{"run", dump, "--remove-nodes", "pool=general=5", "-q"},
		{"run", dump, "--replace-nodes", "instance-type=m6.memory:m6.general", "-q"},
		{"compare", dump, "--scale", "1,1.5,3", "--recover=false", "--level", "zone"},
		{"run", dump, "-q"},
		{"blast", dump},
		{"blast", dump, "-q"},
		{"drain", dump, "node/ip-10-0-1-1"},
		{"lint", dump},
		{"lint", dump, "-q"},
		{"verify", dump},
		{"explain", "deployment/giant", dump, "-n", "shop"},
		{"capacity", dump, "--workload", "deployment/svc-02", "-n", "shop"},
		{"size", dump},
		{"advise", "deployment/svc-05", dump, "-n", "shop"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var out, errors bytes.Buffer
			if code := app.Main(args, strings.NewReader(""), &out, &errors); code != 0 && code != exit.Unmet {
				t.Fatalf("exit status %d\n%s", code, errors.String())
			}
			answered := out.String()
			for _, head := range []string{"\nScenario:", "\ncommand line:", "\nSkipped:"} { // what the input is, and lacks, comes last
				answered, _, _ = strings.Cut(answered, head)
			}
			if lines := strings.Count(answered, "\n"); lines > screen {
				t.Errorf("%d lines:\n%s", lines, out.String())
			}
			first, _, _ := strings.Cut(out.String(), "\n")
			whole := strings.NewReplacer("\n  ", " ").Replace(out.String()) // a line that goes on is indented
			answer, _, _ := strings.Cut(whole, "\n")
			fmt.Fprintf(&answers, "$ simulate %s\n%s\n", strings.ReplaceAll(strings.Join(args, " "), dump, "dump.json"), answer)
			if strings.HasPrefix(first, "Scenario:") || strings.HasPrefix(first, "Notes:") || first == "" {
				t.Errorf("begins with %q", first)
			}
			for line := range strings.Lines(out.String()) {
				if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > lineLength && !strings.Contains(line, "simulate ") && !strings.Contains(line, "kubectl ") {
					t.Errorf("a long line: %s", line)
				}
			}
		})
	}
	// These lines are what a user reads first, and often alone.
	golden.Compare(t, "testdata/first-lines", answers.String())
}
