package report

import (
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
)

// renderedBlasts are the reports of which every page and picture has a golden file.
func renderedBlasts(t *testing.T) map[string]*BlastReport {
	t.Helper()
	return map[string]*BlastReport{"zones": zones(), "walkthrough": storedBlast(t)}
}

func TestBlastRenderedGolden(t *testing.T) {
	for name, r := range renderedBlasts(t) {
		for _, format := range []string{"markdown", "csv", "junit", "sarif", "svg"} {
			t.Run(name+"."+format, func(t *testing.T) {
				reporttest.Golden(t, "rendered/"+name+"."+format, writeBlast(t, r, format, Options{}))
			})
		}
	}
}

// Nothing to say is said in every format.
func TestBlastRenderedNothing(t *testing.T) {
	for _, r := range []*BlastReport{{}, {Steps: []BlastStep{{}}}, {Steps: []BlastStep{{Levels: []BlastLevel{{}}}}}, {Steps: []BlastStep{{Levels: []BlastLevel{{Failures: []Failure{{}}}}}}}} {
		for _, format := range BlastFormats.Names() {
			if out := writeBlast(t, r, format, Options{}); out == "" {
				t.Errorf("%s is empty", format)
			}
		}
	}
}
