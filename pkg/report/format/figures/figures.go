// Package figures formats the numbers by which versions of a scenario are compared, as cells of a table and of CSV.
package figures

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// PartlyNote says for which levels recovery was simulated for only some failures, as a sentence; "" if there is no such level.
func PartlyNote(all []*whatif.Found) string {
	var keys, parts []string
	for _, f := range all {
		for i := range f.Levels {
			if level := &f.Levels[i]; level.IsPartlyExamined() && !slices.Contains(keys, level.TopologyKey) {
				keys = append(keys, level.TopologyKey)
				parts = append(parts, fmt.Sprintf("%d of %d domains of %s", len(level.Failures), level.Domains, level.TopologyKey))
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Recovery was simulated for %s, those whose failure takes the largest share of a workload; after others more pods may not come back (≥).", strings.Join(parts, ", "))
}

// MostNotBack returns the largest number of pods that do not come back after a failure of the level, with ≥ if recovery was simulated for
// only some failures.
func MostNotBack(level *metric.LevelMetrics, s doc.Style) doc.Cell {
	if level == nil || len(level.Failures) == 0 {
		return doc.Plain.Cell(doc.None)
	}
	most, _ := level.NotBack()
	found := doc.Number(most, s)
	if level.IsPartlyExamined() {
		found.Text = "≥" + found.Text
	}
	return found
}

// NotBackCell returns MostNotBack, coloured by comparison with the base.
func NotBackCell(level, base *metric.LevelMetrics) doc.Cell {
	if level == nil {
		return doc.Plain.Cell(doc.None)
	}
	colour := doc.Plain
	if base != nil {
		is, _ := level.NotBack()
		was, _ := base.NotBack()
		colour = ComparisonStyle(float64(is), float64(was))
	}
	return MostNotBack(level, colour)
}

// NewNodesCell returns how many nodes the autoscaler has added, coloured by comparison with the base.
func NewNodesCell(f, base *whatif.Found) doc.Cell {
	if f.NewNodes == nil {
		return doc.Plain.Cell(doc.None)
	}
	return doc.Number(*f.NewNodes, ComparisonStyle(float64(*f.NewNodes), float64(ptr.Deref(base.NewNodes, *f.NewNodes))))
}

// CostText returns the cost of an hour, and the number of nodes without a price.
func CostText(m *metric.Metrics) string {
	switch {
	case m.Cost == nil:
		return doc.None
	case m.Unpriced > 0:
		return fmt.Sprintf("%.2f and %s without a price", *m.Cost, words.Count(m.Unpriced, "node"))
	}
	return fmt.Sprintf("%.2f", *m.Cost)
}

// ComparisonStyle returns the colour of a number of which less is better: green below the base, yellow above it.
func ComparisonStyle(value, base float64) doc.Style {
	switch {
	case value < base:
		return doc.Green
	case value > base:
		return doc.Yellow
	}
	return doc.Plain
}

// DropOrder returns the titles of the columns that a table which is too wide leaves out, in that order: the columns about regions, the number of pods,
// skews, moved pods, then radii. Skews and radii of narrower levels come before those of wider ones.
func DropOrder(keys []string) []string {
	heads := doc.ColumnTitles(keys)
	var order []string
	for i, key := range keys {
		if key == v1.LabelTopologyRegion {
			order = append(order, "SKEW/"+heads[i], "RADIUS/"+heads[i], "NOT BACK/"+heads[i])
		}
	}
	order = append(order, "PODS")
	for _, head := range slices.Backward(heads) {
		order = append(order, "SKEW/"+head)
	}
	order = append(order, "MOVED")
	for _, head := range slices.Backward(heads) {
		order = append(order, "RADIUS/"+head)
	}
	return order
}

// WorkloadNames returns the qualified names of the workloads that the figures are about, in order. None means all pods.
func WorkloadNames(opts metric.Options) []string {
	return list.Map(opts.Workloads, cluster.Ref.Qualified)
}

// Columns are the titles of the columns of Rows.
var Columns = []string{
	"pods", "pending", "moved", "cost", "unpriced", "topologyKey", "domains", "skew", "skewOf", "radius", "radiusOf", "radiusIn", "stranded", "unreplaced", "lookedAt", "newNodes",
}

// Rows returns the numbers as rows of plain values, a row for each level.
func Rows(f *whatif.Found) [][]string {
	cost, unpriced, added := "", "", ""
	if f.NewNodes != nil {
		added = strconv.Itoa(*f.NewNodes)
	}
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
			strconv.FormatFloat(level.Radius, 'g', -1, 64), level.RadiusOf, level.RadiusIn, stranded, unreplaced, strconv.Itoa(len(level.Failures)), added,
		})
	}
	return rows
}

// HowChanged says how the changes of the versions reach running pods, as sentences without duplicates.
func HowChanged[T any](versions []T, scenarioOf func(T) *scenario.Scenario) []string {
	var said []string
	for _, v := range versions {
		s := scenarioOf(v)
		if s == nil {
			continue
		}
		for _, sentence := range s.DescribeChanges() {
			if !slices.Contains(said, sentence) {
				said = append(said, sentence)
			}
		}
	}
	return said
}
