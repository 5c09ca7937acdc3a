package scenario_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// The whole scenarios in the documentation do what they expect of themselves.
func TestDocsExamplesRun(t *testing.T) {
	text, err := os.ReadFile("../../docs/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	folder := fstest.MapFS{}
	entries, err := os.ReadDir("testdata/docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile("testdata/docs/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		folder[entry.Name()] = &fstest.MapFile{Data: data}
	}
	expectations := 0
	for _, match := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(text, -1) {
		if !strings.Contains(string(match[1]), "kind: Scenario") {
			continue
		}
		folder[scenario.FileName] = &fstest.MapFile{Data: match[1]}
		s, err := scenario.LoadFS(folder, scenario.FileName, scenario.Options{})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		result, err := simulation.Run(t.Context(), s, simulation.Options{})
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		judged, err := expect.Judge(t.Context(), result, nil)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		for i, step := range result.Steps {
			for _, expectation := range judged[i] {
				expectations++
				if !expectation.Met {
					t.Errorf("%s: step %q: %s", s.Name, step.Name, expectation)
				}
			}
			for _, note := range step.Notes {
				t.Logf("%s: step %q: %s", s.Name, step.Name, note)
			}
		}
	}
	if expectations < 10 {
		t.Errorf("only %d expectations were judged", expectations)
	}
}
