package run

import (
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

func TestSchemaAccepts(t *testing.T) {
	schema := reporttest.Schema(t, "report")
	reports := fixtures(t)
	reports["large"] = large()
	reports["least"] = &Report{Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Ties: "upstream"}, Steps: []Step{{Workloads: []Workload{{Domains: []Distribution{{}}}}}}}
	for name, r := range reports {
		if err := reporttest.Validate(t, schema, write(t, r, "json", report.Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := reporttest.Schema(t, "report")
	valid := write(t, &Report{Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Scenario: "a"}}, "json", report.Options{})
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
