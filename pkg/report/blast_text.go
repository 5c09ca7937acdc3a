package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxFailures is how many failures of a level are listed, all of them; of more than that, the first maxWorst.
	maxFailures = 12
	maxWorst    = 10
	// maxHit is how many workloads are named in a cell.
	maxHit = 3
	// maxFates is how many shared fates of a level are told, and maxFate how many pods of one are named.
	maxFates = 5
	maxFate  = 6
)

// blastText renders a BlastReport as text and wide.
type blastText struct {
	page
	report *BlastReport
	wide   bool
	// kinds are the kinds of the workloads that lose pods, by namespace and name; namespaced tells that names need their namespace.
	kinds      map[[2]string]string
	namespaced bool
}

func newBlastText(r *BlastReport, opts Options, wide bool) *blastText {
	t := &blastText{page: newPage(opts), wide: wide, report: r, kinds: map[[2]string]string{}}
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

func (t *blastText) everything() {
	t.header(t.report.Head)
	t.space()
	t.linef(bold, "%s", t.question())
	t.space()
	t.summary()
	for i := range t.report.Steps {
		t.step(i)
	}
}

// question says which failures are looked at.
func (t *blastText) question() string {
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
	more := func(l BlastLevel) bool { return len(l.Failures) > r.Worst }
	if r.Worst > 0 && slices.ContainsFunc(r.Steps, func(s BlastStep) bool { return slices.ContainsFunc(s.Levels, more) }) {
		line += fmt.Sprintf("; the %d worst of each level", r.Worst)
	}
	return line + ")"
}

func (t *blastText) summary() {
	if len(t.report.Steps) == 0 {
		t.linef(plain, "No steps.")
		return
	}
	t.table("", t.worstFailures()...)
}

// worstFailures is a row for each step and level below the titles: the worst failure, and what comes back after it.
func (t *blastText) worstFailures() [][]cell {
	steps := len(t.report.Steps) > 1
	titles := []string{"PENDING", "LEVEL", "DOMAINS", "RADIUS", "TAKES", "WORST", "MEAN"}
	if steps {
		titles = append([]string{"STEP"}, titles...)
	}
	if t.report.Recover {
		titles = append(titles, "LOST", "RECOVERED", "STRANDED", "NOT REPLACED", "AFTER")
	}
	table := [][]cell{bold.row(titles...)}
	for i := range t.report.Steps {
		step := &t.report.Steps[i]
		names := step.levels()
		for j := range step.Levels {
			level := &step.Levels[j]
			var cells []cell
			if steps {
				cells = append(cells, plain.cell(step.Name))
			}
			cells = append(cells, number(step.Pending, yellow), plain.cell(names[j]), number(level.Domains, plain))
			cells = append(cells, radiusCells(level.Radius, t.namespaced)...)
			cells = append(cells, plain.cell(level.mean()))
			if t.report.Recover {
				cells = append(cells, summaryOf(level.worst(), level)...)
			}
			table = append(table, cells)
		}
	}
	return table
}

// levels are the short names of the step's levels.
func (s *BlastStep) levels() []string {
	var keys []string
	for _, level := range s.Levels {
		keys = append(keys, level.TopologyKey)
	}
	return shorts(keys)
}

// radiusCells fill RADIUS, TAKES and WORST.
func radiusCells(r Radius, namespaced bool) []cell {
	if r.Replicas == 0 {
		return plain.row("0%", none, none)
	}
	return []cell{shareStyle(r.Share).cell(percent(r.Share)), plain.cell(r.takes(namespaced)), plain.cell(domainsText(r.Domains))}
}

// takes is "2 of 3 of deployment/web".
func (r Radius) takes(namespaced bool) string {
	workload := r.Workload
	if namespaced {
		workload = r.Namespace + "/" + workload
	}
	return fmt.Sprintf("%d of %d of %s", r.Lost, r.Replicas, workload)
}

func (l *BlastLevel) mean() string {
	if l.Mean == nil {
		return none
	}
	return percent(*l.Mean)
}

// worst returns the failure of the blast radius; nil if no failure takes anything of a workload.
func (l *BlastLevel) worst() *Failure {
	for i := range l.Failures {
		if l.Radius.Replicas > 0 && slices.Equal(l.Failures[i].Domains, l.Radius.Domains) {
			return &l.Failures[i]
		}
	}
	return nil
}

// recovery returns what came back after the failure, be it told of another one; nil if it was not looked at.
func (l *BlastLevel) recovery(f *Failure) *Recovery {
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
func summaryOf(f *Failure, level *BlastLevel) []cell {
	r := level.recovery(f)
	if r == nil {
		return plain.row(none, none, none, none, none)
	}
	return append(append([]cell{number(r.Lost, plain)}, r.cells()...), shareStyle(r.After.Share).cell(percent(r.After.Share)))
}

// cells fill RECOVERED, STRANDED and NOT REPLACED.
func (r *Recovery) cells() []cell {
	return []cell{number(len(r.Recovered), green), number(len(r.Stranded), yellow), number(len(r.NotReplaced), red)}
}

// step tells of each level of one step.
func (t *blastText) step(i int) {
	step := &t.report.Steps[i]
	if len(t.report.Steps) > 1 {
		heading := fmt.Sprintf("Step %d/%d  %s", i+1, len(t.report.Steps), step.Name)
		if step.Action != "" {
			heading += ": " + step.Action
		}
		t.space()
		t.linef(bold, "%s", heading)
	}
	if len(step.Levels) == 0 {
		t.linef(plain, "No node is in any domain.")
	}
	for j := range step.Levels {
		t.space()
		t.level(&step.Levels[j], step.levels()[j])
	}
	if step.Risk != nil {
		t.space()
		t.risk(step.Risk)
	}
}

func (t *blastText) level(level *BlastLevel, name string) {
	heading := fmt.Sprintf("Level %s: %s", name, count(level.Domains, "domain"))
	if level.Mean != nil {
		heading += fmt.Sprintf(", radius %s, mean %s", percent(level.Radius.Share), percent(*level.Mean))
	}
	t.linef(bold, "%s", heading)
	if level.Search != "" {
		t.linef(plain, "%s", level.Search)
	}
	shown := t.shown(level)
	if len(shown) > 0 {
		t.failures(level, shown)
	}
	if more := len(level.Failures) - len(shown); more > 0 {
		t.linef(plain, "%s", level.histogram())
		t.linef(plain, "These are the %d worst of %d failures; use --all to list every one.", len(shown), len(level.Failures))
	}
	t.evictions(level, shown)
	t.stranded(level, shown)
	t.notReplaced(level, shown)
	t.sharedFate(shown)
	for _, failure := range shown {
		if failure.Recovery != nil {
			after := " after the loss of " + domainsText(failure.Domains)
			t.replacements(failure.Recovery.Recovered, failure.Recovery.Stranded, func(namespace, name string) string { return "Pod " + t.qualified(namespace, name) + after })
		}
	}
	if n := len(level.Unlabelled); n > 0 {
		have, is := "has", "it is"
		if n > 1 {
			have, is = "have", "they are"
		}
		t.line(bold.cell("Unlabelled:"), plain.cellf(" %s %s no label %s, so %s in no domain, and no failure of the level takes the pods there: %s",
			count(n, "node"), have, level.TopologyKey, is, t.some(level.Unlabelled)))
	}
}

// shown are the failures that the table lists: all in order of their names, or the worst of many.
func (t *blastText) shown(level *BlastLevel) []*Failure {
	failures := make([]*Failure, len(level.Failures))
	for i := range level.Failures {
		failures[i] = &level.Failures[i]
	}
	if t.all || len(failures) <= maxFailures {
		return failures
	}
	// The order in which failures are chosen for recovery, too.
	slices.SortStableFunc(failures, func(a, b *Failure) int {
		return cmp.Or(cmp.Compare(b.share(), a.share()), cmp.Compare(b.Pods, a.Pods))
	})
	return failures[:maxWorst]
}

// share is the largest share that the failure takes of any workload.
func (f *Failure) share() float64 {
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
func (l *BlastLevel) histogram() string {
	shares := l.Shares
	if len(shares) == 0 { // not all failures were looked at
		for _, failure := range l.Failures {
			shares = append(shares, Share{failure.share(), 1})
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
		takes := percent(b.least)
		switch most := percent(b.most); {
		case b.most == 0:
			takes = "nothing"
		case most != takes:
			takes += " to " + most
		}
		parts = append(parts, fmt.Sprintf("%d × %s", b.failures, takes))
	}
	return "Largest share of a workload: " + strings.Join(parts, ", ")
}
