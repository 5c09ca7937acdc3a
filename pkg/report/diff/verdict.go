package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// diffVerdict is what differs, in the making: parts of a line. What moved comes first, then what got worse, then the rest.
type diffVerdict struct {
	*Report
	bad, rest []string
}

// conclude says in one line what differs, and what kinds of differences these are.
func (d *Report) conclude() {
	v := &diffVerdict{Report: d}
	moved := v.moved()
	v.counted(FailOnPending, "Pending", func(s *StepDiff) *Change { return s.Pending }, func(s *FailuresDiff) *Change { return s.Pending })
	v.counted("", "not ready", func(s *StepDiff) *Change { return s.NotReady }, func(*FailuresDiff) *Change { return nil })
	v.radii()
	v.afterFailures(FailOnStranded, "stranded", func(l *FailureLevelDiff) *Change { return l.Stranded }, func(f *FailureDiff) *Change { return f.Stranded })
	v.afterFailures("", "not replaced", func(l *FailureLevelDiff) *Change { return l.NotReplaced }, func(f *FailureDiff) *Change { return f.NotReplaced })
	v.names("quorum", "lost", func(f *FailureDiff) *NameDiff { return f.QuorumLost })
	v.names("workload", "gone", func(f *FailureDiff) *NameDiff { return f.Gone })
	v.names("budget", "broken", func(f *FailureDiff) *NameDiff { return f.BrokenBudgets })
	v.worse("", v.steps("rollout", "newly stuck", func(s *StepDiff) int { return len(s.NewlyStuck) }))
	v.tell(v.steps("rollout", "no longer stuck", func(s *StepDiff) int { return len(s.NoLongerStuck) }))
	v.worse(FailOnExpectations, v.steps("expectation", "newly unmet", func(s *StepDiff) int { return len(s.NewlyUnmet) }))
	v.tell(v.steps("expectation", "no longer unmet", func(s *StepDiff) int { return len(s.NoLongerUnmet) }))
	v.tell(v.pods("added", func(s *StepDiff) []DiffPod { return s.Added }))
	v.tell(v.pods("removed", func(s *StepDiff) []DiffPod { return s.Removed }))
	v.tell(some(len(d.Added), "step", "added"))
	v.tell(some(len(d.Removed), "step", "removed"))
	if n := len(d.Steps) + len(d.Failures); n > 0 && len(moved)+len(v.bad)+len(v.rest) == 0 {
		v.tell(words.Count(n, "step") + " not alike")
	}
	parts := slices.Concat(moved, v.bad, v.rest)
	if len(parts) > 0 {
		d.Differences = append(d.Differences, FailOnAny)
	}
	d.Verdict = cmp.Or(strings.Join(parts, ", "), "no difference")
}

func (v *diffVerdict) tell(part string) {
	if part != "" {
		v.rest = append(v.rest, part)
	}
}

// worse is tell for what got worse.
func (v *diffVerdict) worse(kind, part string) {
	if part == "" {
		return
	}
	v.bad = append(v.bad, part)
	v.Worse = true
	if kind != "" && !slices.Contains(v.Differences, kind) {
		v.Differences = append(v.Differences, kind)
	}
}

// some is "1 step added"; "" of none.
func some(n int, noun, done string) string {
	if n == 0 {
		return ""
	}
	return words.Count(n, noun) + " " + done
}

// moved counts the pods that moved. One that stays away for several steps counts once.
func (v *diffVerdict) moved() []string {
	type pod struct{ namespace, oldName, name string }
	swapped := map[pod]bool{} // whether it has only changed places with others, wherever it moved
	for _, s := range v.Steps {
		for _, m := range s.Moved {
			p := pod{m.Namespace, cmp.Or(m.OldName, m.Name), m.Name}
			only, seen := swapped[p]
			swapped[p] = m.SameNodes && (only || !seen)
		}
	}
	if len(swapped) == 0 {
		return nil
	}
	v.Differences = append(v.Differences, FailOnMoved)
	part := some(len(swapped), "pod", "moved")
	only := 0
	for _, is := range swapped {
		if is {
			only++
		}
	}
	switch only {
	case 0:
	case len(swapped):
		part += " (only changed places)"
	default:
		part += fmt.Sprintf(" (%d of them only changed places)", only)
	}
	return []string{part}
}

// where names the step, unless there is only one, and counts the others.
func (v *diffVerdict) where(step string, more int) string {
	switch {
	case max(v.Old.Steps, v.New.Steps) == 1:
		return ""
	case more > 0:
		return fmt.Sprintf(" in %s and %s", step, words.Count(more, "other step"))
	}
	return " in " + step
}

// counted tells of the step that has the most more pods, or else of that which has the most fewer.
func (v *diffVerdict) counted(kind, words string, of func(*StepDiff) *Change, ofFailures func(*FailuresDiff) *Change) {
	more, fewer := worst{}, worst{}
	add := func(step string, c *Change) {
		if c != nil {
			more.add(step, float64(c.New-c.Old))
			fewer.add(step, float64(c.Old-c.New))
		}
	}
	for i := range v.Steps {
		add(v.Steps[i].Name, of(&v.Steps[i]))
	}
	for i := range v.Failures {
		add(v.Failures[i].Name, ofFailures(&v.Failures[i]))
	}
	say := func(w worst, than string) string {
		part := fmt.Sprintf("%.0f %s %s%s", w.by, than, words, v.where(w.step, w.others))
		if w.others > 0 {
			part = "up to " + part
		}
		return part
	}
	switch {
	case more.by > 0:
		v.worse(kind, say(more, "more"))
	case fewer.by > 0:
		v.tell(say(fewer, "fewer"))
	}
}

// worst is the step with the largest increase, and the number of others with one.
type worst struct {
	step   string
	by     float64
	others int
}

func (w *worst) add(step string, by float64) {
	if by <= 0 {
		return
	}
	if w.by > 0 {
		w.others++
	}
	if by > w.by {
		w.step, w.by = step, by
	}
}

// radii tells of each level of the step in which the radius grew most, or else of that in which it shrank most.
func (v *diffVerdict) radii() {
	var keys []string
	grown, shrunk := map[string]*worst{}, map[string]*worst{}
	radii := map[[2]string]string{}
	for _, s := range v.Failures {
		for _, l := range s.Levels {
			if l.Radius == nil {
				continue
			}
			if grown[l.TopologyKey] == nil {
				keys = append(keys, l.TopologyKey)
				grown[l.TopologyKey], shrunk[l.TopologyKey] = &worst{}, &worst{}
			}
			by := l.Radius.New.Share - l.Radius.Old.Share
			grown[l.TopologyKey].add(s.Name, by)
			shrunk[l.TopologyKey].add(s.Name, -by)
			radii[[2]string{l.TopologyKey, s.Name}] = fmt.Sprintf("radius of %s %s → %s", text.LevelName(l.TopologyKey), text.Percent(l.Radius.Old.Share), text.Percent(l.Radius.New.Share))
		}
	}
	for _, key := range keys {
		if w := grown[key]; w.by > 0 {
			v.worse(FailOnRadius, radii[[2]string{key, w.step}]+v.where(w.step, w.others))
		} else {
			w := shrunk[key]
			v.tell(radii[[2]string{key, w.step}] + v.where(w.step, w.others))
		}
	}
}

// afterFailures tells of the failure that leaves the most more pods so, or else of that which leaves the most fewer.
func (v *diffVerdict) afterFailures(kind, words string, level func(*FailureLevelDiff) *Change, failure func(*FailureDiff) *Change) {
	more, fewer := 0, 0
	add := func(c *Change) {
		if c != nil {
			more, fewer = max(more, c.New-c.Old), max(fewer, c.Old-c.New)
		}
	}
	for _, s := range v.Failures {
		for i := range s.Levels {
			add(level(&s.Levels[i]))
			for j := range s.Levels[i].Failures {
				add(failure(&s.Levels[i].Failures[j]))
			}
		}
	}
	switch {
	case more > 0:
		v.worse(kind, fmt.Sprintf("up to %d more %s", more, words))
	case fewer > 0:
		v.tell(fmt.Sprintf("up to %d fewer %s", fewer, words))
	}
}

// names tells how many workloads or budgets a failure of some level newly takes, or no longer does.
func (v *diffVerdict) names(noun, words string, of func(*FailureDiff) *NameDiff) {
	newly, noLonger := map[string]bool{}, map[string]bool{}
	for _, s := range v.Failures {
		for i := range s.Levels {
			for j := range s.Levels[i].Failures {
				if d := of(&s.Levels[i].Failures[j]); d != nil {
					for _, name := range d.Newly {
						newly[name] = true
					}
					for _, name := range d.NoLonger {
						noLonger[name] = true
					}
				}
			}
		}
	}
	if len(newly) > 0 {
		v.worse("", some(len(newly), noun, "newly "+words))
	} else {
		v.tell(some(len(noLonger), noun, "no longer "+words))
	}
}

// steps adds up over all steps.
func (v *diffVerdict) steps(noun, words string, of func(*StepDiff) int) string {
	n := 0
	for i := range v.Steps {
		n += of(&v.Steps[i])
	}
	return some(n, noun, words)
}

// pods counts pods; one that is there for several steps counts once.
func (v *diffVerdict) pods(words string, of func(*StepDiff) []DiffPod) string {
	var pods []podName
	for i := range v.Steps {
		for _, p := range of(&v.Steps[i]) {
			pods = append(pods, podName{p.Namespace, p.Name})
		}
	}
	slices.SortFunc(pods, func(a, b podName) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return some(len(slices.Compact(pods)), "pod", words)
}
