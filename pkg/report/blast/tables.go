package blast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
)

// failures is the table of a level's failures. Columns about budgets and quorums that nobody breaks are left out of text.
func (t *writer) failures(level *blast.Level, shown []*blast.Failure) {
	lost := func(l blast.Loss) bool { return l.QuorumLost }
	budgets := t.wide || slices.ContainsFunc(shown, func(f *blast.Failure) bool { return len(f.BrokenBudgets) > 0 })
	quorums := t.wide || slices.ContainsFunc(shown, func(f *blast.Failure) bool { return slices.ContainsFunc(f.Workloads, lost) })
	recoveries := slices.ContainsFunc(shown, func(f *blast.Failure) bool { return level.Recovery(f) != nil })
	titles := []string{"DOMAIN"}
	if t.wide || !recoveries {
		titles = append(titles, "NODES", "PODS", "CPU")
	}
	if t.wide {
		titles = append(titles, "MEMORY")
	}
	if budgets {
		titles = append(titles, "BUDGETS BROKEN")
	}
	if quorums {
		titles = append(titles, "QUORUMS LOST")
	}
	titles = append(titles, "DOWN")
	work := slices.ContainsFunc(shown, func(f *blast.Failure) bool { r := level.Recovery(f); return r != nil && len(r.LostWork) > 0 })
	if recoveries {
		titles = append(titles, "NOT BACK")
		if work {
			titles = append(titles, "LOST WORK")
		}
		if t.report.scaled() {
			titles = append(titles, "NEW NODES")
		}
		if t.wide {
			titles = append(titles, "STRANDED", "NOT REPLACED", "RECOVERED", "PREEMPTED", "AFTER")
		}
	}
	titles = append(titles, "EXCESS", "WORKLOADS HIT")
	table := [][]doc.Cell{doc.Dropped(doc.Bold.Row(titles...), "CPU", "NODES", "EXCESS")}
	for _, f := range shown {
		cells := doc.Plain.Row(doc.DomainsText(f.Domains))
		if t.wide || !recoveries {
			cells = append(cells, doc.Number(len(f.Nodes), doc.Plain), doc.Number(f.Pods, doc.Plain), doc.Plain.Cell(doc.Percent(f.CPU)))
		}
		if t.wide {
			cells = append(cells, doc.Plain.Cell(doc.Percent(f.Memory)))
		}
		if budgets {
			cells = append(cells, t.budgets(f.BrokenBudgets))
		}
		if quorums {
			cells = append(cells, t.named(list.Where(f.Workloads, lost)))
		}
		cells = append(cells, t.named(list.Where(f.Workloads, func(l blast.Loss) bool { return l.Gone })))
		if recoveries {
			cells = append(cells, t.recovery(level.Recovery(f), work)...)
		}
		excess := level.Harm(f).Excess
		cells = append(cells, doc.ShareStyle(excess).Cell(doc.Percent(excess)),
			doc.ShareStyle(f.Replicated()).Cell(t.hit(f.Workloads)))
		table = append(table, cells)
	}
	t.Table("", table...)
}

// recovery fills NOT BACK and, if asked, LOST WORK and NEW NODES; and STRANDED, NOT REPLACED, RECOVERED, PREEMPTED and AFTER.
func (t *writer) recovery(r *blast.Recovery, work bool) []doc.Cell {
	if r == nil {
		none := doc.Plain.Row(doc.None)
		if work {
			none = append(none, doc.Plain.Cell(doc.None))
		}
		if t.report.scaled() {
			none = append(none, doc.Plain.Cell(doc.None))
		}
		if t.wide {
			none = append(none, doc.Plain.Row(doc.None, doc.None, doc.None, doc.None, doc.None)...)
		}
		return none
	}
	cells := []doc.Cell{notBack(r)}
	if work {
		cells = append(cells, doc.Number(len(r.LostWork), doc.Yellow))
	}
	if t.report.scaled() {
		cells = append(cells, doc.Plain.Cell(newNodes(r)))
	}
	if t.wide {
		cells = append(cells, doc.Number(len(r.Stranded), doc.Yellow), doc.Number(r.Unreplaced(), doc.Red), doc.Number(len(r.Recovered), doc.Green),
			doc.Number(r.Preempted, doc.Yellow), doc.ShareStyle(r.AfterReplicated.Share).Cell(doc.Percent(r.AfterReplicated.Share)))
	}
	return cells
}

// hit is "web 2/3, db 1/3": what is lost of each workload, of many of the first alone.
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

// named names workloads.
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

// few names a few in a cell, and counts more of them.
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

// name is the workload's, with its kind and its namespace where another has the same name.
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
