package compare

import (
	"github.com/faultline/faultline/pkg/report/format/figures"
)

// figuresCSV returns a row for each variant and level, below a head:
//
//	variant, pods, pending, moved, cost, unpriced: the same in each row of a variant
//	topologyKey, domains, skew, skewOf, radius (between 0 and 1), radiusOf, radiusIn: the level
//	stranded, unreplaced: the largest numbers after a failure of the level; empty if no recovery was simulated
//	lookedAt: for how many of the level's domains recovery was simulated
//	newNodes: how many nodes the autoscaler has added; empty without an autoscaler
func figuresCSV(r *Report) [][]string {
	table := [][]string{append([]string{"variant"}, figures.Columns...)}
	for i := range r.Variants {
		for _, cells := range figures.Rows(&r.Variants[i].Found) {
			table = append(table, append([]string{r.Variants[i].Name}, cells...))
		}
	}
	return table
}
