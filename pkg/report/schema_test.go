package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "../../docs/report.schema.json"

func TestSchemaFile(t *testing.T) {
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(schemaFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(schemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is out of date, write it with -update (-want +got):\n%s", schemaFile, diff)
	}
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("report.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validate(t *testing.T, schema *jsonschema.Schema, data string) error {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

func TestSchemaAccepts(t *testing.T) {
	schema := compile(t)
	reports := fixtures(t)
	reports["large"] = large()
	reports["least"] = &Report{APIVersion: APIVersion, Kind: Kind, Ties: "upstream", Steps: []Step{{Workloads: []Workload{{Domains: []Distribution{{}}}}}}}
	for name, r := range reports {
		if err := validate(t, schema, write(t, r, "json", Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := compile(t)
	valid := write(t, &Report{APIVersion: APIVersion, Kind: Kind, Scenario: "a"}, "json", Options{})
	for name, change := range map[string][2]string{
		"another version":   {"faultline/v1alpha1", "faultline/v1"},
		"another kind":      {`"Report"`, `"Scenario"`},
		"an unknown field":  {`"scenario"`, `"scenarios": 1, "scenario"`},
		"a missing field":   {`"scenario": "a",`, ""},
		"a text for a list": {`"steps": []`, `"steps": ""`},
		"null for a list":   {`"steps": []`, `"steps": null`},
	} {
		changed := strings.Replace(valid, change[0], change[1], 1)
		if changed == valid {
			t.Errorf("%s: nothing was changed in\n%s", name, valid)
		} else if validate(t, schema, changed) == nil {
			t.Errorf("%s passes", name)
		}
	}
}

// The comments of the model describe the schema, each on one line.
func TestSchemaComments(t *testing.T) {
	comments, err := comments()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Step":         "Step is one step and the cluster after it.",
		"Pod.Workload": "Workload is the outermost owner, as kind/name in lower case; empty for a pod without one.",
		"Step.Pods":    "Pods are all pods after the step, workload by workload, in order of arrival.",
	} {
		if comments[name] != want {
			t.Errorf("%s: %q, want %q", name, comments[name], want)
		}
	}
}
