package blast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// worst is a failure and where it stands in the report.
type worst struct {
	step    *Step
	level   int
	failure *Failure
	harm    blast.Harm
}

// worst is the failure that is worse than the others, of all steps and levels; nil if there is none. One that takes every node is that
// whatever the placement, and only counts where there are no others.
func (r *Report) worst(worse func(a, b blast.Harm) bool) *worst {
	var found *worst
	for i := range r.Steps {
		step := &r.Steps[i]
		for j := range step.Levels {
			l := &step.Levels[j]
			if r.secondary(l) {
				continue
			}
			for k := range l.Failures {
				f := &l.Failures[k]
				if harm := l.harm(f); found == nil || worse(harm, found.harm) {
					found = &worst{step, j, f, harm}
				}
			}
		}
	}
	return found
}

func moreHarm(a, b blast.Harm) bool { return a.Compare(b) < 0 }

// whole reports whether each failure of the level takes every node.
func (r *Report) whole(l *Level) bool { return l.Domains <= r.Simultaneous && len(l.Unlabelled) == 0 }

// secondary reports whether the level's failures take every node, while those of another level do not.
func (r *Report) secondary(l *Level) bool { return r.whole(l) && !r.onlyWhole() }

func (r *Report) onlyWhole() bool {
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			if !r.whole(&r.Steps[i].Levels[j]) {
				return false
			}
		}
	}
	return true
}

// harm is that of the failure, with the pods that it leaves stranded.
func (l *Level) harm(f *Failure) blast.Harm {
	h := blast.Harm{Budgets: len(f.BrokenBudgets), Pods: f.Pods}
	for _, loss := range f.Workloads {
		h.Add(blast.Loss{Replicas: loss.Replicas, Lost: loss.Lost, Even: loss.Even, QuorumLost: loss.QuorumLost})
	}
	if r := l.Recovery(f); r != nil {
		h.Stranded = len(r.Stranded)
	}
	return h
}

// verdict says what the worst of all failures does.
func (r *Report) verdict() doc.Cell {
	w := r.worst(moreHarm)
	if w == nil {
		return doc.Bold.Cell("No failures")
	}
	where := w.step.failed(w.level, w.failure)
	if len(r.Steps) > 1 {
		where = fmt.Sprintf("after step %s, %s", w.step.Name, where)
	}
	is := words.Pick(len(w.failure.Domains), "is", "are")
	recovery := w.step.Levels[w.level].Recovery(w.failure)
	var parts []string
	add := func(n int, one, several string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words.Pick(n, one, several)))
		}
	}
	add(w.harm.Budgets, "budget broken", "budgets broken")
	add(w.harm.Quorums, "quorum lost", "quorums lost")
	add(w.harm.Whole, "workload of several replicas gone", "workloads of several replicas gone")
	style := doc.Red
	unreplaced := ""
	if recovery != nil && w.harm.Stranded == 0 && recovery.Unreplaced() > 0 {
		unreplaced = fmt.Sprintf("%d of %s not replaced", recovery.Unreplaced(), words.Count(recovery.lost(), "lost pod"))
	}
	switch {
	case len(parts) == 0 && w.harm.Stranded > 0:
		style = doc.Yellow
	case len(parts) == 0:
		line, style, with := "No failure breaks a budget, loses a quorum or takes a whole workload of several replicas", doc.Green, []string(nil)
		if w.harm.Share > 0 {
			with = append(with, doc.Percent(w.harm.Share)+" of a workload")
		}
		switch {
		case unreplaced != "":
			style, with = doc.Yellow, append(with, unreplaced)
		case recovery != nil:
			line += ", and no pod is stranded"
		}
		if len(with) > 0 {
			line += fmt.Sprintf("; %s %s the worst, with %s", where, is, strings.Join(with, " and "))
		}
		return style.Cell(line + ".")
	}
	switch {
	case unreplaced != "":
		parts = append(parts, unreplaced)
	case recovery != nil:
		parts = append(parts, fmt.Sprintf("%d of %s stranded", w.harm.Stranded, words.Count(recovery.lost(), "lost pod")))
	}
	return style.Cellf("%s %s the worst: %s.", words.UpperFirst(where), is, strings.Join(parts, ", "))
}

// others say where most whole workloads go, and where most pods are stranded, if that is not with the worst of all failures.
func (r *Report) others() []string {
	var lines []string
	first := r.worst(moreHarm)
	if first == nil {
		return nil
	}
	if w := r.worst(func(a, b blast.Harm) bool { return a.Whole > b.Whole }); first.harm.Whole == 0 && w.harm.Whole > 0 {
		lines = append(lines, fmt.Sprintf("Most workloads of several replicas are gone %s: %d.", r.with(w), w.harm.Whole))
	}
	if w := r.worst(func(a, b blast.Harm) bool { return a.Stranded > b.Stranded }); first.harm.Stranded == 0 && w.harm.Stranded > 0 {
		lines = append(lines, fmt.Sprintf("Most pods are stranded %s: %d.", r.with(w), w.harm.Stranded))
	}
	return lines
}

// conclusion is what a reader needs to know next to the verdict.
func (r *Report) conclusion(all bool) []string {
	lines := append(r.others(), r.oneReplica(all), r.selected())
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// with is "with zone a", or "with zone a after step b".
func (r *Report) with(w *worst) string {
	with := "with " + w.step.failed(w.level, w.failure)
	if len(r.Steps) > 1 {
		with += " after step " + w.step.Name
	}
	return with
}

// oneReplica says which workloads any failure of their domain takes whole; "" if none.
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
	return who + takenWhole(len(names))
}

// takenWhole ends a sentence on how many workloads have one replica.
func takenWhole(workloads int) string {
	return " one replica: any failure of " + words.Pick(workloads, "its domain takes it", "their domain takes them") + " whole."
}

// selected says which workloads the report is about; "" if all.
func (r *Report) selected() string {
	if r.Filter == nil {
		return ""
	}
	return "Only workloads " + r.Filter.String() + "; what fails is the same."
}

// String is "in namespace shop and with at least 2 replicas"; "" if there is no filter.
func (f *Filter) String() string {
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
