package report

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/scenario"
)

// SweepKind is the kind of a report on the points of a sweep.
const SweepKind = "SweepReport"

// SweepReport is what the points of a sweep come to.
type SweepReport struct {
	Head
	// Key names what the sweep depends on besides its points: the scenario, the seed, what is looked at, and versions. Shards of one
	// sweep have the same.
	Key string `json:"key"`
	// Step is the step after which the clusters are looked at.
	Step string `json:"step"`
	// Workloads are those of which skew and blast radius are told, as kind/name in lower case; empty: all but DaemonSets and bare pods.
	Workloads []string `json:"workloads,omitempty"`
	// Parameters are the names of what varies, the slowest first.
	Parameters []string `json:"parameters"`
	// Total is the number of points of the whole sweep.
	Total int `json:"total"`
	// Shard says which part of the sweep this is; missing if it is all of it.
	Shard *SweepShard `json:"shard,omitempty"`
	// Baseline is the scenario as it is.
	Baseline whatif.Found `json:"baseline"`
	// Points are the points, in their order.
	Points []SweepPoint `json:"points"`
}

// SweepShard is a part of a sweep.
type SweepShard struct {
	// Index is the shard's number, from 0, and Count the number of shards.
	Index int `json:"index"`
	Count int `json:"count"`
}

// SweepPoint is one point of a sweep.
type SweepPoint struct {
	// Index is the point's place in the sweep, from 0.
	Index int `json:"index"`
	// Values are the point's, by parameter.
	Values map[string]scenario.Scalar `json:"values"`
	// Front tells that no other point of the report is better in one of these and worse in none: Pending pods, the blast radius of each
	// level, what a failure of each level leaves without a node, cost.
	Front bool `json:"front"`
	whatif.Found
}

// NewSweep puts what the points of a sweep come to into the model; from is the place of the first, and shard nil for all of them. The
// key is that of the sweep, and the version Faultline's own.
func NewSweep(base *whatif.Base, s *scenario.Scenario, from int, found []whatif.Found, shard *SweepShard, key string, opts whatif.Options, version string) *SweepReport {
	r := &SweepReport{
		Head: newHead(base.Result, SweepKind, version), Key: key, Step: opts.Step, Workloads: workloadNames(opts.Metric),
		Parameters: s.Parameters, Total: len(s.Points), Shard: shard, Baseline: base.Found,
	}
	if r.Step == "" {
		r.Step = base.Result.Steps[len(base.Result.Steps)-1].Name
	}
	for i := range found {
		point := SweepPoint{Index: from + i, Values: map[string]scenario.Scalar{}, Found: found[i]}
		for j, value := range s.Points[from+i].Values {
			point.Values[s.Parameters[j]] = value
		}
		r.Points = append(r.Points, point)
	}
	r.front()
	return r
}

// front tells of each point whether it is on the Pareto front.
func (r *SweepReport) front() {
	goals := make([]map[string]float64, len(r.Points))
	for i := range r.Points {
		goals[i] = r.Points[i].Goals()
	}
	for i, front := range metric.Front(goals) {
		r.Points[i].Front = front
	}
}

// MergeSweeps returns the whole sweep of which the reports are parts, in any order; a part may be there twice. files are the reports'
// names. The error tells all that does not fit together, and which points are missing.
func MergeSweeps(files []string, parts []*SweepReport) (*SweepReport, error) {
	whole := *parts[0]
	whole.Points, whole.Shard = nil, nil
	if whole.Total < 1 || whole.Total > scenario.MaxPoints {
		return nil, fmt.Errorf("%s: total: %d is not between 1 and %d; write the report anew", files[0], whole.Total, scenario.MaxPoints)
	}
	var problems []error
	points := map[int]*SweepPoint{}
	for i, part := range parts {
		if !sameSweep(part, &whole) {
			problems = append(problems, fmt.Errorf("%s: is of another sweep than %s; give shards of the same scenario, seed, options and versions", files[i], files[0]))
			continue
		}
		for j := range part.Points {
			point := part.Points[j]
			point.Front = false // of all points it is told anew
			known := points[point.Index]
			switch {
			case point.Index < 0 || point.Index >= whole.Total:
				problems = append(problems, fmt.Errorf("%s: points[%d].index: %d is not between 0 and %d; write the report anew", files[i], j, point.Index, whole.Total-1))
			case known == nil:
				points[point.Index] = &point
			case !reflect.DeepEqual(known, &point):
				problems = append(problems, fmt.Errorf("%s: point %s is not the same as in another shard, and should be; delete the reports and run the shards again", files[i], point.name(whole.Parameters)))
			}
		}
	}
	var missing []string
	for i := range whole.Total {
		if points[i] == nil {
			missing = append(missing, fmt.Sprint(i))
		} else {
			whole.Points = append(whole.Points, *points[i])
		}
	}
	if len(missing) > 0 && len(problems) == 0 {
		more := ""
		if len(missing) > maxDomains {
			more = fmt.Sprintf(" and %d more", len(missing)-maxDomains)
		}
		problems = append(problems, fmt.Errorf("%d of %d points are missing: %s%s; give the reports of all shards, and run those again that have failed",
			len(missing), whole.Total, strings.Join(missing[:min(len(missing), maxDomains)], ", "), more))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	whole.front()
	return &whole, nil
}

// sameSweep tells whether two reports are parts of one sweep.
func sameSweep(a, b *SweepReport) bool {
	x, y := *a, *b
	x.Points, x.Shard, y.Points, y.Shard = nil, nil, nil, nil
	return reflect.DeepEqual(x, y)
}

// name is the point's values: replicas=3,rule=soft.
func (p *SweepPoint) name(parameters []string) string {
	var parts []string
	for _, name := range parameters {
		parts = append(parts, name+"="+p.Values[name].String())
	}
	return strings.Join(parts, ",")
}

var SweepFormats = formats[SweepReport]{
	textFormat("text", func(r *SweepReport, opts Options) []byte {
		t := sweepText{page: newPage(opts), report: r}
		t.everything()
		return t.bytes()
	}),
	jsonFormat(completeSweep),
	yamlFormat(completeSweep),
	plainFormat("markdown", sweepMarkdown),
	encodedFormat("html", sweepHTML),
	encodedFormat("csv", sweepCSV),
	svgFormat(sweepChart),
	pngFormat(sweepChart),
}

// completeSweep is complete for a SweepReport.
func completeSweep(r *SweepReport) *SweepReport {
	c := *r
	c.Head, c.Points = completeHead(r.Head), list(slices.Clone(r.Points))
	c.Baseline.Levels = list(c.Baseline.Levels)
	for i := range c.Points {
		c.Points[i].Levels = list(c.Points[i].Levels)
	}
	return &c
}

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

// sweepMarkdown is the verdict and a table of points.
func sweepMarkdown(r *SweepReport) []byte {
	m := &markdown{}
	m.block("**%s**", prose(r.verdict()))
	m.block("%s", prose(r.about()))
	m.about(r.Head)
	shown, rest := r.shown(false)
	m.table(r.table(shown), "point")
	if rest != "" {
		m.block("%s", prose(rest))
	}
	return m.bytes()
}

// sweepCSV has a row for each point and level, and a head:
//
//	point, and a column for each parameter: the point's place, from 0, and its values
//	front: whether the point is not beaten
//	pods, pending, moved, cost, unpriced: the same in each row of a point
//	topologyKey, domains, skew, skewOf, radius (between 0 and 1), radiusOf, radiusIn: the level
//	stranded, unreplaced: the most that a failure of the level leaves so; empty where that was not looked at
//	lookedAt: for how many of the level's domains it was
func sweepCSV(r *SweepReport) ([]byte, error) {
	table := [][]string{slices.Concat([]string{"point"}, r.Parameters, []string{"front"}, metricColumns)}
	for i := range r.Points {
		point := &r.Points[i]
		head := []string{fmt.Sprint(point.Index)}
		for _, name := range r.Parameters {
			head = append(head, point.Values[name].String())
		}
		head = append(head, fmt.Sprint(point.Front))
		for _, cells := range metricRows(&point.Found) {
			table = append(table, slices.Concat(head, cells))
		}
	}
	return toCSV(table)
}
