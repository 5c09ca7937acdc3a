package scenario_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// The whole scenarios in the documentation meet their own expectations.
func TestDocsExamplesRun(t *testing.T) {
	text, err := os.ReadFile("../../docs/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	folder := fstest.MapFS{}
	entries, err := os.ReadDir("../loader/testdata/docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile("../loader/testdata/docs/" + entry.Name())
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
		folder[loader.FileName] = &fstest.MapFile{Data: match[1]}
		s, err := loader.LoadFS(folder, loader.FileName, loader.Options{})
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

// rest is what a part of a scenario lacks to be a whole scenario.
var rest = map[string]string{
	"apiVersion": scenario.APIVersion, "kind": scenario.Kind, "cluster": "[{synthetic: {zones: [{count: 2}], nodeGroups: [{count: 3}]}}]", "workloads": "[{files: [web.yaml]}]",
}

// Examples are scenarios, or parts that become scenarios once they are completed.
func TestDocsExamples(t *testing.T) {
	text, schema := scenario.ReadDocs(t), scenario.CompileSchema(t)
	examples := scenario.Fenced.FindAllStringSubmatchIndex(text, -1)
	if len(examples) < 8 {
		t.Errorf("only %d examples were found", len(examples))
	}
	for _, match := range examples {
		example := text[match[2]:match[3]]
		if !strings.Contains(example, "kind: Scenario") {
			for _, key := range slices.Sorted(maps.Keys(rest)) {
				if key == "cluster" && strings.Contains(example, "\nclusters:") {
					continue
				}
				if !regexp.MustCompile(`(?m)^` + key + ":").MatchString(example) {
					example = key + ": " + rest[key] + "\n" + example
				}
			}
		}
		line := strings.Count(text[:match[2]], "\n") + 1
		if _, err := loader.LoadFS(docsFolder(t, example), loader.FileName, loader.Options{Deciders: &loader.Deciders{Commands: map[string][]string{"descheduler": {"true"}}}}); err != nil {
			t.Errorf("%s:%d: %v", scenario.Docs, line, err)
		}
		if err := scenario.ValidateDocument(t, schema, example); err != nil {
			t.Errorf("%s:%d: %v", scenario.Docs, line, err)
		}
	}
}

// docsFolder holds the files that the examples name, and the example as scenario.yaml.
func docsFolder(t *testing.T, example string) fstest.MapFS {
	t.Helper()
	folder := fstest.MapFS{loader.FileName: {Data: []byte(example)}}
	files, err := filepath.Glob("../loader/testdata/docs/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		folder[filepath.Base(file)] = &fstest.MapFile{Data: data}
	}
	return folder
}
