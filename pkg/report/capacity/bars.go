package capacity

import (
	"strings"

	"github.com/faultline/faultline/pkg/report/doc"
)

// bars returns a bar for each workload, the fewest first: how many more replicas fit, and how many of them while a domain may fail.
func bars(r *Report) *doc.Bars {
	b := &doc.Bars{Title: "more replicas that fit, and what binds", Unit: "replicas", Noun: "workload with as much room or more", Nouns: "workloads with as much room or more"}
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
		row := doc.BarRow{Name: m.Name, Values: []int{m.Fit.More}}
		var notes []string
		if m.Fit.Short || m.Fit.Capped {
			notes = append(notes, moreCell(&m.Fit).Text)
		}
		if len(levels) > 0 {
			safe := m.Fit.More
			for i := range m.Survive {
				safe = min(safe, m.Survive[i].More)
			}
			if len(m.Survive) == 0 {
				safe = 0
				notes = append(notes, "with no look at failures")
			}
			row.Values = []int{safe, m.Fit.More - safe}
		}
		if binds := r.mainReason(&m.Fit); binds != "" {
			notes = append(notes, binds)
		}
		row.Note = strings.Join(notes, ", ")
		b.Rows = append(b.Rows, row)
	}
	return b
}
