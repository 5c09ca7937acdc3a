package report

import (
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
)

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
