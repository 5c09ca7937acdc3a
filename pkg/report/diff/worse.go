package diff

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
)

// worseTable returns a table with a row for each change for the worse, the most important first.
func (t *writer) worseTable() [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("STEP", "WORSE", "OLD → NEW", "WHY")}
	for _, s := range t.report.Steps {
		for i, pods := range list.GroupBy(s.NewlyPending, placement.StrandedPod.SameReason) {
			pending := doc.None
			if i == 0 {
				pending = s.Pending.text()
			}
			table = append(table, doc.Plain.Row(s.Name, t.groupName(pods)+" newly Pending", pending, cmp.Or(pods[0].Why(), expect.NoMessage)))
		}
	}
	for _, s := range t.report.Steps {
		for _, e := range s.NewlyUnmet {
			table = append(table, doc.Plain.Row(s.Name, "expectation newly unmet", doc.None, e.String()))
		}
		for _, r := range s.NewlyStuck {
			table = append(table, doc.Plain.Row(s.Name, "rollout of "+t.rolloutName(r)+" newly stuck", doc.None, r.Waiting))
		}
		if s.NotCreated != nil && s.NotCreated.New > s.NotCreated.Old {
			table = append(table, doc.Plain.Row(s.Name, "pods refused", s.NotCreated.text(), doc.None))
		}
		if s.NotReady != nil && s.NotReady.New > s.NotReady.Old {
			table = append(table, doc.Plain.Row(s.Name, "pods not ready", s.NotReady.text(), doc.None))
		}
	}
	for _, d := range t.report.Declared {
		if d.IsRemoval() {
			table = append(table, doc.Plain.Row(d.Step, d.What+" "+d.Change, doc.None, d.text()))
		}
	}
	for _, s := range t.report.Failures {
		table = append(table, t.worseFailures(&s)...)
	}
	return table
}

func (t *writer) worseFailures(s *BlastDiff) [][]doc.Cell {
	var table [][]doc.Cell
	row := func(worse, change, why string) { table = append(table, doc.Plain.Row(s.Name, worse, change, why)) }
	grew := func(c *Change) bool { return c != nil && c.New > c.Old }
	if grew(s.Pending) {
		row("pods Pending before any failure", s.Pending.text(), doc.None)
	}
	for _, w := range s.OneReplica {
		row("at most one replica left", doc.None, t.oneReplicaText(w))
	}
	for _, l := range s.Levels {
		level := doc.LevelName(l.TopologyKey)
		for _, e := range l.Excess {
			change := doc.None
			if e.Old != nil {
				change = fmt.Sprintf("%d of %d → %d of %d", e.Old.Lost, e.Old.Replicas, e.New.Lost, e.New.Replicas)
			}
			row("radius of "+level, change, t.excessText(e))
		}
		for _, d := range l.NewlyStranded {
			row("not back when "+level+" "+doc.DomainsText(d.Domains)+" fails", d.pods(), t.qualify(d.Namespace, d.Workload))
		}
		for _, names := range []struct {
			*NameDiff
			words string
		}{{l.QuorumLost, "quorum lost"}, {l.Gone, "gone"}, {l.BrokenBudgets, "budget broken"}} {
			if names.NameDiff != nil && len(names.Newly) > 0 {
				row(names.words+" when a "+level+" fails", doc.None, strings.Join(names.Newly, ", "))
			}
		}
	}
	return table
}
