package blast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// failurePlace is a failure, its harm, and its step and level.
type failurePlace struct {
	step    *Step
	level   int
	failure *blast.Failure
	harm    blast.Harm
}

// findWorst returns the failure of all steps and levels for which worse holds against every other; nil if there is none. A failure that takes
// every node has the same effect for any placement, and only counts if there are no other failures.
func (r *Report) findWorst(worse func(a, b blast.Harm) bool) *failurePlace {
	var found *failurePlace
	for i := range r.Steps {
		step := &r.Steps[i]
		for j := range step.Levels {
			l := &step.Levels[j]
			if r.secondary(l) {
				continue
			}
			for k := range l.Failures {
				f := &l.Failures[k]
				if r.judgesTriedOnly() && l.Recovery(f) == nil {
					continue
				}
				if harm := l.Harm(f); found == nil || worse(harm, found.harm) {
					found = &failurePlace{step, j, f, harm}
				}
			}
		}
	}
	return found
}

// judgesTriedOnly reports whether the report judges only the failures with a simulated recovery, because the command was interrupted.
func (r *Report) judgesTriedOnly() bool { return r.Partial != "" && r.Recover }

func moreHarm(a, b blast.Harm) bool { return a.Compare(b) < 0 }

// takesAllNodes reports whether each failure of the level takes every node.
func (r *Report) takesAllNodes(l *blast.Level) bool {
	return l.Domains <= r.Simultaneous && len(l.Unlabelled) == 0
}

// secondary reports whether the level's failures take every node, but those of another level do not.
func (r *Report) secondary(l *blast.Level) bool { return r.takesAllNodes(l) && !r.onlyTakesAllNodes() }

func (r *Report) onlyTakesAllNodes() bool {
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			if !r.takesAllNodes(&r.Steps[i].Levels[j]) {
				return false
			}
		}
	}
	return true
}

// verdict says what the worst of all failures does, and which workloads do not run at the end, so that nothing is lost of them.
func (r *Report) verdict() doc.Cell {
	worst := r.worstFailure()
	if len(r.Steps) == 0 {
		return worst
	}
	last := &r.Steps[len(r.Steps)-1]
	if len(last.NotRunning) == 0 {
		return worst
	}
	line := words.UpperFirst(doc.NothingToLose(last.NotRunning)) + "."
	if last.Workloads > 0 {
		return worst.Style.Cell(worst.Text + " " + line)
	}
	return doc.Red.Cell(line)
}

// worstFailure says what the worst of all failures does.
func (r *Report) worstFailure() doc.Cell {
	w := r.findWorst(moreHarm)
	if w == nil && r.judgesTriedOnly() {
		return doc.Yellow.Cellf("Not known yet what comes back: no failure that leaves nodes was tried.")
	}
	if w == nil {
		return doc.Bold.Cell("No failures")
	}
	if w.harm.Budgets+w.harm.Quorums+w.harm.Whole+w.harm.Gone == 0 { // shares do not say which workloads are down for a while
		if down := r.findWorst(func(a, b blast.Harm) bool { return a.Down > b.Down }); down.harm.Down > w.harm.Down {
			w = down
		}
	}
	where := w.step.failureName(w.level, w.failure)
	if len(r.Steps) > 1 {
		where = fmt.Sprintf("after step %s, %s", w.step.Name, where)
	}
	is := words.Pick(len(w.failure.Domains), "is", "are")
	recovery := w.recovery()
	if w.harm.Budgets+w.harm.Quorums+w.harm.Down+w.harm.Gone == 0 && (recovery == nil || len(recovery.LostWork) == 0) {
		line := "No failure takes a workload down, breaks a budget or loses a quorum"
		if r.judgesTriedOnly() {
			line = "No failure that was tried takes a workload down, breaks a budget or loses a quorum"
		}
		if recovery != nil {
			line += ", and every lost pod comes back"
			line += describeGrowth(recovery)
		}
		if w.harm.Share > 0 {
			line += fmt.Sprintf("; %s %s the worst, with %s of a workload", where, is, doc.Percent(w.harm.Share))
		}
		return doc.Green.Cell(line + ".")
	}
	style := doc.Red
	if w.harm.Budgets+w.harm.Quorums+w.harm.Whole == 0 {
		style = doc.Yellow
	}
	of := ""
	if r.judgesTriedOnly() {
		of = " that was tried"
	}
	return style.Cellf("%s %s the worst%s: %s.", words.UpperFirst(where), is, of, strings.Join(w.takes(), ", "))
}

// takes lists what the failure takes, in words.
func (w *failurePlace) takes() []string {
	recovery := w.recovery()
	var parts []string
	add := func(n int, one, several string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words.Pick(n, one, several)))
		}
	}
	if w.harm.Down > 0 {
		parts = append(parts, w.describeDown(recovery))
	}
	add(w.harm.Budgets, "budget broken", "budgets broken")
	add(w.harm.Quorums, "quorum lost", "quorums lost")
	switch {
	case w.harm.Gone > 0:
		parts = append(parts, fmt.Sprintf("%d of %s %s not come back", w.harm.Gone, words.Count(recovery.CountLost(), "lost pod"), words.Pick(w.harm.Gone, "does", "do")))
	case recovery != nil && recovery.CountLost() > 0:
		parts = append(parts, words.Pick(recovery.CountLost(), "the lost pod comes back", fmt.Sprintf("all %d lost pods come back", recovery.CountLost())))
	}
	if recovery != nil && len(parts) > 0 {
		growth := describeGrowth(recovery)
		if w.harm.Gone > 0 && growth != "" {
			parts[len(parts)-1] += ", even"
		}
		parts[len(parts)-1] += growth
	}
	if recovery != nil && len(recovery.LostWork) > 0 {
		parts = append(parts, fmt.Sprintf("the work of %s lost", words.Count(len(recovery.LostWork), "pod")))
	}
	return parts
}

// describeGrowth returns " with 4 more nodes (general from 40 to 44 nodes), 0.80 an hour more, the last after 7 min 12 s".
func describeGrowth(r *blast.Recovery) string {
	line := doc.WithNodes(r.Autoscaling)
	for i := range r.Decided {
		line += r.Decided[i].DescribeNodes()
	}
	if r.LastNode > 0 && line != "" {
		line += ", the last after " + words.FormatDuration(time.Duration(r.LastNode*float64(time.Second)))
	}
	return line
}

// recovery returns the recovery from the failure, or nil if it was not simulated.
func (w *failurePlace) recovery() *blast.Recovery { return w.step.Levels[w.level].Recovery(w.failure) }

// describeDown returns "6 of 12 workloads down for 5 min 50 s to 6 min 10 s (each has one replica)". The times are missing if the recovery was not
// simulated.
func (w *failurePlace) describeDown(recovery *blast.Recovery) string {
	n, alone := w.harm.Down, w.harm.Down-w.harm.Whole
	text := words.Count(n, "workload") + " down"
	if w.step.Workloads > 0 {
		text = fmt.Sprintf("%d of %s down", n, words.Count(w.step.Workloads, "workload"))
	}
	var remarks []string
	if recovery != nil && len(recovery.Outages) > 0 { // reports of older versions have none
		lasts, ever := summarizeOutages(recovery)
		switch {
		case ever == n:
			text += " for as long as it lasts"
		case ever > 0:
			remarks = append(remarks, fmt.Sprintf("%d of them for as long as it lasts, %d for %s", ever, n-ever, lasts))
		default:
			text += " for " + lasts
		}
	}
	switch {
	case alone == n:
		remarks = append(remarks, words.Pick(n, "it has", "each has")+" one replica")
	case alone > 0:
		remarks = append(remarks, fmt.Sprintf("%d %s one replica", alone, words.Pick(alone, "has", "have")))
	}
	if recovery != nil && recovery.StartSeconds > 0 {
		remarks = append(remarks, fmt.Sprintf("counting %s for a new pod to start", words.FormatDuration(time.Duration(recovery.StartSeconds*float64(time.Second)))))
	}
	if len(remarks) > 0 {
		text += " (" + strings.Join(remarks, "; ") + ")"
	}
	return text
}

// summarizeOutages returns how long workloads are down, "5 min 50 s to 6 min 10 s", and how many are down as long as the failure lasts.
func summarizeOutages(r *blast.Recovery) (lasts string, ever int) {
	var ends []float64
	for _, o := range r.Outages {
		if o.Seconds == nil {
			ever++
		} else {
			ends = append(ends, *o.Seconds)
		}
	}
	if len(ends) == 0 {
		return "", ever
	}
	span := func(seconds float64) string {
		return words.FormatDuration(time.Duration(seconds * float64(time.Second)))
	}
	least, most := span(slices.Min(ends)), span(slices.Max(ends))
	switch {
	case slices.Max(ends) == 0: // the pods are deleted with their nodes
		return "as long as their replacements take to start", ever
	case least == most:
		return least, ever
	}
	return least + " to " + most, ever
}

// otherWorst names failures that take more workloads down, or leave more pods that do not come back, than the worst of all failures.
func (r *Report) otherWorst() []string {
	var lines []string
	first := r.findWorst(moreHarm)
	if first == nil {
		return nil
	}
	if w := r.findWorst(func(a, b blast.Harm) bool { return a.Down > b.Down }); w.harm.Down > first.harm.Down {
		lines = append(lines, fmt.Sprintf("More workloads are down %s: %d of %d.", r.withFailure(w), w.harm.Down, w.step.Workloads))
	}
	if w := r.findWorst(func(a, b blast.Harm) bool { return a.Gone > b.Gone }); w.harm.Gone > first.harm.Gone {
		lost := w.recovery().CountLost()
		lines = append(lines, fmt.Sprintf("More pods do not come back %s: %d of %d.", r.withFailure(w), w.harm.Gone, lost))
	}
	return lines
}

// conclusion returns the lines next to the verdict.
func (r *Report) conclusion(all bool) []string {
	lines := append(r.otherWorst(), r.oneReplica(all), r.filterSentence())
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// withFailure returns "with zone a", or "with zone a after step b".
func (r *Report) withFailure(w *failurePlace) string {
	with := "with " + w.step.failureName(w.level, w.failure)
	if len(r.Steps) > 1 {
		with += " after step " + w.step.Name
	}
	return with
}

// oneReplica names the workloads that have one replica, which any failure of its domain takes whole; "" if there are none.
func (r *Report) oneReplica(all bool) string {
	var names []string
	seen := map[string]bool{}
	for _, step := range r.Steps {
		for _, name := range step.OneReplica {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	who := words.Has(len(names), "workload")
	switch n := len(names); {
	case n == 0:
		return ""
	case n <= maxHit || all:
		who = words.And(names) + words.Pick(n, " has", " have")
	}
	return who + endOneReplica(len(names))
}

// endOneReplica returns the end of a sentence about workloads of one replica.
func endOneReplica(workloads int) string {
	return " one replica: any failure of " + words.Pick(workloads, "its domain takes it", "their domain takes them") + " whole."
}

// filterSentence says which workloads the report is about; "" if it is about all.
func (r *Report) filterSentence() string {
	if r.Filter == nil {
		return ""
	}
	return "Only workloads " + FilterText(r.Filter) + "; what fails is the same."
}

// FilterText returns "in namespace shop and with at least 2 replicas", or "" without a filter.
func FilterText(f *blast.Filter) string {
	if f == nil {
		return ""
	}
	var parts []string
	if len(f.Workloads) > 0 {
		parts = append(parts, "named "+words.Or(f.Workloads))
	}
	if f.Namespace != "" {
		parts = append(parts, "in namespace "+f.Namespace)
	}
	if f.Selector != "" {
		parts = append(parts, "with labels "+f.Selector)
	}
	if f.MinReplicas > 1 {
		parts = append(parts, fmt.Sprintf("with at least %d replicas", f.MinReplicas))
	}
	return words.And(parts)
}
