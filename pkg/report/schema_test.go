package report

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	model "github.com/invopop/jsonschema"

	"github.com/faultline/faultline/pkg/internal/reporttest"
)

// comments reads the Go comments of the model from the source, each on one line.
func comments(t *testing.T) map[string]string {
	t.Helper()
	var reader model.Reflector
	for pkg, dir := range map[string]string{"report": ".", "metric": "../ask/metric", "whatif": "../ask/whatif", "advice": "../ask/advice"} {
		if err := reader.AddGoComments("github.com/faultline/faultline/pkg/"+pkg, dir, model.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	// What the schema asks for is what is kept.
	found := map[string]string{}
	for kind := range schemas {
		reflectSchema(kind, func(typ reflect.Type, field string) string {
			key := commentKey(typ, field)
			if text := strings.Join(strings.Fields(reader.CommentMap[typ.PkgPath()+"."+key]), " "); text != "" {
				found[key] = text
			}
			return ""
		})
	}
	return found
}

func TestCommentsFile(t *testing.T) {
	found := comments(t)
	for name, want := range map[string]string{
		"Step":         "Step is one step and the cluster after it.",
		"Pod.Workload": "Workload is the outermost owner, as kind/name in lower case; empty for a pod without one.",
		"Step.Pods":    "Pods are all pods after the step, workload by workload, in order of arrival.",
	} {
		if found[name] != want {
			t.Errorf("%s: %q, want %q", name, found[name], want)
		}
	}
	data, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Generated(t, "comments.json", string(append(data, '\n')))
}

func TestSchemaFile(t *testing.T) {
	found := comments(t)
	for kind, about := range schemas {
		schema := reflectSchema(kind, func(typ reflect.Type, field string) string { return found[commentKey(typ, field)] })
		want, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		reporttest.Generated(t, "../../docs/"+about.file, string(want))
		got, err := Schema(kind)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" && !*reporttest.Update {
			t.Errorf("Schema(%q) differs (-want +got):\n%s", kind, diff)
		}
	}
}

func TestSchemaAccepts(t *testing.T) {
	schema := reporttest.Schema(t, "report")
	reports := fixtures(t)
	reports["large"] = large()
	reports["least"] = &Report{Head: Head{APIVersion: APIVersion, Kind: Kind, Ties: "upstream"}, Steps: []Step{{Workloads: []Workload{{Domains: []Distribution{{}}}}}}}
	for name, r := range reports {
		if err := reporttest.Validate(t, schema, write(t, r, "json", Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := reporttest.Schema(t, "report")
	valid := write(t, &Report{Head: Head{APIVersion: APIVersion, Kind: Kind, Scenario: "a"}}, "json", Options{})
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
		} else if reporttest.Validate(t, schema, changed) == nil {
			t.Errorf("%s passes", name)
		}
	}
}
