package explain

import (
	"fmt"
	"strings"

	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/run"
)

// AddPreempted adds the preemptions that the question is about.
func (r *Report) AddPreempted(all []explain.Preempted) {
	r.Preempted = list.Map(all, func(p explain.Preempted) Preempted {
		return Preempted{p.Step, run.NewPreemption(p.Preemption), corev1.PodPriority(p.Victim), corev1.PodPriority(p.For), p.For.Spec.PriorityClassName}
	})
}

// preempted writes which pods made room for which, and why on that node. It lists the candidate nodes of each choice once.
func (t *writer) preempted(quiet bool) {
	for i, p := range t.report.Preempted {
		t.Linef(doc.Bold, "Pod %s, step %s: made room on %s for %s%s%s", p.Victim, p.Step, p.Node, p.For, p.priorities(), p.Choice.Text())
		if last := i == len(t.report.Preempted)-1; !quiet && p.Choice != nil && p.Choice.Nodes > 1 && (last || t.report.Preempted[i+1].For != p.For) {
			t.Table("  ", candidateTable(p.Choice)...)
		}
	}
}

// priorities returns, for example, " of priority 1000 by PriorityClass high (its own is 0)".
func (p *Preempted) priorities() string {
	class := ""
	if p.ForClass != "" {
		class = " by PriorityClass " + p.ForClass
	}
	return fmt.Sprintf(" of priority %d%s (its own is %d)", p.ForPriority, class, p.Priority)
}

// candidateTable returns the titles, and a row for each node on which preemption helps, the chosen one first.
func candidateTable(c *run.Choice) [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("NODE", "VICTIMS", "HIGHEST PRIORITY", "BUDGETS VIOLATED")}
	for _, candidate := range c.Candidates {
		table = append(table, doc.Plain.Row(candidate.Node, strings.Join(candidate.Victims, ", "), fmt.Sprint(candidate.HighestPriority), fmt.Sprint(candidate.Violations)))
	}
	return table
}
