package run

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/junit"
)

func decodeJUnit(t *testing.T, data string) junit.Suites {
	t.Helper()
	var suites junit.Suites
	if err := xml.Unmarshal([]byte(data), &suites); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	suites.XMLName = xml.Name{}
	return suites
}

func TestExpectationsJUnit(t *testing.T) {
	r := sourced()
	r.Steps = append(r.Steps, Step{Name: "wait"})
	want := junit.Suites{Name: "simulate", Tests: 4, Failures: 2, Suites: []junit.Suite{
		{Name: "shop", Tests: 4, Failures: 2, Cases: []junit.Case{
			{Name: "runs", Classname: "shop"},
			{Name: "0 pods Pending", Classname: "shop.new-image", File: "scenario.yaml", Line: 12, Failure: &junit.Failure{
				Message: "want 0 pods Pending, got 4 pods Pending", Type: expect.NotMet,
				Text: "want 0 pods Pending\ngot  4 pods Pending\nwhy  deployment/web: no node has room.\n2 pods of shop/deployment/web Pending: no room\n" +
					"1 pod of shop/deployment/web Pending: no zone\n1 pod of shop/pod/bare Pending: kube-scheduler gave no message",
			}},
			{Name: "1 pod in each zone", Classname: "shop.new-image", File: "scenario.yaml", Line: 13},
			{Name: "rollouts end", Classname: "shop.new-image", Failure: &junit.Failure{
				Message: "want rollouts end, got deployment/web", Type: expect.NotMet,
				Text: "want rollouts end\ngot  deployment/web\nwhy  deployment/web: no node has room.\n2 pods of shop/deployment/web Pending: no room\n" +
					"1 pod of shop/deployment/web Pending: no zone\n1 pod of shop/pod/bare Pending: kube-scheduler gave no message",
			}},
		}},
	}}
	if diff := cmp.Diff(want, decodeJUnit(t, write(t, r, "junit", report.Options{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The suites of a set are named by paths, and each has its time; a scenario that could not be run has failed.
func TestWriteJUnit(t *testing.T) {
	var out strings.Builder
	met := &Report{Steps: []Step{{Name: "up", Expectations: []expect.Judged{{Want: "0 pods Pending", Met: true}}}}}
	if err := WriteJUnit(&out, []Tested{{Path: "a", Report: met, Took: 1250 * time.Millisecond}, {Path: "b", Err: errors.New("no"), Took: time.Second}}); err != nil {
		t.Fatal(err)
	}
	want := junit.Suites{Name: "simulate", Tests: 3, Failures: 1, Time: "2.250", Suites: []junit.Suite{
		{Name: "a", Tests: 2, Time: "1.250", Cases: []junit.Case{
			{Name: "runs", Classname: "a", Time: "1.250"}, {Name: "0 pods Pending", Classname: "a.up"},
		}},
		{Name: "b", Tests: 1, Failures: 1, Time: "1.000", Cases: []junit.Case{
			{Name: "runs", Classname: "b", Time: "1.000", Failure: &junit.Failure{Message: "it cannot be run", Type: "not-run", Text: "no"}},
		}},
	}}
	if diff := cmp.Diff(want, decodeJUnit(t, out.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Characters that XML cannot hold, and the end of a CDATA section, are replaced as in the other formats.
func TestJUnitHostile(t *testing.T) {
	const hostile = "a\x00\x1b]]>\n<b>&\ufffe\xff"
	r := &Report{Head: report.Head{Scenario: hostile}, Steps: []Step{{Name: hostile, Why: []string{hostile},
		Expectations: []expect.Judged{{Want: hostile, Got: hostile, Source: &manifest.Place{File: hostile, Line: 1}}}}}}
	got := decodeJUnit(t, write(t, r, "junit", report.Options{}))
	c := got.Suites[0].Cases[1]
	if shown := doc.Clean(hostile); got.Suites[0].Name != shown || c.Classname != shown+"."+shown || c.Name != shown || c.File != shown || !strings.Contains(c.Failure.Text, "why  "+shown) {
		t.Errorf("%+v", c)
	}
}
