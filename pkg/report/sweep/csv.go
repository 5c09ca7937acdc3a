package sweep

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/report/format/figures"
)

// figuresCSV returns a row for each point and level, below a head:
//
//	point, and a column for each parameter: the point's place, from 0, and its values
//	front: whether the point is not beaten
//	pods, pending, moved, cost, unpriced: the same in each row of a point
//	topologyKey, domains, skew, skewOf, radius (between 0 and 1), radiusOf, radiusIn: the level
//	stranded, unreplaced: the largest numbers after a failure of the level; empty if no recovery was simulated
//	lookedAt: for how many of the level's domains recovery was simulated
//	newNodes: how many nodes the autoscaler has added; empty without an autoscaler
func figuresCSV(r *Report) [][]string {
	table := [][]string{slices.Concat([]string{"point"}, r.Parameters, []string{"front"}, figures.Columns)}
	for i := range r.Points {
		point := &r.Points[i]
		head := []string{fmt.Sprint(point.Index)}
		for _, name := range r.Parameters {
			head = append(head, point.Values[name].String())
		}
		head = append(head, fmt.Sprint(point.Front))
		for _, cells := range figures.Rows(&point.Found) {
			table = append(table, slices.Concat(head, cells))
		}
	}
	return table
}
