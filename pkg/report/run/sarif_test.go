package run

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// sarifLog has the fields of SARIF that forges read.
type sarifLog struct {
	Runs []struct {
		Tool struct {
			Driver struct {
				Rules []struct{ ID string }
			}
		}
		Results []struct {
			RuleID    string
			RuleIndex int
			Locations []struct {
				PhysicalLocation *struct {
					ArtifactLocation struct{ URI string }
					Region           struct{ StartLine int }
				}
			}
		}
	}
}

func TestSARIFIsValid(t *testing.T) {
	schema := reporttest.SARIF(t)
	reports := rendered(t)
	reports["nothing"] = &Report{}
	for name, r := range reports {
		if err := reporttest.Validate(t, schema, write(t, r, "sarif", report.Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	valid := write(t, sourced(), "sarif", report.Options{})
	if reporttest.Validate(t, schema, strings.Replace(valid, `"level": "error"`, `"level": "fatal"`, 1)) == nil {
		t.Error("the schema refuses nothing")
	}
}

func TestSARIFLocations(t *testing.T) {
	var log sarifLog
	if err := json.Unmarshal([]byte(write(t, sourced(), "sarif", report.Options{})), &log); err != nil {
		t.Fatal(err)
	}
	type place struct {
		Rule, URI string
		Line      int
	}
	var got []place
	for _, result := range log.Runs[0].Results {
		if rule := log.Runs[0].Tool.Driver.Rules[result.RuleIndex].ID; rule != result.RuleID {
			t.Errorf("the index is that of %s, the id %s", rule, result.RuleID)
		}
		p := place{Rule: result.RuleID}
		if physical := result.Locations[0].PhysicalLocation; physical != nil {
			p.URI, p.Line = physical.ArtifactLocation.URI, physical.Region.StartLine
		}
		got = append(got, p)
	}
	want := []place{
		{expect.NotMet, "scenario.yaml", 12}, {expect.NotMet, "", 0}, {expect.PodsPending, "k8s/web%20app.yaml", 7}, {expect.PodsPending, "", 0}, {expect.RolloutStuck, "k8s/web%20app.yaml", 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var empty sarifLog
	if err := json.Unmarshal([]byte(write(t, &Report{}, "sarif", report.Options{})), &empty); err != nil || empty.Runs[0].Results == nil {
		t.Errorf("no list of results where there are none: %v", err)
	}
}
