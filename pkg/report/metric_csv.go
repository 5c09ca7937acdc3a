package report

import (
	"strconv"

	"github.com/faultline/faultline/pkg/ask/whatif"
)

// metricColumns are the names of what metricRows returns.
var metricColumns = []string{
	"pods", "pending", "moved", "cost", "unpriced", "topologyKey", "domains", "skew", "skewOf", "radius", "radiusOf", "radiusIn", "stranded", "unreplaced", "lookedAt",
}

// metricRows are the numbers, a row for each level.
func metricRows(f *whatif.Found) [][]string {
	cost, unpriced := "", ""
	if f.Cost != nil {
		cost, unpriced = strconv.FormatFloat(*f.Cost, 'g', -1, 64), strconv.Itoa(f.Unpriced)
	}
	var rows [][]string
	for _, level := range f.Levels {
		stranded, unreplaced := "", ""
		if len(level.Failures) > 0 {
			most, gone := 0, 0
			for _, failure := range level.Failures {
				most, gone = max(most, failure.Stranded), max(gone, failure.Unreplaced)
			}
			stranded, unreplaced = strconv.Itoa(most), strconv.Itoa(gone)
		}
		rows = append(rows, []string{
			strconv.Itoa(f.Pods), strconv.Itoa(f.Pending), strconv.Itoa(f.Moved), cost, unpriced,
			level.TopologyKey, strconv.Itoa(level.Domains), strconv.Itoa(level.Skew), level.SkewOf,
			strconv.FormatFloat(level.Radius, 'g', -1, 64), level.RadiusOf, level.RadiusIn, stranded, unreplaced, strconv.Itoa(len(level.Failures)),
		})
	}
	return rows
}
