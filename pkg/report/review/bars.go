package review

import (
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// bars returns a bar for each domain of the level with the worst loss: the lost pods that come back, and those that do not.
func bars(r *Report) *doc.Bars {
	level, worst := r.worstLoss()
	if worst == nil {
		return nil
	}
	noun := domainNoun(level)
	b := &doc.Bars{
		Title: "pods that the loss of each " + noun + " takes", Unit: "pods", Noun: noun, Nouns: noun + "s",
		Parts: []doc.Part{{Name: "come back", Style: doc.Plain}, {Name: "do not come back", Style: doc.Red}},
	}
	for _, l := range level.Losses {
		back := max(0, l.Lost-l.NotBack) // a loss can also strand pods of others, so that more pods do not come back than were lost
		b.Rows = append(b.Rows, doc.BarRow{Name: l.Domain, Values: []int{back, l.NotBack}, Note: words.Count(l.Down, "workload") + " down"})
	}
	return b
}
