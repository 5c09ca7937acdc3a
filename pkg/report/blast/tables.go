package blast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
)

// failures writes the table of a level's failures. It leaves out columns about budgets and quorums if none is broken or lost, except in
// wide.
func (t *writer) failures(level *blast.Level, shown []*blast.Failure) {
	quorumLost := func(l blast.Loss) bool { return l.QuorumLost }
	some := func(holds func(*blast.Failure) bool) bool { return slices.ContainsFunc(shown, holds) }
	var c doc.TableBuilder[failureRow]
	c.AddTextColumn("DOMAIN", func(r failureRow) string { return doc.DomainsText(r.failure.Domains) })
	recoveries := some(func(f *blast.Failure) bool { return level.Recovery(f) != nil })
	if t.wide || !recoveries {
		c.AddNumberColumn("NODES", doc.Plain, func(r failureRow) int { return len(r.failure.Nodes) })
		c.AddNumberColumn("PODS", doc.Plain, func(r failureRow) int { return r.failure.Pods })
		c.AddTextColumn("CPU", func(r failureRow) string { return doc.Percent(r.failure.CPU) })
	}
	if t.wide {
		c.AddTextColumn("MEMORY", func(r failureRow) string { return doc.Percent(r.failure.Memory) })
	}
	if t.wide || some(func(f *blast.Failure) bool { return len(f.BrokenBudgets) > 0 }) {
		c.AddColumn("BUDGETS BROKEN", func(r failureRow) doc.Cell { return t.budgets(r.failure.BrokenBudgets) })
	}
	if t.wide || some(func(f *blast.Failure) bool { return slices.ContainsFunc(f.Workloads, quorumLost) }) {
		c.AddColumn("QUORUMS LOST", func(r failureRow) doc.Cell { return t.workloadNames(list.Where(r.failure.Workloads, quorumLost)) })
	}
	c.AddColumn("DOWN", func(r failureRow) doc.Cell {
		return t.workloadNames(list.Where(r.failure.Workloads, func(l blast.Loss) bool { return l.Gone }))
	})
	if recoveries {
		t.recoveryColumn(&c, "NOT BACK", notBackCell)
		if some(func(f *blast.Failure) bool { r := level.Recovery(f); return r != nil && len(r.LostWork) > 0 }) {
			t.recoveryColumn(&c, "LOST WORK", func(r *blast.Recovery) doc.Cell { return doc.Number(len(r.LostWork), doc.Yellow) })
		}
		if t.report.addsNodes() {
			t.recoveryColumn(&c, "NEW NODES", newNodesCell)
		}
		if t.wide {
			t.replacementColumns(&c)
			t.recoveryColumn(&c, "PREEMPTED", func(r *blast.Recovery) doc.Cell { return doc.Number(r.Preempted, doc.Yellow) })
			t.recoveryColumn(&c, "AFTER", afterCell)
		}
	}
	c.AddColumn("EXCESS", func(r failureRow) doc.Cell { return shareCell(level.Harm(r.failure).Excess) })
	c.AddColumn("WORKLOADS HIT", func(r failureRow) doc.Cell {
		return doc.ShareStyle(r.failure.ReplicatedShare()).Cell(t.hitWorkloads(r.failure.Workloads))
	})
	table := c.Rows(list.Map(shown, func(f *blast.Failure) failureRow { return failureRow{level: level, failure: f} }))
	table[0] = doc.SetDropOrder(table[0], "CPU", "NODES", "EXCESS")
	t.Table("", table...)
}

// hitWorkloads returns "web 2/3, db 1/3": the lost pods of each workload, or of the first one if there are many.
func (t *writer) hitWorkloads(losses []blast.Loss) string {
	var parts []string
	for i, loss := range losses {
		if len(losses) > maxHit && i == 1 && !t.All {
			parts = append(parts, fmt.Sprintf("%d more", len(losses)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d/%d", t.workloadName(loss), loss.Lost, loss.Replicas))
	}
	return doc.OrNone(strings.Join(parts, ", "))
}

// workloadNames returns a cell with the names of the workloads.
func (t *writer) workloadNames(losses []blast.Loss) doc.Cell {
	return t.fewNames(list.Map(losses, t.workloadName), doc.Red)
}

func (t *writer) budgets(names []string) doc.Cell {
	short := make([]string, len(names))
	for i, name := range names {
		if short[i] = name; !t.namespaced {
			short[i] = strings.TrimPrefix(name, "default/")
		}
	}
	return t.fewNames(short, doc.Red)
}

// fewNames returns a cell with the names, or with their number if they are too many.
func (t *writer) fewNames(names []string, s doc.Style) doc.Cell {
	switch n := len(names); {
	case n == 0:
		return doc.Plain.Cell(doc.None)
	case n <= maxCell || t.All:
		return s.Cell(strings.Join(names, ", "))
	default:
		return s.Cellf("%d", n)
	}
}

// workloadName returns the name of the workload, with its kind if several kinds have the name, and with its namespace if names need it.
func (t *writer) workloadName(l blast.Loss) string {
	name := l.Name
	if t.kinds[[2]string{l.Namespace, l.Name}] != l.Kind {
		name = strings.ToLower(l.Kind) + "/" + name
	}
	return t.qualify(l.Namespace, name)
}

func (t *writer) qualify(namespace, name string) string {
	if t.namespaced || namespace != "default" {
		return namespace + "/" + name
	}
	return name
}
