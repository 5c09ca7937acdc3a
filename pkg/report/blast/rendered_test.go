package blast

import (
	"testing"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// renderedBlasts returns the reports whose pages and pictures have golden files.
func renderedBlasts(t *testing.T) map[string]*Report {
	t.Helper()
	return map[string]*Report{"zones": zones(), "walkthrough": storedBlast(t)}
}

func TestBlastRenderedGolden(t *testing.T) {
	for name, r := range renderedBlasts(t) {
		for _, format := range []string{"markdown", "csv", "junit", "sarif", "svg"} {
			t.Run(name+"."+format, func(t *testing.T) {
				reporttest.Golden(t, "rendered/"+name+"."+format, writeBlast(t, r, format, report.Options{}))
			})
		}
	}
}

// An empty report has every format except annotations, of which there are none.
func TestBlastRenderedNothing(t *testing.T) {
	for _, r := range []*Report{{}, {Steps: []Step{{}}}, {Steps: []Step{{Analysis: blast.Analysis{Levels: []blast.Level{{}}}}}}, {Steps: []Step{{Analysis: blast.Analysis{Levels: []blast.Level{{Failures: []blast.Failure{{}}}}}}}}} {
		for _, format := range Formats.Names() {
			if out := writeBlast(t, r, format, report.Options{}); (out == "") != (format == "github") {
				t.Errorf("%s: %q", format, out)
			}
		}
	}
}
