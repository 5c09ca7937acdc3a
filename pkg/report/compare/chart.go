//go:build !js

package compare

import (
	"github.com/faultline/faultline/pkg/report/format/chart"
	"github.com/faultline/faultline/pkg/words"
)

func draw(r *Report, format string) ([]byte, error) { return newChart(r).Draw(format) }

// newChart returns a chart with a row of bars for each variant, and a panel for each kind of goal.
func newChart(r *Report) *chart.Chart {
	var versions []chart.Version
	for i := range r.Variants {
		v := &r.Variants[i]
		versions = append(versions, chart.Version{Name: v.Name, Found: &v.Found, Front: v.Front, Baseline: i == 0})
	}
	notes := "after step " + chart.Cut(r.Step, 40)
	if len(r.Workloads) > 0 {
		notes += "; blast radius of " + words.And(r.Workloads)
	}
	return chart.Versions(chart.Title(r.Head, "variants side by side"), notes, versions)
}
