package verify

import (
	"fmt"

	"github.com/faultline/faultline/pkg/report/doc"
)

// bars returns a bar for each result of a choice, with its share: contradictions, proved, explained by assumption, open.
func bars(r *Report) *doc.Bars {
	b := &doc.Bars{
		Title: "choices of a node, by what they show", Unit: "choices", Noun: "row", Nouns: "rows",
		Parts: []doc.Part{
			{Name: "contradiction", Style: doc.Red}, {Name: "proved", Style: doc.Green}, {Name: "explained with what is assumed", Style: doc.Plain}, {Name: "needs history", Style: doc.Bold},
		},
	}
	if r.Choices == 0 {
		return b
	}
	for i, n := range []int{r.Contradictions, r.Proved, r.ByAssumption, r.Open} {
		row := doc.BarRow{Name: b.Parts[i].Name, Values: make([]int, len(b.Parts)), Note: formatPercent(100 * float64(n) / float64(r.Choices))}
		row.Values[i] = n
		if b.Parts[i].Name == "proved" && r.Tied > 0 {
			row.Note += fmt.Sprintf("; %d among equal nodes", r.Tied)
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}
