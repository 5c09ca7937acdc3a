package report

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/faultline/faultline/pkg/expect"
)

// sarifSchema is the standard's own: https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("testdata/sarif/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("sarif.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSARIFIsValid(t *testing.T) {
	schema := sarifSchema(t)
	reports, blasts := rendered(t)
	reports["nothing"] = &Report{}
	for name, r := range reports {
		if err := validate(t, schema, write(t, r, "sarif", Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, r := range blasts {
		if err := validate(t, schema, writeBlast(t, r, "sarif", Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	valid := write(t, sourced(), "sarif", Options{})
	if validate(t, schema, strings.Replace(valid, `"level": "error"`, `"level": "fatal"`, 1)) == nil {
		t.Error("the schema refuses nothing")
	}
}

// sarifLog is what forges read.
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

func TestSARIFLocations(t *testing.T) {
	var log sarifLog
	if err := json.Unmarshal([]byte(write(t, sourced(), "sarif", Options{})), &log); err != nil {
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
	if err := json.Unmarshal([]byte(write(t, &Report{}, "sarif", Options{})), &empty); err != nil || empty.Runs[0].Results == nil {
		t.Errorf("no list of results where there are none: %v", err)
	}
}

func TestURI(t *testing.T) {
	for path, want := range map[string]string{
		"deploy.yaml": "deploy.yaml", "../a b/é.yaml": "../a%20b/%C3%A9.yaml", "c:d.yaml": "./c:d.yaml", "/abs/x.yaml": "file:///abs/x.yaml", "a#b?.yaml": "a%23b%3F.yaml",
	} {
		if got := uri(path); got != want {
			t.Errorf("uri(%s) is %s, want %s", path, got, want)
		}
	}
}

func TestUnlinked(t *testing.T) {
	if got := unlinked("[a](http://b) {c: }"); got != `[a\](http://b) {c: }` {
		t.Error(got)
	}
}
