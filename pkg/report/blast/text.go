package blast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

const (
	// maxFailures is the largest number of failures of a level that are all listed. If there are more, only the first maxWorst are.
	maxFailures = 12
	maxWorst    = 3
	// maxCell is the largest number of names in a cell, and maxHit in a list; more are counted.
	maxCell = 2
	maxHit  = 3
	// maxExcess is how many workloads are listed that lose more than an even spread would.
	maxExcess = 3
	// maxFate is how many workloads are named on a line.
	maxFate = 6
)

// writer writes the report as text and wide.
type writer struct {
	doc.Doc
	report *Report
	wide   bool
	// kinds has the kind of each workload that loses pods, by namespace and name, or * for several kinds. namespaced says that names need
	// their namespace.
	kinds      map[[2]string]string
	namespaced bool
}

func newWriter(r *Report, opts report.Options) *writer {
	t := &writer{Doc: doc.New(r.Head, opts), wide: opts.Wide, report: r, kinds: map[[2]string]string{}}
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

func (t *writer) fullText() {
	t.conclusion()
	t.Space()
	t.Linef(doc.Bold, "%s", t.question())
	t.summary()
	for i := range t.report.Steps {
		t.step(i)
	}
	t.Space()
	t.Header()
}

// quietText writes the verdict, the table of the levels, and why pods are stranded or not replaced.
func (t *writer) quietText() {
	t.conclusion()
	t.Space()
	t.summary()
	var shown []tableFailure
	for i := range t.report.Steps {
		for _, f := range t.shownFailures(&t.report.Steps[i]) {
			if len(t.report.Steps) > 1 {
				f.name += " after step " + t.report.Steps[i].Name
			}
			shown = append(shown, f)
		}
	}
	t.Space()
	t.stranded(shown)
	t.notReplaced(shown)
	t.lostWork(shown)
}

// conclusion writes the verdict and the lines next to it.
func (t *writer) conclusion() {
	t.Line(t.report.verdict())
	for _, line := range t.report.conclusion(t.All) {
		t.Linef(doc.Plain, "%s", line)
	}
}

// question says which failures the report is about.
func (t *writer) question() string {
	r := t.report
	line := "What failures take"
	if r.Simultaneous > 1 {
		line = fmt.Sprintf("What failures of %d domains together take", r.Simultaneous)
	}
	about := []string{"nodes " + r.Mode}
	if len(r.Steps) == 1 { // the tables do not name the step
		line += " after step " + r.Steps[0].Name
		if pending := r.Steps[0].Pending; pending > 0 {
			about = append(about, words.Count(pending, "pod")+" Pending before")
		}
	}
	more := func(l blast.Level) bool { return len(l.Failures) > r.Worst }
	switch {
	case !r.Recover:
		about = append(about, "no recovery")
	case r.judgesTriedOnly():
		about = append(about, "recovery where it was tried")
	case r.Worst > 0 && slices.ContainsFunc(r.Steps, func(s Step) bool { return slices.ContainsFunc(s.Levels, more) }):
		about = append(about, fmt.Sprintf("%d worst recovered", r.Worst))
	}
	return fmt.Sprintf("%s (%s)", line, strings.Join(about, "; "))
}

func (t *writer) summary() {
	if len(t.report.Steps) == 0 {
		t.Linef(doc.Plain, "No steps.")
		return
	}
	t.Table("", t.levels()...)
}

// step writes the failures of each level after one step.
func (t *writer) step(i int) {
	step := &t.report.Steps[i]
	if len(t.report.Steps) > 1 {
		t.Space()
		t.Linef(doc.Bold, "%s", doc.StepHeading(i, len(t.report.Steps), step.Name, step.Action))
	}
	if len(step.Levels) == 0 {
		t.Linef(doc.Plain, "No node is in any domain.")
	}
	for j := range step.Levels {
		t.level(&step.Levels[j], step.nouns()[j])
	}
	t.Space()
	t.attention(step)
	if step.Risk != nil {
		t.Space()
		t.risk(step.Risk)
	}
}

func (t *writer) level(level *blast.Level, name string) {
	if t.report.secondary(level) && !t.All && len(level.Failures) > 0 {
		t.wholeLevel(level, name)
		return
	}
	t.Space()
	heading := fmt.Sprintf("Level %s: %s", name, words.Count(level.Domains, "domain"))
	if level.Mean != nil {
		heading += fmt.Sprintf(", radius %s, mean %s", doc.Percent(level.Replicated.Share), meanShare(level))
	}
	t.Linef(doc.Bold, "%s", heading)
	if level.Search != "" {
		t.Linef(doc.Plain, "%s", level.Search)
	}
	shown := t.listedFailures(level)
	if len(shown) > 0 {
		t.failures(level, shown)
	}
	if more := len(level.Failures) - len(shown); more > 0 {
		where := " (see --all)"
		if t.Page {
			where = ""
		}
		t.Linef(doc.Plain, "The %d worst of %d%s. %s", len(shown), len(level.Failures), where, histogram(level))
	}
	t.unlabelled(level)
}

// listedFailures returns the failures that the table lists: all, or the worst of many. They are in the order in which failures are chosen for
// recovery.
func (t *writer) listedFailures(level *blast.Level) []*blast.Failure {
	failures := level.ByHarm()
	if t.All || len(failures) <= maxFailures {
		return failures
	}
	return failures[:maxWorst]
}

// histogram counts the failures by the largest share that they take of a workload of two or more replicas: "3 × 100%, 973 × nothing".
func histogram(l *blast.Level) string {
	shares := make([]float64, len(l.Failures))
	for i := range l.Failures {
		shares[i] = l.Failures[i].ReplicatedShare()
	}
	slices.Sort(shares)
	type bin struct {
		least, most float64
		failures    int
	}
	var bins []bin
	edges := []float64{0, 0.1, 0.25, 0.5, 0.75, 1}
	of := func(share float64) int { // index of the first edge that is not below the share; 0 % and 100 % have bins of their own
		i, _ := slices.BinarySearch(edges, share)
		if share >= 1 {
			i++
		}
		return i
	}
	for i, share := range shares {
		if i == 0 || of(share) != of(shares[i-1]) {
			bins = append(bins, bin{least: share})
		}
		last := &bins[len(bins)-1]
		last.most, last.failures = share, last.failures+1
	}
	var parts []string
	for _, b := range slices.Backward(bins) {
		takes := doc.Percent(b.least)
		switch most := doc.Percent(b.most); {
		case b.most == 0:
			takes = "nothing"
		case most != takes:
			takes += " to " + most
		}
		parts = append(parts, fmt.Sprintf("%d × %s", b.failures, takes))
	}
	return "RADIUS: " + strings.Join(parts, ", ")
}
