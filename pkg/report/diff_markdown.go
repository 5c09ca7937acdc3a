package report

import (
	"cmp"
	"fmt"
	"strings"
)

// diffMarkdown is the verdict, what may explain it, what got worse, and details of each step.
func diffMarkdown(r *DiffReport) []byte {
	m, t := &markdown{}, newDiffText(r, Options{})
	mark := "✅"
	if r.Worse || len(r.Failed()) > 0 {
		mark = "❌"
	}
	m.block("**%s %s**", mark, prose(upperFirst(r.Verdict)))
	if failed := r.Failed(); len(failed) > 0 {
		m.block("Not wanted: %s", prose(strings.Join(failed, ", ")))
	}
	m.block("%s → %s", prose(r.Old.text()), prose(r.New.text()))
	if len(r.Conditions) > 0 {
		m.block("%s", notAlike)
		m.table(t.conditions(), "line")
	}
	if worse := t.worse(); len(worse) > 1 {
		m.block("### Worse")
		m.table(worse, "line")
	}
	for _, steps := range []struct {
		title string
		names []string
	}{{"Steps added", r.Added}, {"Steps removed", r.Removed}} {
		if len(steps.names) > 0 {
			m.block("%s: %s", steps.title, prose(t.some(steps.names)))
		}
	}
	m.details(len(r.Steps), "step", func(i int) string { return t.details(&r.Steps[i]) })
	m.details(len(r.Failures), "step", func(i int) string { return t.failureDetails(&r.Failures[i]) })
	return m.bytes()
}

// worse is a row for each thing that got worse, below the titles, what matters most first.
func (t *diffText) worse() [][]cell {
	table := [][]cell{bold.row("STEP", "WORSE", "OLD → NEW", "WHY")}
	for _, s := range t.report.Steps {
		for i, pods := range grouped(s.NewlyPending, StrandedPod.sameReason) {
			pending := none
			if i == 0 {
				pending = s.Pending.text()
			}
			table = append(table, plain.row(s.Name, t.group(pods)+" newly Pending", pending, cmp.Or(pods[0].Message, silent)))
		}
	}
	for _, s := range t.report.Steps {
		for _, e := range s.NewlyUnmet {
			table = append(table, plain.row(s.Name, "expectation newly unmet", none, e.failure()))
		}
		for _, r := range s.NewlyStuck {
			table = append(table, plain.row(s.Name, "rollout of "+t.rollout(r)+" newly stuck", none, r.Waiting))
		}
		if s.NotReady != nil && s.NotReady.New > s.NotReady.Old {
			table = append(table, plain.row(s.Name, "pods not ready", s.NotReady.text(), none))
		}
	}
	for _, s := range t.report.Failures {
		table = append(table, t.worseFailures(&s)...)
	}
	return table
}

func (t *diffText) worseFailures(s *BlastDiff) [][]cell {
	var table [][]cell
	grew := func(c *Change) bool { return c != nil && c.New > c.Old }
	if grew(s.Pending) {
		table = append(table, plain.row(s.Name, "pods Pending before any failure", s.Pending.text(), none))
	}
	for _, l := range s.Levels {
		level := levelName(l.TopologyKey)
		if l.Radius != nil && l.Radius.New.Share > l.Radius.Old.Share {
			table = append(table, plain.row(s.Name, "radius of "+level, l.Radius.cell().text, l.Radius.takes(t.namespaced)))
		}
		for _, f := range l.Failures {
			failure := "when " + level + " " + domainsText(f.Domains) + " fails"
			if grew(f.Stranded) {
				table = append(table, plain.row(s.Name, "stranded "+failure, f.Stranded.text(), none))
			}
			if grew(f.NotReplaced) {
				table = append(table, plain.row(s.Name, "not replaced "+failure, f.NotReplaced.text(), none))
			}
			for _, names := range []struct {
				*NameDiff
				words string
			}{{f.QuorumLost, "quorum lost "}, {f.Gone, "gone "}, {f.BrokenBudgets, "budget broken "}} {
				if names.NameDiff != nil && len(names.Newly) > 0 {
					table = append(table, plain.row(s.Name, names.words+failure, none, strings.Join(names.Newly, ", ")))
				}
			}
		}
	}
	return table
}

// details are what moved in the step, what got better, and how the pods are distributed.
func (t *diffText) details(s *StepDiff) string {
	m := &markdown{}
	var told []string
	if n := len(s.Moved); n > 0 {
		told = append(told, fmt.Sprintf("%d moved", n))
	}
	m.block("%s", summary(s.Name, strings.Join(append(told, s.counts()...), ", ")))
	m.table(t.moves(s.Moved), "pod")
	for _, pods := range grouped(s.earlier(), func(m MovedPod) string { return m.Since }) {
		m.block("%s moved as in step %s", count(len(pods), "pod"), code(pods[0].Since))
	}
	pods := func(pods []DiffPod, nowhere string) []string {
		lines := make([]string, len(pods))
		for i, p := range pods {
			lines[i] = code(t.name(p.Namespace, p.Name))
			if p.Node != "" {
				lines[i] += " on " + code(p.Node)
			} else {
				lines[i] += nowhere
			}
		}
		return lines
	}
	m.list("No longer Pending", pods(s.NoLongerPending, ", which is no longer there"))
	var reasons, better []string
	for _, p := range s.OtherMessage {
		reasons = append(reasons, fmt.Sprintf("%s: %s → %s", code(t.name(p.Namespace, p.Name)), prose(cmp.Or(p.Old, silent)), prose(cmp.Or(p.New, silent))))
	}
	m.list("Pending for another reason", reasons)
	for _, e := range s.NoLongerUnmet {
		better = append(better, prose(e.Want))
	}
	m.list("Expectations no longer unmet", better)
	var rollouts []string
	for _, r := range s.NoLongerStuck {
		rollouts = append(rollouts, code(t.rollout(r)))
	}
	m.list("Rollouts no longer stuck", rollouts)
	m.list("Pods added", pods(s.Added, " Pending"))
	m.list("Pods removed", pods(s.Removed, " Pending"))
	m.table(t.workloads(s.Workloads), "line")
	m.block("</details>")
	return m.text()
}

// failureDetails are how each level and each failure changed.
func (t *diffText) failureDetails(s *BlastDiff) string {
	m := &markdown{}
	m.block("%s", summary(s.Name, "what failures take"))
	m.list("Levels added", proses(s.Added))
	m.list("Levels removed", proses(s.Removed))
	m.table(t.levels(s), "level")
	for i := range s.Levels {
		if l := &s.Levels[i]; len(l.Failures) > 0 {
			m.block("Failures of one %s:", prose(levelName(l.TopologyKey)))
			m.table(l.table(), "failure")
		}
	}
	m.block("</details>")
	return m.text()
}
