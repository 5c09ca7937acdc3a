package blast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

const (
	// maxFailures is how many failures of a level are listed, all of them; of more than that, the first maxWorst.
	maxFailures = 12
	maxWorst    = 10
	// maxHit is how many workloads are named in a cell.
	maxHit = 3
	// maxFates is how many shared fates of a level are shown, and maxFate how many pods of one are named.
	maxFates = 5
	maxFate  = 6
)

// writer renders a report as text and wide.
type writer struct {
	text.Page
	report *Report
	wide   bool
	// kinds are the kinds of the workloads that lose pods, by namespace and name; namespaced means that names need their namespace.
	kinds      map[[2]string]string
	namespaced bool
}

func newWriter(r *Report, opts report.Options, wide bool) *writer {
	t := &writer{Page: text.NewPage(opts), wide: wide, report: r, kinds: map[[2]string]string{}}
	const several = "*"
	for _, step := range r.Steps {
		for _, level := range step.Levels {
			for _, failure := range level.Failures {
				for _, loss := range failure.Workloads {
					key := [2]string{loss.Namespace, loss.Name}
					if kind, seen := t.kinds[key]; seen && kind != loss.Kind {
						t.kinds[key] = several
					} else {
						t.kinds[key] = loss.Kind
					}
					t.namespaced = t.namespaced || loss.Namespace != "default"
				}
			}
		}
	}
	return t
}

func (t *writer) everything() {
	t.Header(t.report.Head)
	t.Space()
	t.Linef(text.Bold, "%s", t.question())
	t.Space()
	t.summary()
	for i := range t.report.Steps {
		t.step(i)
	}
}

// question says which failures are looked at.
func (t *writer) question() string {
	r := t.report
	line := "What the failure of each domain takes"
	if r.Simultaneous > 1 {
		line = fmt.Sprintf("What the failure of %d domains together takes", r.Simultaneous)
	}
	if len(r.Steps) == 1 { // which the tables do not name
		line += " after step " + r.Steps[0].Name
	}
	if !r.Recover {
		return line
	}
	line += ", and what comes back (nodes " + r.Mode
	more := func(l Level) bool { return len(l.Failures) > r.Worst }
	if r.Worst > 0 && slices.ContainsFunc(r.Steps, func(s Step) bool { return slices.ContainsFunc(s.Levels, more) }) {
		line += fmt.Sprintf("; the %d worst of each level", r.Worst)
	}
	return line + ")"
}

func (t *writer) summary() {
	if len(t.report.Steps) == 0 {
		t.Linef(text.Plain, "No steps.")
		return
	}
	t.Table("", t.worstFailures()...)
}

// worstFailures is a row for each step and level below the titles: the worst failure, and what comes back after it.
func (t *writer) worstFailures() [][]text.Cell {
	steps := len(t.report.Steps) > 1
	titles := []string{"PENDING", "LEVEL", "DOMAINS", "RADIUS", "TAKES", "WORST", "MEAN"}
	if steps {
		titles = append([]string{"STEP"}, titles...)
	}
	if t.report.Recover {
		titles = append(titles, "LOST", "RECOVERED", "STRANDED", "NOT REPLACED", "AFTER")
	}
	table := [][]text.Cell{text.Bold.Row(titles...)}
	for i := range t.report.Steps {
		step := &t.report.Steps[i]
		names := step.levels()
		for j := range step.Levels {
			level := &step.Levels[j]
			var cells []text.Cell
			if steps {
				cells = append(cells, text.Plain.Cell(step.Name))
			}
			cells = append(cells, text.Number(step.Pending, text.Yellow), text.Plain.Cell(names[j]), text.Number(level.Domains, text.Plain))
			cells = append(cells, radiusCells(level.Radius, t.namespaced)...)
			cells = append(cells, text.Plain.Cell(level.mean()))
			if t.report.Recover {
				cells = append(cells, summaryOf(level.worst(), level)...)
			}
			table = append(table, cells)
		}
	}
	return table
}

// levels are the short names of the step's levels.
func (s *Step) levels() []string {
	var keys []string
	for _, level := range s.Levels {
		keys = append(keys, level.TopologyKey)
	}
	return text.Shorts(keys)
}

// radiusCells fill RADIUS, TAKES and WORST.
func radiusCells(r Radius, namespaced bool) []text.Cell {
	if r.Replicas == 0 {
		return text.Plain.Row("0%", text.None, text.None)
	}
	return []text.Cell{text.ShareStyle(r.Share).Cell(text.Percent(r.Share)), text.Plain.Cell(r.Takes(namespaced)), text.Plain.Cell(text.DomainsText(r.Domains))}
}

// Takes is "2 of 3 of deployment/web".
func (r Radius) Takes(namespaced bool) string {
	workload := r.Workload
	if namespaced {
		workload = r.Namespace + "/" + workload
	}
	return fmt.Sprintf("%d of %d of %s", r.Lost, r.Replicas, workload)
}

func (l *Level) mean() string {
	if l.Mean == nil {
		return text.None
	}
	return text.Percent(*l.Mean)
}

// worst returns the failure of the blast radius; nil if no failure takes anything of a workload.
func (l *Level) worst() *Failure {
	for i := range l.Failures {
		if l.Radius.Replicas > 0 && slices.Equal(l.Failures[i].Domains, l.Radius.Domains) {
			return &l.Failures[i]
		}
	}
	return nil
}

// Recovery returns what came back after the failure, which may stand with an earlier failure; nil if it was not looked at.
func (l *Level) Recovery(f *Failure) *Recovery {
	switch {
	case f == nil:
		return nil
	case len(f.LikeDomains) == 0:
		return f.Recovery
	}
	i := slices.IndexFunc(l.Failures, func(other Failure) bool { return slices.Equal(other.Domains, f.LikeDomains) })
	if i < 0 {
		return nil
	}
	return l.Failures[i].Recovery
}

// summaryOf fills LOST, RECOVERED, STRANDED, NOT REPLACED and AFTER.
func summaryOf(f *Failure, level *Level) []text.Cell {
	r := level.Recovery(f)
	if r == nil {
		return text.Plain.Row(text.None, text.None, text.None, text.None, text.None)
	}
	return append(append([]text.Cell{text.Number(r.Lost, text.Plain)}, r.cells()...), text.ShareStyle(r.After.Share).Cell(text.Percent(r.After.Share)))
}

// cells fill RECOVERED, STRANDED and NOT REPLACED.
func (r *Recovery) cells() []text.Cell {
	return []text.Cell{text.Number(len(r.Recovered), text.Green), text.Number(len(r.Stranded), text.Yellow), text.Number(len(r.NotReplaced), text.Red)}
}

// step shows each level of one step.
func (t *writer) step(i int) {
	step := &t.report.Steps[i]
	if len(t.report.Steps) > 1 {
		heading := fmt.Sprintf("Step %d/%d  %s", i+1, len(t.report.Steps), step.Name)
		if step.Action != "" {
			heading += ": " + step.Action
		}
		t.Space()
		t.Linef(text.Bold, "%s", heading)
	}
	if len(step.Levels) == 0 {
		t.Linef(text.Plain, "No node is in any domain.")
	}
	for j := range step.Levels {
		t.Space()
		t.level(&step.Levels[j], step.levels()[j])
	}
	if step.Risk != nil {
		t.Space()
		t.risk(step.Risk)
	}
}

func (t *writer) level(level *Level, name string) {
	heading := fmt.Sprintf("Level %s: %s", name, words.Count(level.Domains, "domain"))
	if level.Mean != nil {
		heading += fmt.Sprintf(", radius %s, mean %s", text.Percent(level.Radius.Share), text.Percent(*level.Mean))
	}
	t.Linef(text.Bold, "%s", heading)
	if level.Search != "" {
		t.Linef(text.Plain, "%s", level.Search)
	}
	shown := t.shown(level)
	if len(shown) > 0 {
		t.failures(level, shown)
	}
	if more := len(level.Failures) - len(shown); more > 0 {
		t.Linef(text.Plain, "%s", level.histogram())
		t.Linef(text.Plain, "These are the %d worst of %d failures; use --all to list every one.", len(shown), len(level.Failures))
	}
	t.evictions(level, shown)
	t.stranded(level, shown)
	t.notReplaced(level, shown)
	t.sharedFate(shown)
	for _, failure := range shown {
		if failure.Recovery != nil {
			after := " after the loss of " + text.DomainsText(failure.Domains)
			t.Replacements(failure.Recovery.Recovered, failure.Recovery.Stranded, func(namespace, name string) string { return "Pod " + t.qualified(namespace, name) + after })
		}
	}
	if n := len(level.Unlabelled); n > 0 {
		have, is := "has", "it is"
		if n > 1 {
			have, is = "have", "they are"
		}
		t.Line(text.Bold.Cell("Unlabelled:"), text.Plain.Cellf(" %s %s no label %s, so %s in no domain, and no failure of the level takes the pods there: %s",
			words.Count(n, "node"), have, level.TopologyKey, is, t.Some(level.Unlabelled)))
	}
}

// shown are the failures that the table lists: all in order of their names, or the worst of many.
func (t *writer) shown(level *Level) []*Failure {
	failures := make([]*Failure, len(level.Failures))
	for i := range level.Failures {
		failures[i] = &level.Failures[i]
	}
	if t.All || len(failures) <= maxFailures {
		return failures
	}
	// The order in which failures are chosen for recovery, too.
	slices.SortStableFunc(failures, func(a, b *Failure) int {
		return cmp.Or(cmp.Compare(b.Share(), a.Share()), cmp.Compare(b.Pods, a.Pods))
	})
	return failures[:maxWorst]
}

// Share is the largest share that the failure takes of any workload.
func (f *Failure) Share() float64 {
	if len(f.Workloads) == 0 {
		return 0
	}
	return f.Workloads[0].share()
}

// share is the share of the workload's running pods that the failure takes.
func (l Loss) share() float64 {
	if l.Replicas == 0 { // in no report that Faultline wrote
		return 0
	}
	return float64(l.Lost) / float64(l.Replicas)
}

// histogram counts the failures by what they take: "3 failures take 100% of a workload, 24 25% to 50%, 973 nothing".
func (l *Level) histogram() string {
	shares := l.Shares
	if len(shares) == 0 { // not all failures were looked at
		for _, failure := range l.Failures {
			shares = append(shares, Share{failure.Share(), 1})
		}
		slices.SortFunc(shares, func(a, b Share) int { return cmp.Compare(a.Share, b.Share) })
	}
	type bin struct {
		least, most float64
		failures    int
	}
	var bins []bin
	edges := []float64{0, 0.1, 0.25, 0.5, 0.75, 1}
	of := func(share float64) int { // the first edge that is not below the share; everything and nothing stand for themselves
		i, _ := slices.BinarySearch(edges, share)
		if share >= 1 {
			i++
		}
		return i
	}
	for i, share := range shares {
		if i == 0 || of(share.Share) != of(shares[i-1].Share) {
			bins = append(bins, bin{least: share.Share})
		}
		last := &bins[len(bins)-1]
		last.most, last.failures = share.Share, last.failures+share.Failures
	}
	var parts []string
	for _, b := range slices.Backward(bins) {
		takes := text.Percent(b.least)
		switch most := text.Percent(b.most); {
		case b.most == 0:
			takes = "nothing"
		case most != takes:
			takes += " to " + most
		}
		parts = append(parts, fmt.Sprintf("%d × %s", b.failures, takes))
	}
	return "Largest share of a workload: " + strings.Join(parts, ", ")
}
