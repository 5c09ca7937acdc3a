package explain

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/run"
)

// AddPreempted adds the preemptions that the question is about.
func (r *Report) AddPreempted(all []explain.Preempted) {
	r.Preempted = list.Map(all, func(p explain.Preempted) Preempted { return Preempted{p.Step, run.NewPreemption(p.Preemption)} })
}

// preempted writes which pods made room for which, and why on that node. It lists the candidate nodes of each choice once.
func (t *writer) preempted(quiet bool) {
	for i, p := range t.report.Preempted {
		t.Linef(doc.Bold, "Pod %s, step %s: made room on %s for %s%s", p.Victim, p.Step, p.Node, p.For, p.Choice.Text())
		if last := i == len(t.report.Preempted)-1; !quiet && p.Choice != nil && p.Choice.Nodes > 1 && (last || t.report.Preempted[i+1].For != p.For) {
			t.Table("  ", candidateTable(p.Choice)...)
		}
	}
}

// candidateTable returns the titles, and a row for each node on which preemption helps, the chosen one first.
func candidateTable(c *run.Choice) [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("NODE", "VICTIMS", "HIGHEST PRIORITY", "BUDGETS VIOLATED")}
	for _, candidate := range c.Candidates {
		table = append(table, doc.Plain.Row(candidate.Node, strings.Join(candidate.Victims, ", "), fmt.Sprint(candidate.HighestPriority), fmt.Sprint(candidate.Violations)))
	}
	return table
}
