package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/report/doc"
)

// goal is a number of which less is better, of the whole cluster or of one level.
type goal struct {
	kind goalKind
	// level is the noun for the level's domains, "" for a number of the whole cluster. place is the index of the level, widest first.
	level   string
	place   int
	valueOf func(*whatif.Found) (value float64, known bool)
}

type goalKind int

const (
	pendingGoal goalKind = iota
	radiusGoal
	notBackGoal
	costGoal
)

func (k goalKind) String() string {
	return []string{"Pending pods", "blast radius", "pods not back", "cost per hour"}[k]
}

// name returns the name of the goal: "blast radius by zone".
func (q *goal) name() string {
	if q.level == "" {
		return q.kind.String()
	}
	return q.kind.String() + " by " + Cut(q.level, 24)
}

// text returns a value in the form of the goal.
func (q *goal) text(value float64) string {
	switch q.kind {
	case radiusGoal:
		return doc.Percent(value)
	case costGoal:
		return fmt.Sprintf("%.2f", value)
	}
	return strconv.Itoa(int(value))
}

// ticks returns the ticks of an axis from 0 to top.
func (q *goal) ticks(top float64) plot.Ticker {
	switch {
	case q.kind == radiusGoal:
		return shareTicks(top)
	case q.kind == costGoal && top < 5:
		ticks := wholeTicks(100 * top)
		for i := range ticks {
			ticks[i].Value /= 100
			ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'f', -1, 64)
		}
		return ticks
	}
	return wholeTicks(top)
}

// goals returns the goals that are known for any version, kind by kind, and the number of levels that are left out because colours are
// missing.
func goals(versions []*whatif.Found) (known []goal, leftOut int) {
	var keys []string
	for _, f := range versions {
		for i := range f.Levels {
			if key := f.Levels[i].TopologyKey; !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	short := doc.ShortKeys(keys)
	if leftOut = max(0, len(keys)-len(palette)); leftOut > 0 {
		keys = keys[:len(palette)]
	}
	all := []goal{{kind: pendingGoal, valueOf: func(f *whatif.Found) (float64, bool) { return float64(f.Pending), true }}}
	for place, key := range keys {
		all = append(all, goal{kind: radiusGoal, level: doc.DomainNoun(key, short[place]), place: place, valueOf: func(f *whatif.Found) (float64, bool) {
			level := f.Level(key)
			if level == nil {
				return 0, false
			}
			return level.Radius, true
		}})
	}
	for place, key := range keys {
		all = append(all, goal{kind: notBackGoal, level: doc.DomainNoun(key, short[place]), place: place, valueOf: func(f *whatif.Found) (float64, bool) {
			level := f.Level(key)
			if level == nil {
				return 0, false
			}
			n, looked := level.NotBack()
			return float64(n), looked
		}})
	}
	all = append(all, goal{kind: costGoal, valueOf: func(f *whatif.Found) (float64, bool) {
		if f.Cost == nil || f.Unpriced > 0 {
			return 0, false
		}
		return *f.Cost, true
	}})
	for _, q := range all {
		if low, high := q.span(versions); low <= high {
			known = append(known, q)
		}
	}
	return known, leftOut
}

// span returns the smallest and the largest known value, or +Inf and -Inf if none is known.
func (q *goal) span(versions []*whatif.Found) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, f := range versions {
		if value, known := q.valueOf(f); known {
			low, high = min(low, value), max(high, value)
		}
	}
	return low, high
}

// groupByKind groups goals of one kind, which share a panel.
func groupByKind(all []goal) [][]goal {
	var groups [][]goal
	for _, q := range all {
		if last := len(groups) - 1; last >= 0 && groups[last][0].kind == q.kind {
			groups[last] = append(groups[last], q)
		} else {
			groups = append(groups, []goal{q})
		}
	}
	return groups
}

// panelTitle returns the title of a panel. If it shows several levels, the legend names them.
func panelTitle(group []goal) string {
	if len(group) == 1 {
		return group[0].name()
	}
	return group[0].kind.String()
}
