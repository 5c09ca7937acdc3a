package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/figures"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// maxPoints is the largest number of points that text lists without All, and maxRows the largest number that a page lists.
const maxPoints, maxRows = 24, 2000

// document says how many points place every pod, and has a table of the best points.
func document(r *Report, opts report.Options) *doc.Doc {
	most := maxPoints
	switch {
	case opts.All:
		most = len(r.Points)
	case opts.Page:
		most = maxRows
	}
	d := doc.New(r.Head, opts)
	if stuck := r.stuckSentence(); stuck != "" {
		d.Linef(doc.Red, "%s", stuck)
	}
	d.Linef(doc.Bold, "%s", r.verdict())
	if held := r.describeHeld(); held != "" {
		d.Linef(doc.Yellow, "%s", held)
	}
	d.Linef(doc.Plain, "%s", r.describeSweep())
	d.Space()
	shown, rest := r.listedPoints(most)
	d.Add(doc.Table{Rows: r.table(shown), Noun: "point", Nouns: "points"})
	if rest > 0 {
		where := "; see --all, or -o csv"
		if d.Page {
			where = ""
		}
		d.Linef(doc.Plain, "… and %s%s", words.Count(rest, "more point"), where)
	}
	d.Space()
	d.Header()
	return &d
}

// verdict says how many points leave no more pods Pending than now, and how many are not beaten.
func (r *Report) verdict() string {
	placed, front := 0, 0
	for i := range r.Points {
		if r.Points[i].Pending <= r.Baseline.Pending {
			placed++
		}
		if r.Points[i].Front {
			front++
		}
	}
	leave := "no pod Pending"
	if n := r.Baseline.Pending; n > 0 {
		leave = fmt.Sprintf("no more pods Pending than the %d now", n)
	}
	points := words.Count(len(r.Points), "point")
	if r.Partial != "" {
		points += " that were run"
	}
	return fmt.Sprintf("%d of %s leave %s; %d are not beaten by another in %s.", placed, points, leave, front, words.And(r.goalNames()))
}

// stuckSentence says at how many points a rollout gets stuck, and why at the first; "" if none does.
func (r *Report) stuckSentence() string {
	first, n := -1, 0
	for i := range r.Points {
		if len(r.Points[i].StuckRollouts) > 0 {
			if n++; first < 0 {
				first = i
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s: a rollout gets stuck; at point %d %s.", n, words.Count(len(r.Points), "point"), r.Points[first].Index+1, whatif.DescribeStuckRollout(&r.Points[first].StuckRollouts[0]))
}

// describeHeld says at how many points HorizontalPodAutoscalers allow fewer replicas than wanted, with the numbers of the first; "" if there is
// none.
func (r *Report) describeHeld() string {
	text, n := "", 0
	for i := range r.Points {
		if workloads, replicas, wanted := world.SumHeldBack(r.Points[i].Held); workloads > 0 {
			if n++; n == 1 {
				text = fmt.Sprintf("at point %d %d of %d (%s)", r.Points[i].Index+1, replicas, wanted, words.Count(workloads, "workload"))
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s: HorizontalPodAutoscalers allow fewer replicas; %s.", n, words.Count(len(r.Points), "point"), text)
}

// goalNames returns the words for the figures of which less is better.
func (r *Report) goalNames() []string {
	stranded, cost := false, false
	for i := range r.Points {
		for j := range r.Points[i].Levels {
			stranded = stranded || len(r.Points[i].Levels[j].Failures) > 0
		}
		cost = cost || r.Points[i].Cost != nil
	}
	goals := []string{"Pending pods", "blast radius"}
	if stranded {
		goals = append(goals, "pods that do not come back")
	}
	if cost {
		goals = append(goals, "cost")
	}
	return goals
}

func (r *Report) describeSweep() string {
	line := fmt.Sprintf("Sweep over %s, after step %s", words.And(r.Parameters), r.Step)
	if r.Shard != nil {
		line += fmt.Sprintf("; shard %d of %d, with %d of %s", r.Shard.Index, r.Shard.Count, len(r.Points), words.Count(r.Total, "point"))
	}
	if len(r.Workloads) > 0 {
		line += "; skew and blast radius of " + words.And(r.Workloads)
	}
	return strings.TrimSpace(line + ". An asterisk marks what is not beaten. " + figures.PartlyNote(r.allFound()))
}

func (r *Report) allFound() []*whatif.Found {
	all := []*whatif.Found{&r.Baseline}
	for i := range r.Points {
		all = append(all, &r.Points[i].Found)
	}
	return all
}

// listedPoints returns the points that are listed, and the number of the others.
func (r *Report) listedPoints(most int) (listed []*Point, rest int) {
	var every, front []*Point
	for i := range r.Points {
		every = append(every, &r.Points[i])
		if r.Points[i].Front {
			front = append(front, &r.Points[i])
		}
	}
	if len(every) <= most {
		return every, 0
	}
	front = front[:min(len(front), maxPoints)]
	return front, len(every) - len(front)
}

// table returns the titles, a row for the scenario without changes, and a row for each point.
func (r *Report) table(points []*Point) [][]doc.Cell {
	var keys []string
	stranded, cost, scaled := false, r.Baseline.Cost != nil, false
	look := func(f *whatif.Found) {
		cost, scaled = cost || f.Cost != nil, scaled || f.NewNodes != nil
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
	for _, name := range doc.ColumnTitles(keys) {
		titles = append(titles, "SKEW/"+name, "RADIUS/"+name)
		if stranded {
			titles = append(titles, "NOT BACK/"+name)
		}
	}
	if scaled {
		titles = append(titles, "NEW NODES")
	}
	if cost {
		titles = append(titles, "COST/H")
	}
	cells := func(f *whatif.Found) []doc.Cell {
		row := []doc.Cell{doc.Number(f.Pods, doc.Plain), doc.Number(f.Pending, doc.Yellow), doc.Number(f.Moved, doc.Plain)}
		for _, key := range keys {
			level := f.Level(key)
			if level == nil {
				level = &metric.LevelMetrics{}
			}
			row = append(row, doc.Plain.Cell(fmt.Sprint(level.Skew)), doc.ShareStyle(level.Radius).Cell(doc.Percent(level.Radius)))
			if stranded {
				row = append(row, figures.MostNotBack(level, doc.Yellow))
			}
		}
		if scaled {
			row = append(row, figures.NewNodesCell(f, &r.Baseline))
		}
		if cost {
			row = append(row, doc.Plain.Cell(figures.CostText(&f.Metrics)))
		}
		return row
	}
	base := []doc.Cell{doc.Plain.Cell("")}
	for range r.Parameters {
		base = append(base, doc.Plain.Cell("as it is"))
	}
	table := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row(titles...), figures.DropOrder(keys)...), append(base, cells(&r.Baseline)...)}
	for _, point := range points {
		mark := ""
		if point.Front {
			mark = "*"
		}
		line := []doc.Cell{doc.Plain.Cell(mark)}
		for _, name := range r.Parameters {
			line = append(line, doc.Plain.Cell(cmp.Or(point.Values[name].String(), `""`)))
		}
		table = append(table, append(line, cells(&point.Found)...))
	}
	return table
}
