package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// levels returns the levels that are to be survived. An interrupted search may not have reached all of them for each workload.
func (r *Report) levels() []string {
	var most []capacity.Limit
	for i := range r.Mixes {
		if len(r.Mixes[i].Survive) > len(most) {
			most = r.Mixes[i].Survive
		}
	}
	return list.Map(most, func(l capacity.Limit) string { return l.Level })
}

// limitAt returns the limit while any domain of the level may fail, or nil if it was not found. The level "" stands for no failure.
func limitAt(m *capacity.Mix, level string) *capacity.Limit {
	if level == "" {
		return &m.Fit
	}
	if i := slices.IndexFunc(m.Survive, func(l capacity.Limit) bool { return l.Level == level }); i >= 0 {
		return &m.Survive[i]
	}
	return nil
}

// sortTightest returns the workloads, those with the least room first, over all failures.
func (r *Report) sortTightest() []*capacity.Mix {
	sorted := list.Map(r.Mixes, func(m capacity.Mix) *capacity.Mix { return &m })
	slices.SortStableFunc(sorted, func(a, b *capacity.Mix) int { return cmp.Compare(leastRoom(a), leastRoom(b)) })
	return sorted
}

// minRows is how many workloads have a row even if their limits are unknown.
const minRows = 3

// selectTight returns the tightest workloads that a table shows if not all are listed: those with a known limit.
func selectTight(tightest []*capacity.Mix) []*capacity.Mix {
	known := 0
	for known < len(tightest) && leastRoom(tightest[known]) < math.MaxInt {
		known++
	}
	return tightest[:min(len(tightest), max(known, minRows), doc.MaxDetails)]
}

// leastRoom returns the least number of units that fit, over all failures.
func leastRoom(m *capacity.Mix) int {
	least := comparableUnits(&m.Fit)
	for i := range m.Survive {
		least = min(least, comparableUnits(&m.Survive[i]))
	}
	return least
}

// comparableUnits returns the number of units for a comparison: -1 if even the present ones do not fit, and the largest int if the search stopped
// before the limit.
func comparableUnits(l *capacity.Limit) int {
	switch {
	case l.Short:
		return -1
	case l.Capped:
		return math.MaxInt
	}
	return l.More
}

// overview counts the workloads without room, and says how many more fit at least of each other one: while nothing fails, and while any
// domain of each level may fail.
func (r *Report) overview(sorted []*capacity.Mix) []doc.Cell {
	var lines []doc.Cell
	for _, level := range append([]string{""}, r.levels()...) {
		var none []string
		rest, least := 0, math.MaxInt
		for _, m := range sorted {
			switch l := limitAt(m, level); {
			case l == nil:
			case l.More == 0:
				none = append(none, m.Name)
			default:
				rest++
				least = min(least, l.More)
			}
		}
		of, looked := "of each of ", words.Count(rest+len(none), "workload")
		if len(none) > 0 {
			of = "of each of the other "
			lines = append(lines, doc.Yellow.Cell(words.UpperFirst(whileAny(level)+fmt.Sprintf("no more fit of %d of %s: %s.", len(none), looked, words.Few(none)))))
		}
		if rest > 0 {
			lines = append(lines, doc.Green.Cell(words.UpperFirst(whileAny(level)+fmt.Sprintf("%s%s at least %d more fit.", of, words.Count(rest, "workload"), least))))
		}
	}
	return append(lines, r.tableNotes(sorted)...)
}

// tableNotes explains the table below.
func (r *Report) tableNotes(sorted []*capacity.Mix) []doc.Cell {
	lines := []doc.Cell{doc.Plain.Cell("The tightest are listed first, and --workload shows the limit of one in full.")}
	capped, least := 0, math.MaxInt
	for _, m := range sorted {
		if m.Fit.Capped {
			capped++
			least = min(least, m.Fit.More)
		}
	}
	if capped > 0 {
		lines = append(lines, doc.Plain.Cellf("Where it says \"at least\", as for %s of which at least %d more fit, the search ended; --up-to goes on.", words.Count(capped, "workload"), least))
	}
	return lines
}
