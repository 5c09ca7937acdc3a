package scenarios_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/simulation"
)

// gateRow is a row of the table of gates that are off by default in docs/model.md.
type gateRow struct {
	gate, file string
	needs      []string
	without    string // what the scenario says without the gate
}

var gateRowPattern = regexp.MustCompile("^\\| (\\w+) \\| ([^|]+) \\|.*\\| \\[[\\w-]+\\]\\(\\.\\./scenarios/(gates/[\\w-]+\\.yaml)\\) \\| `(.+)`.* \\|$")

func gateRows(t *testing.T) (rows []gateRow) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", "model.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if found := gateRowPattern.FindStringSubmatch(strings.TrimSpace(line)); found != nil {
			row := gateRow{gate: found[1], file: found[3], without: found[4]}
			if found[2] != "–" {
				row.needs = strings.Split(found[2], ", ")
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// runGates runs the scenario, and returns everything that is wrong: the error, or the expectations that are not met, with the messages of the
// Pending pods.
func runGates(t *testing.T, file, gates string) string {
	t.Helper()
	s, err := loader.Load(file, loader.Options{FeatureGates: gates})
	if err != nil {
		return err.Error()
	}
	result, err := simulation.Run(context.Background(), s, simulation.Options{})
	if err != nil {
		return err.Error()
	}
	judged, err := expect.Judge(context.Background(), result, nil)
	if err != nil {
		t.Fatal(err)
	}
	var unmet []string
	for i, step := range judged {
		for _, e := range expect.Unmet(step) {
			unmet = append(unmet, e.String())
			for _, pending := range result.Steps[i].Pending {
				unmet = append(unmet, pending.Message)
			}
		}
	}
	return strings.Join(unmet, "\n")
}

// The table has a row for each scenario of the folder. Each scenario switches on its gate and the gates that this one needs. With the gate its
// expectations are met, and without it the scenario says what the table says.
func TestGates(t *testing.T) {
	rows := gateRows(t)
	var files []string
	for _, row := range rows {
		files = append(files, row.file)
		t.Run(row.gate, func(t *testing.T) {
			s, err := loader.Load(row.file, loader.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var on []string
			for _, gate := range strings.Split(s.Config.Release().FeatureGates, ",") {
				name, value, _ := strings.Cut(gate, "=")
				if value != "true" {
					t.Errorf("%s sets %s", row.file, gate)
				}
				on = append(on, name)
			}
			want := append(slices.Clone(row.needs), row.gate)
			slices.Sort(want)
			if diff := cmp.Diff(want, on); diff != "" {
				t.Errorf("gates (-table +%s):\n%s", row.file, diff)
			}
			if wrong := runGates(t, row.file, ""); wrong != "" {
				t.Errorf("with the gate: %s", wrong)
			}
			if wrong := runGates(t, row.file, row.gate+"=false"); !strings.Contains(wrong, row.without) {
				t.Errorf("without the gate: %s\nthe table has: %s", wrong, row.without)
			}
		})
	}
	all, err := filepath.Glob("gates/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	if diff := cmp.Diff(all, files); diff != "" {
		t.Errorf("scenarios (-folder +table):\n%s", diff)
	}
}
