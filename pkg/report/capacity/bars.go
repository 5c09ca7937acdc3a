package capacity

import (
	"fmt"

	"github.com/faultline/faultline/pkg/report/doc"
)

// bars returns a bar for each workload, the fewest first: how many more replicas fit, and how many of them while a domain may fail.
func bars(r *Report) *doc.Bars {
	b := &doc.Bars{Title: "more replicas that fit, and what binds", Noun: "workload with as much room or more", Nouns: "workloads with as much room or more"}
	levels := r.levels()
	if len(levels) > 0 {
		of := doc.DomainOrKey(levels[0])
		for _, level := range levels[1:] {
			of += " or " + doc.DomainOrKey(level)
		}
		b.Parts = []doc.Part{{Name: "while any " + of + " may fail", Style: doc.Green}, {Name: "only while nothing fails", Style: doc.Yellow}}
	} else {
		b.Parts = []doc.Part{{Name: "while nothing fails", Style: doc.Plain}}
	}
	for _, m := range r.sortTightest() {
		row := doc.BarRow{Name: m.Name, Values: []int{m.Fit.More}, Note: moreCell(&m.Fit).Text}
		if len(levels) > 0 {
			safe := m.Fit.More
			for i := range m.Survive {
				safe = min(safe, m.Survive[i].More)
			}
			switch {
			case len(m.Survive) == 0:
				safe = 0
				row.Note += ", with no look at failures"
			case m.Fit.More > 0:
				row.Note = fmt.Sprintf("%d of %s", safe, row.Note)
			}
			row.Values = []int{safe, m.Fit.More - safe}
		}
		if binds := r.mainReason(&m.Fit); binds != "" {
			row.Note += ": " + binds
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}
