package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
)

// notLookedAt says of which levels the recovery was looked at for some failures alone; "" where it was for all, or for none.
func notLookedAt(all []*whatif.Found) string {
	var keys, parts []string
	for _, f := range all {
		for i := range f.Levels {
			if level := &f.Levels[i]; level.Partly() && !slices.Contains(keys, level.TopologyKey) {
				keys = append(keys, level.TopologyKey)
				parts = append(parts, fmt.Sprintf("%d of %d domains of %s", len(level.Failures), level.Domains, level.TopologyKey))
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("What comes back was looked at for %s, those whose failure takes the largest share of a workload: others can strand more (≥).", strings.Join(parts, ", "))
}

// mostStranded is the most pods that a failure of the level strands, as far as that was looked at.
func mostStranded(level *metric.LevelMetrics, s style) cell {
	if level == nil || len(level.Failures) == 0 {
		return plain.cell(none)
	}
	most, _ := level.Stranded()
	found := number(most, s)
	if level.Partly() {
		found.text = "≥" + found.text
	}
	return found
}
