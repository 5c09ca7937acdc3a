package sweep

import (
	"fmt"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/format/chart"
	"github.com/faultline/faultline/pkg/words"
)

// newChart returns a chart of the goals that vary by the parameters that vary.
func newChart(r *Report) *chart.Chart {
	names := list.Map(r.Parameters, func(name string) string { return chart.Cut(name, 24) })
	s := &chart.Sweep{Title: chart.Title(r.Head, "sweep over "+chart.Cut(words.And(names), 80)), Notes: r.chartNotes(), Parameters: r.Parameters, Baseline: &r.Baseline}
	for i := range r.Points {
		p := &r.Points[i]
		s.Points = append(s.Points, chart.Point{Values: p.Values, Found: &p.Found, Front: p.Front})
	}
	return s.Chart()
}

// chartNotes say what the chart is about.
func (r *Report) chartNotes() string {
	front := 0
	for i := range r.Points {
		if r.Points[i].Front {
			front++
		}
	}
	notes := fmt.Sprintf("%d of %s not beaten", front, words.Count(len(r.Points), "point"))
	if r.Shard != nil || len(r.Points) < r.Total {
		notes += fmt.Sprintf(", of %d in the whole sweep", r.Total)
	}
	notes += "; after step " + chart.Cut(r.Step, 40)
	if len(r.Workloads) > 0 {
		notes += "; blast radius of " + words.And(r.Workloads)
	}
	return notes + "; less is better"
}
