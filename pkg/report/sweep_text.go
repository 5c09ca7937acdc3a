package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
)

// sweepText renders a SweepReport as text: which points are not beaten, and a table of those, or of all if they are few.
type sweepText struct {
	page
	report *SweepReport
}

// maxPoints is how many points are listed where nobody asks for all.
const maxPoints = 24

func (t *sweepText) everything() {
	r := t.report
	t.linef(bold, "%s", r.verdict())
	t.linef(plain, "%s", r.about())
	t.space()
	shown, title := r.shown(t.all)
	t.table("", r.table(shown)...)
	if title != "" {
		t.linef(plain, "%s", title)
	}
}

// verdict says how many points place everything, and which of them are not beaten.
func (r *SweepReport) verdict() string {
	placed, front := 0, 0
	for i := range r.Points {
		if r.Points[i].Pending == 0 {
			placed++
		}
		if r.Points[i].Front {
			front++
		}
	}
	return fmt.Sprintf("%d of %s leave no pod Pending; %d are not beaten by another in %s.",
		placed, count(len(r.Points), "point"), front, and(r.goals()))
}

// goals are the numbers of which less is better, in words.
func (r *SweepReport) goals() []string {
	stranded, cost := false, false
	for i := range r.Points {
		for j := range r.Points[i].Levels {
			stranded = stranded || len(r.Points[i].Levels[j].Failures) > 0
		}
		cost = cost || r.Points[i].Cost != nil
	}
	goals := []string{"Pending pods", "blast radius"}
	if stranded {
		goals = append(goals, "stranded pods")
	}
	if cost {
		goals = append(goals, "cost")
	}
	return goals
}

func (r *SweepReport) about() string {
	line := fmt.Sprintf("Sweep over %s, after step %s", and(r.Parameters), r.Step)
	if r.Shard != nil {
		line += fmt.Sprintf("; shard %d of %d, with %d of %s", r.Shard.Index, r.Shard.Count, len(r.Points), count(r.Total, "point"))
	}
	if len(r.Workloads) > 0 {
		line += "; skew and blast radius of " + and(r.Workloads)
	}
	return strings.TrimSpace(line + ". An asterisk marks what is not beaten. " + notLookedAt(r.found()))
}

func (r *SweepReport) found() []*whatif.Found {
	all := []*whatif.Found{&r.Baseline}
	for i := range r.Points {
		all = append(all, &r.Points[i].Found)
	}
	return all
}

// shown are the points that are listed, and what is said of the others.
func (r *SweepReport) shown(all bool) ([]*SweepPoint, string) {
	var every, front []*SweepPoint
	for i := range r.Points {
		every = append(every, &r.Points[i])
		if r.Points[i].Front {
			front = append(front, &r.Points[i])
		}
	}
	if all || len(every) <= maxPoints {
		return every, ""
	}
	front = front[:min(len(front), maxPoints)]
	return front, fmt.Sprintf("… and %s; see --all, or -o csv", count(len(every)-len(front), "more point"))
}

// table is a row for each point below the titles, after one for the scenario as it is.
func (r *SweepReport) table(points []*SweepPoint) [][]cell {
	var keys []string
	stranded, cost := false, r.Baseline.Cost != nil
	look := func(f *whatif.Found) {
		cost = cost || f.Cost != nil
		for i := range f.Levels {
			stranded = stranded || len(f.Levels[i].Failures) > 0
			if !slices.Contains(keys, f.Levels[i].TopologyKey) {
				keys = append(keys, f.Levels[i].TopologyKey)
			}
		}
	}
	look(&r.Baseline)
	for _, point := range points {
		look(&point.Found)
	}
	titles := []string{""}
	for _, name := range r.Parameters {
		titles = append(titles, strings.ToUpper(name))
	}
	titles = append(titles, "PODS", "PENDING", "MOVED")
	for _, name := range heads(keys) {
		titles = append(titles, "SKEW/"+name, "RADIUS/"+name)
		if stranded {
			titles = append(titles, "STRANDED/"+name)
		}
	}
	if cost {
		titles = append(titles, "COST/H")
	}
	cells := func(f *whatif.Found) []cell {
		row := []cell{number(f.Pods, plain), number(f.Pending, yellow), number(f.Moved, plain)}
		for _, key := range keys {
			level := f.Level(key)
			if level == nil {
				level = &metric.LevelMetrics{}
			}
			row = append(row, plain.cell(fmt.Sprint(level.Skew)), shareStyle(level.Radius).cell(percent(level.Radius)))
			if stranded {
				row = append(row, mostStranded(level, yellow))
			}
		}
		if cost {
			row = append(row, plain.cell(costText(&f.Metrics)))
		}
		return row
	}
	base := []cell{plain.cell("")}
	for range r.Parameters {
		base = append(base, plain.cell("as it is"))
	}
	table := [][]cell{bold.row(titles...), append(base, cells(&r.Baseline)...)}
	for _, point := range points {
		mark := ""
		if point.Front {
			mark = "*"
		}
		line := []cell{plain.cell(mark)}
		for _, name := range r.Parameters {
			line = append(line, plain.cell(cmp.Or(point.Values[name].String(), `""`)))
		}
		table = append(table, append(line, cells(&point.Found)...))
	}
	return table
}
