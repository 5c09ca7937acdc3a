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

// levels are those of which a domain may fail, of the workload that was looked at the furthest.
func (r *Report) levels() []string {
	var most []capacity.Limit
	for i := range r.Mixes {
		if len(r.Mixes[i].Survive) > len(most) {
			most = r.Mixes[i].Survive
		}
	}
	return list.Each(most, func(l capacity.Limit) string { return l.Level })
}

// surviving is the limit while any domain of the level may fail; nil if it was not looked at.
func surviving(m *capacity.Mix, level string) *capacity.Limit {
	if level == "" {
		return &m.Fit
	}
	if i := slices.IndexFunc(m.Survive, func(l capacity.Limit) bool { return l.Level == level }); i >= 0 {
		return &m.Survive[i]
	}
	return nil
}

// tightest are the workloads, those of which the fewest more fit first, whatever may fail.
func (r *Report) tightest() []*capacity.Mix {
	sorted := list.Each(r.Mixes, func(m capacity.Mix) *capacity.Mix { return &m })
	slices.SortStableFunc(sorted, func(a, b *capacity.Mix) int { return cmp.Compare(room(a), room(b)) })
	return sorted
}

// minRows is how many workloads have a row even if there is room for all of them.
const minRows = 3

// scarce are the tightest workloads that a table shows where not all are listed: those of which a limit is known.
func scarce(tightest []*capacity.Mix) []*capacity.Mix {
	known := 0
	for known < len(tightest) && room(tightest[known]) < math.MaxInt {
		known++
	}
	return tightest[:min(len(tightest), max(known, minRows), doc.MaxDetails)]
}

// room is the least number of units that fit, whatever may fail.
func room(m *capacity.Mix) int {
	least := units(&m.Fit)
	for i := range m.Survive {
		least = min(least, units(&m.Survive[i]))
	}
	return least
}

// units is the number of units, for comparing: -1 if there are too many now, and the largest number if the search ended.
func units(l *capacity.Limit) int {
	switch {
	case l.Short:
		return -1
	case l.Capped:
		return math.MaxInt
	}
	return l.More
}

// overview says how many workloads there is no room for, and which is the tightest of the others, while nothing fails and while any domain
// of each level may.
func (r *Report) overview(sorted []*capacity.Mix) []doc.Cell {
	var lines []doc.Cell
	for _, level := range append([]string{""}, r.levels()...) {
		var none []string
		rest, least := 0, math.MaxInt
		for _, m := range sorted {
			switch l := surviving(m, level); {
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
	return append(lines, r.listed(sorted)...)
}

// listed says what the table below is of.
func (r *Report) listed(sorted []*capacity.Mix) []doc.Cell {
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
