package blast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/report/format/text"
)

// failures is the table of a level's failures. Columns about budgets and quorums that nobody breaks are left out of text.
func (t *writer) failures(level *Level, shown []*Failure) {
	lost := func(l Loss) bool { return l.QuorumLost }
	budgets := t.wide || slices.ContainsFunc(shown, func(f *Failure) bool { return len(f.BrokenBudgets) > 0 })
	quorums := t.wide || slices.ContainsFunc(shown, func(f *Failure) bool { return slices.ContainsFunc(f.Workloads, lost) })
	recoveries := slices.ContainsFunc(shown, func(f *Failure) bool { return level.Recovery(f) != nil })
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
	titles = append(titles, "GONE")
	if recoveries {
		titles = append(titles, "STRANDED", "NOT REPLACED")
		if t.wide {
			titles = append(titles, "RECOVERED", "PREEMPTED", "AFTER")
		}
	}
	titles = append(titles, "EXCESS", "WORKLOADS HIT")
	order := []string{"NOT REPLACED", "CPU", "NODES", "EXCESS"}
	if t.onlyUnreplaced(level, shown) {
		order = []string{"STRANDED", "CPU", "NODES", "EXCESS"}
	}
	table := [][]text.Cell{text.Dropped(text.Bold.Row(titles...), order...)}
	for _, f := range shown {
		cells := text.Plain.Row(text.DomainsText(f.Domains))
		if t.wide || !recoveries {
			cells = append(cells, text.Number(len(f.Nodes), text.Plain), text.Number(f.Pods, text.Plain), text.Plain.Cell(text.Percent(f.CPU)))
		}
		if t.wide {
			cells = append(cells, text.Plain.Cell(text.Percent(f.Memory)))
		}
		if budgets {
			cells = append(cells, t.budgets(f.BrokenBudgets))
		}
		if quorums {
			cells = append(cells, t.named(slices.DeleteFunc(slices.Clone(f.Workloads), func(l Loss) bool { return !lost(l) })))
		}
		losses := f.severalReplicas()
		cells = append(cells, t.named(slices.DeleteFunc(slices.Clone(losses), func(l Loss) bool { return !l.Gone })))
		if recoveries {
			cells = append(cells, t.recovery(level.Recovery(f))...)
		}
		excess := level.harm(f).Excess
		cells = append(cells, text.ShareStyle(excess).Cell(text.Percent(excess)),
			text.ShareStyle(f.replicated()).Cell(t.hit(losses)))
		table = append(table, cells)
	}
	t.Table("", table...)
}

// onlyUnreplaced reports whether pods are not replaced after these failures, and none is stranded.
func (t *writer) onlyUnreplaced(level *Level, shown []*Failure) bool {
	unreplaced := 0
	for _, f := range shown {
		if r := level.Recovery(f); r != nil {
			if len(r.Stranded) > 0 {
				return false
			}
			unreplaced += r.Unreplaced()
		}
	}
	return unreplaced > 0
}

// recovery fills STRANDED and NOT REPLACED, and RECOVERED, PREEMPTED and AFTER.
func (t *writer) recovery(r *Recovery) []text.Cell {
	switch {
	case r == nil && t.wide:
		return text.Plain.Row(text.None, text.None, text.None, text.None, text.None)
	case r == nil:
		return text.Plain.Row(text.None, text.None)
	}
	cells := []text.Cell{r.strandedOf(), text.Number(r.Unreplaced(), text.Red)}
	if t.wide {
		cells = append(cells, text.Number(len(r.Recovered), text.Green), text.Number(r.Preempted, text.Yellow),
			text.ShareStyle(r.AfterReplicated.Share).Cell(text.Percent(r.AfterReplicated.Share)))
	}
	return cells
}

// hit is "web 2/3, db 1/3": what is lost of each workload, of many of the first alone.
func (t *writer) hit(losses []Loss) string {
	var parts []string
	for i, loss := range losses {
		if len(losses) > maxHit && i == 1 && !t.All {
			parts = append(parts, fmt.Sprintf("%d more", len(losses)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d/%d", t.name(loss), loss.Lost, loss.Replicas))
	}
	return text.OrNone(strings.Join(parts, ", "))
}

// named names workloads.
func (t *writer) named(losses []Loss) text.Cell {
	var names []string
	for _, loss := range losses {
		names = append(names, t.name(loss))
	}
	return t.few(names, text.Red)
}

func (t *writer) budgets(names []string) text.Cell {
	short := make([]string, len(names))
	for i, name := range names {
		if short[i] = name; !t.namespaced {
			short[i] = strings.TrimPrefix(name, "default/")
		}
	}
	return t.few(short, text.Red)
}

// few names a few in a cell, and counts more of them.
func (t *writer) few(names []string, s text.Style) text.Cell {
	switch n := len(names); {
	case n == 0:
		return text.Plain.Cell(text.None)
	case n <= maxCell || t.All:
		return s.Cell(strings.Join(names, ", "))
	default:
		return s.Cellf("%d", n)
	}
}

// name is the workload's, with its kind and its namespace where another has the same name.
func (t *writer) name(l Loss) string {
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
