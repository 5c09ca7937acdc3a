package blast

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/junit"
)

func TestFailuresJUnit(t *testing.T) {
	got := decodeSuites(t, writeBlast(t, zones(), "junit", report.Options{}))
	if got.Tests != 2 || got.Failures != 1 {
		t.Errorf("%d tests with %d failures, want 2 with 1", got.Tests, got.Failures)
	}
	c := got.Suites[0].Cases[1]
	if c.Name != "failure of one zone" || c.Classname != "zones.all" || c.Failure == nil || c.Failure.Type != expect.QuorumLost || c.File != "db.yaml" || c.Line != 3 {
		t.Errorf("%+v", c)
	}
	for _, rule := range []string{expect.OneReplica, expect.BudgetBroken, expect.PodsStranded} {
		if !strings.Contains(c.Out.Text, rule+": ") || strings.Contains(c.Failure.Text, rule) {
			t.Errorf("%s is no error, and stands on the output", rule)
		}
	}
	two := zones()
	two.Simultaneous = 2
	if name := decodeSuites(t, writeBlast(t, two, "junit", report.Options{})).Suites[0].Cases[1].Name; name != "failure of 2 zones together" {
		t.Error(name)
	}
}

func decodeSuites(t *testing.T, data string) junit.Suites {
	t.Helper()
	var suites junit.Suites
	if err := xml.Unmarshal([]byte(data), &suites); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	return suites
}
