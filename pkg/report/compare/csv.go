package compare

import (
	"github.com/faultline/faultline/pkg/report/format/figures"
)

// figuresCSV has a row for each variant and level, and a head:
//
//	variant, pods, pending, moved, cost, unpriced: the same in each row of a variant
//	topologyKey, domains, skew, skewOf, radius (between 0 and 1), radiusOf, radiusIn: the level
//	stranded, unreplaced: the most that a failure of the level leaves so; empty where that was not looked at
//	lookedAt: for how many of the level's domains it was
//	newNodes: how many nodes the autoscaler has added; empty without one
func figuresCSV(r *Report) [][]string {
	table := [][]string{append([]string{"variant"}, figures.Columns...)}
	for i := range r.Variants {
		for _, cells := range figures.Rows(&r.Variants[i].Found) {
			table = append(table, append([]string{r.Variants[i].Name}, cells...))
		}
	}
	return table
}
