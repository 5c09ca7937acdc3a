package run

import (
	"testing"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// rendered returns the reports whose pages and pictures have golden files.
func rendered(t *testing.T) map[string]*Report {
	t.Helper()
	stored := fixtures(t)
	return map[string]*Report{"sourced": sourced(), "refused": stored["refused"], "mixed": stored["mixed"], "federation": stored["federation"], "walkthrough": stored["walkthrough"]}
}

func TestRenderedGolden(t *testing.T) {
	for name, r := range rendered(t) {
		for _, format := range []string{"markdown", "csv", "junit", "sarif", "svg"} {
			t.Run(name+"."+format, func(t *testing.T) {
				reporttest.Golden(t, "rendered/"+name+"."+format, write(t, r, format, report.Options{}))
			})
		}
	}
}

// An empty report has every format except annotations, of which there are none.
func TestRenderedNothing(t *testing.T) {
	for _, r := range []*Report{{}, {Steps: []Step{{}}}, {Steps: []Step{{Name: "empty", Pods: []Pod{{PodRef: cluster.PodRef{Name: "a"}}}}}}} {
		for _, format := range Formats.Names() {
			if out := write(t, r, format, report.Options{}); out == "" && format != "name" && format != "github" {
				t.Errorf("%s: %q", format, out)
			}
		}
	}
}
