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
	var c doc.TableOf[row]
	c.Text("DOMAIN", func(r row) string { return doc.DomainsText(r.failure.Domains) })
	recoveries := some(func(f *blast.Failure) bool { return level.Recovery(f) != nil })
	if t.wide || !recoveries {
		c.Number("NODES", doc.Plain, func(r row) int { return len(r.failure.Nodes) })
		c.Number("PODS", doc.Plain, func(r row) int { return r.failure.Pods })
		c.Text("CPU", func(r row) string { return doc.Percent(r.failure.CPU) })
	}
	if t.wide {
		c.Text("MEMORY", func(r row) string { return doc.Percent(r.failure.Memory) })
	}
	if t.wide || some(func(f *blast.Failure) bool { return len(f.BrokenBudgets) > 0 }) {
		c.Add("BUDGETS BROKEN", func(r row) doc.Cell { return t.budgets(r.failure.BrokenBudgets) })
	}
	if t.wide || some(func(f *blast.Failure) bool { return slices.ContainsFunc(f.Workloads, quorumLost) }) {
		c.Add("QUORUMS LOST", func(r row) doc.Cell { return t.named(list.Where(r.failure.Workloads, quorumLost)) })
	}
	c.Add("DOWN", func(r row) doc.Cell {
		return t.named(list.Where(r.failure.Workloads, func(l blast.Loss) bool { return l.Gone }))
	})
	if recoveries {
		t.recovery(&c, "NOT BACK", notBack)
		if some(func(f *blast.Failure) bool { r := level.Recovery(f); return r != nil && len(r.LostWork) > 0 }) {
			t.recovery(&c, "LOST WORK", func(r *blast.Recovery) doc.Cell { return doc.Number(len(r.LostWork), doc.Yellow) })
		}
		if t.report.scaled() {
			t.recovery(&c, "NEW NODES", newNodes)
		}
		if t.wide {
			t.replacements(&c)
			t.recovery(&c, "PREEMPTED", func(r *blast.Recovery) doc.Cell { return doc.Number(r.Preempted, doc.Yellow) })
			t.recovery(&c, "AFTER", after)
		}
	}
	c.Add("EXCESS", func(r row) doc.Cell { return shareCell(level.Harm(r.failure).Excess) })
	c.Add("WORKLOADS HIT", func(r row) doc.Cell { return doc.ShareStyle(r.failure.Replicated()).Cell(t.hit(r.failure.Workloads)) })
	table := c.Rows(list.Each(shown, func(f *blast.Failure) row { return row{level: level, failure: f} }))
	table[0] = doc.Dropped(table[0], "CPU", "NODES", "EXCESS")
	t.Table("", table...)
}

// hit returns "web 2/3, db 1/3": the lost pods of each workload, or of the first one if there are many.
func (t *writer) hit(losses []blast.Loss) string {
	var parts []string
	for i, loss := range losses {
		if len(losses) > maxHit && i == 1 && !t.All {
			parts = append(parts, fmt.Sprintf("%d more", len(losses)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d/%d", t.name(loss), loss.Lost, loss.Replicas))
	}
	return doc.OrNone(strings.Join(parts, ", "))
}

// named returns a cell with the names of the workloads.
func (t *writer) named(losses []blast.Loss) doc.Cell {
	return t.few(list.Each(losses, t.name), doc.Red)
}

func (t *writer) budgets(names []string) doc.Cell {
	short := make([]string, len(names))
	for i, name := range names {
		if short[i] = name; !t.namespaced {
			short[i] = strings.TrimPrefix(name, "default/")
		}
	}
	return t.few(short, doc.Red)
}

// few returns a cell with the names, or with their number if they are too many.
func (t *writer) few(names []string, s doc.Style) doc.Cell {
	switch n := len(names); {
	case n == 0:
		return doc.Plain.Cell(doc.None)
	case n <= maxCell || t.All:
		return s.Cell(strings.Join(names, ", "))
	default:
		return s.Cellf("%d", n)
	}
}

// name returns the name of the workload, with its kind if several kinds have the name, and with its namespace if names need it.
func (t *writer) name(l blast.Loss) string {
	name := l.Name
	if t.kinds[[2]string{l.Namespace, l.Name}] != l.Kind {
		name = strings.ToLower(l.Kind) + "/" + name
	}
	return t.qualified(l.Namespace, name)
}

func (t *writer) qualified(namespace, name string) string {
	if t.namespaced || namespace != "default" {
		return namespace + "/" + name
	}
	return name
}
