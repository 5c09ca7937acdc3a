package outcome

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// placementsCSV returns a row for each workload's pods on each node, by step and placement. The columns are:
//
//	step
//	placement: its position among those of the step, from 1, the likeliest first
//	share (between 0 and 1), probability (an exact fraction), low, high (the bounds of the share's interval), seed, ways: its chance
//	namespace, workload (kind/name), node (empty: Pending), pods
//
// All rows of a placement repeat its columns: do not add these up over nodes. A missing value is an empty cell.
func placementsCSV(r *Report) [][]string {
	table := [][]string{{"step", "placement", "share", "probability", "low", "high", "seed", "ways", "namespace", "workload", "node", "pods"}}
	decimal := func(f *float64) string {
		if f == nil {
			return ""
		}
		return strconv.FormatFloat(*f, 'g', -1, 64)
	}
	for _, step := range r.Steps {
		for i, p := range step.Placements {
			seed := ""
			if p.Seed != nil {
				seed = fmt.Sprint(*p.Seed)
			}
			head := []string{step.Name, strconv.Itoa(i + 1), decimal(&p.Share), p.Probability, decimal(p.Low), decimal(p.High), seed, p.Ways}
			for _, w := range p.Workloads {
				for _, node := range slices.Sorted(maps.Keys(w.Nodes)) {
					table = append(table, slices.Concat(head, []string{w.Namespace, w.Workload, node, strconv.Itoa(w.Nodes[node])}))
				}
				if w.Pending > 0 {
					table = append(table, slices.Concat(head, []string{w.Namespace, w.Workload, "", strconv.Itoa(w.Pending)}))
				}
			}
		}
	}
	return table
}
