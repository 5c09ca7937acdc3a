package diff

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// markdownPage is the verdict, what may explain it, what got worse, and details of each step.
func markdownPage(r *Report) []byte {
	m, t := &markdown.Page{}, newWriter(r, report.Options{})
	mark := "✅"
	switch {
	case len(r.Failed()) > 0:
		mark = "❌"
	case r.Worse:
		mark = "⚠️"
	}
	m.Block("**%s %s**", mark, markdown.Prose(r.headline()))
	m.Block("%s → %s", markdown.Prose(r.Old.text()), markdown.Prose(r.New.text()))
	if len(r.Conditions) > 0 {
		m.Block("%s", notAlike)
		m.Table(t.conditions(), "line")
	}
	if worse := t.worse(); len(worse) > 1 {
		m.Block("### Worse")
		m.Table(worse, "line")
	}
	for _, steps := range []struct {
		title string
		names []string
	}{{stepsAdded, r.Added}, {stepsRemoved, r.Removed}} {
		if len(steps.names) > 0 {
			m.Block("%s: %s", steps.title, markdown.Prose(t.Some(steps.names)))
		}
	}
	m.Details(len(r.Steps), "step", func(i int) string { return t.details(&r.Steps[i]) })
	m.Details(len(r.Failures), "step", func(i int) string { return t.failureDetails(&r.Failures[i]) })
	return m.Bytes()
}

// worse is a row for each thing that got worse, below the titles, what matters most first.
func (t *writer) worse() [][]text.Cell {
	table := [][]text.Cell{text.Bold.Row("STEP", "WORSE", "OLD → NEW", "WHY")}
	for _, s := range t.report.Steps {
		for i, pods := range report.Group(s.NewlyPending, report.StrandedPod.SameReason) {
			pending := text.None
			if i == 0 {
				pending = s.Pending.text()
			}
			table = append(table, text.Plain.Row(s.Name, t.group(pods)+" newly Pending", pending, cmp.Or(pods[0].Why(), expect.NoMessage)))
		}
	}
	for _, s := range t.report.Steps {
		for _, e := range s.NewlyUnmet {
			table = append(table, text.Plain.Row(s.Name, "expectation newly unmet", text.None, e.Failure()))
		}
		for _, r := range s.NewlyStuck {
			table = append(table, text.Plain.Row(s.Name, "rollout of "+t.rollout(r)+" newly stuck", text.None, r.Waiting))
		}
		if s.NotCreated != nil && s.NotCreated.New > s.NotCreated.Old {
			table = append(table, text.Plain.Row(s.Name, "pods refused", s.NotCreated.text(), text.None))
		}
		if s.NotReady != nil && s.NotReady.New > s.NotReady.Old {
			table = append(table, text.Plain.Row(s.Name, "pods not ready", s.NotReady.text(), text.None))
		}
	}
	for _, s := range t.report.Failures {
		table = append(table, t.worseFailures(&s)...)
	}
	return table
}

func (t *writer) worseFailures(s *BlastDiff) [][]text.Cell {
	var table [][]text.Cell
	row := func(worse, change, why string) { table = append(table, text.Plain.Row(s.Name, worse, change, why)) }
	grew := func(c *Change) bool { return c != nil && c.New > c.Old }
	if grew(s.Pending) {
		row("pods Pending before any failure", s.Pending.text(), text.None)
	}
	for _, w := range s.OneReplica {
		row("one replica left", text.None, t.oneReplica(w))
	}
	for _, l := range s.Levels {
		level := text.LevelName(l.TopologyKey)
		for _, e := range l.Excess {
			change := text.None
			if e.Old != nil {
				change = fmt.Sprintf("%d of %d → %d of %d", e.Old.Lost, e.Old.Replicas, e.New.Lost, e.New.Replicas)
			}
			row("radius of "+level, change, t.excess(e))
		}
		for _, d := range l.NewlyStranded {
			row("stranded when "+level+" "+text.DomainsText(d.Domains)+" fails", d.pods(), t.name(d.Namespace, d.Workload))
		}
		if grew(l.NotReplaced) {
			row("not replaced when a "+level+" fails", l.NotReplaced.text(), text.None)
		}
		for _, names := range []struct {
			*NameDiff
			words string
		}{{l.QuorumLost, "quorum lost"}, {l.Gone, "gone"}, {l.BrokenBudgets, "budget broken"}} {
			if names.NameDiff != nil && len(names.Newly) > 0 {
				row(names.words+" when a "+level+" fails", text.None, strings.Join(names.Newly, ", "))
			}
		}
	}
	return table
}

// details are what moved in the step, what got better, and how the pods are distributed.
func (t *writer) details(s *StepDiff) string {
	m := &markdown.Page{}
	var counts []string
	if n := len(s.Moved); n > 0 {
		counts = append(counts, fmt.Sprintf("%d moved", n))
	}
	m.Block("%s", markdown.Summary(s.Name, strings.Join(append(counts, s.counts()...), ", ")))
	m.Table(t.moves(s.Moved), "pod")
	for _, pods := range report.Group(s.earlier(), func(m MovedPod) string { return m.Since }) {
		m.Block("%s moved as in step %s", words.Count(len(pods), "pod"), markdown.Code(pods[0].Since))
	}
	pods := func(pods []DiffPod, nowhere string) []string {
		lines := make([]string, len(pods))
		for i, p := range pods {
			lines[i] = markdown.Code(t.name(p.Namespace, p.Name))
			if p.Node != "" {
				lines[i] += " on " + markdown.Code(p.Node)
			} else {
				lines[i] += nowhere
			}
		}
		return lines
	}
	m.List("No longer Pending", pods(s.NoLongerPending, ", which is no longer there"))
	var reasons, better []string
	for _, p := range s.OtherMessage {
		reasons = append(reasons, fmt.Sprintf("%s: %s → %s", markdown.Code(t.name(p.Namespace, p.Name)), markdown.Prose(cmp.Or(p.Old, expect.NoMessage)), markdown.Prose(cmp.Or(p.New, expect.NoMessage))))
	}
	m.List("Pending for another reason", reasons)
	for _, e := range s.NoLongerUnmet {
		better = append(better, markdown.Prose(e.Want))
	}
	m.List("Expectations no longer unmet", better)
	var rollouts []string
	for _, r := range s.NoLongerStuck {
		rollouts = append(rollouts, markdown.Code(t.rollout(r)))
	}
	m.List("Rollouts no longer stuck", rollouts)
	m.List("Pods added", pods(s.Added, " Pending"))
	m.List("Pods removed", pods(s.Removed, " Pending"))
	m.Table(t.bindings(s.Bindings), "workload")
	m.Table(t.workloads(s.Workloads), "line")
	m.Block("</details>")
	return m.Text()
}

// failureDetails are how each level and each failure changed.
func (t *writer) failureDetails(s *BlastDiff) string {
	m := &markdown.Page{}
	m.Block("%s", markdown.Summary(s.Name, "what failures take"))
	m.List("Levels added", markdown.Proses(s.Added))
	m.List("Levels removed", markdown.Proses(s.Removed))
	m.Table(t.levels(s), "level")
	for i := range s.Levels {
		if l := &s.Levels[i]; len(l.Failures) > 0 {
			m.Block("Failures of one %s:", markdown.Prose(text.LevelName(l.TopologyKey)))
			m.Table(l.table(), "failure")
		}
	}
	m.Block("</details>")
	return m.Text()
}
