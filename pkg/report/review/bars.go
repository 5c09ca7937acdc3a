package review

import (
	"fmt"

	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// bars are the pods that the loss of each domain takes: those that come back, and those that do not.
func bars(r *Report) *doc.Bars {
	if len(r.Losses) < 2 {
		return nil
	}
	noun := doc.DomainOf(doc.LevelName(r.Level))
	b := &doc.Bars{
		Title: "pods that the loss of each " + noun + " takes", Noun: noun, Nouns: noun + "s",
		Parts: []doc.Part{{Name: "come back", Style: doc.Plain}, {Name: "do not come back", Style: doc.Red}},
	}
	for _, l := range r.Losses {
		back := max(0, l.Lost-l.NotBack) // what others lose by it can be more than what fails
		b.Rows = append(b.Rows, doc.BarRow{Name: l.Domain, Values: []int{back, l.NotBack}, Note: fmt.Sprintf("%s down", words.Count(l.Down, "workload"))})
	}
	return b
}
