package report

import (
	"fmt"
)

// sweepChart shows what varies by the parameters that vary.
func sweepChart(r *SweepReport) *chart {
	names := make([]string, len(r.Parameters))
	for i, name := range r.Parameters {
		names[i] = cut(name, 24)
	}
	s := &Sweep{Title: chartTitle(r.Head, "sweep over "+cut(and(names), 80)), Notes: r.chartNotes(), Parameters: r.Parameters, Baseline: &r.Baseline}
	for i := range r.Points {
		p := &r.Points[i]
		s.Points = append(s.Points, Point{Values: p.Values, Found: &p.Found, Front: p.Front})
	}
	return s.Chart()
}

// chartNotes say what was looked at.
func (r *SweepReport) chartNotes() string {
	front := 0
	for i := range r.Points {
		if r.Points[i].Front {
			front++
		}
	}
	notes := fmt.Sprintf("%d of %s not beaten", front, count(len(r.Points), "point"))
	if r.Shard != nil || len(r.Points) < r.Total {
		notes += fmt.Sprintf(", of %d in the whole sweep", r.Total)
	}
	notes += "; after step " + cut(r.Step, 40)
	if len(r.Workloads) > 0 {
		notes += "; blast radius of " + and(r.Workloads)
	}
	return notes + "; less is better"
}
