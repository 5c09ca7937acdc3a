package blast

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/ask/risk"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
)

// risk says how likely it is that workloads have pods down.
func (t *writer) risk(r *risk.Analysis) {
	t.Linef(doc.Bold, "How likely it is, at a random moment")
	keys := list.Each(r.Levels, func(l risk.Level) string { return l.TopologyKey })
	levels := [][]doc.Cell{doc.Bold.Row("LEVEL", "DOMAINS", "FAILURES A YEAR", "RECOVERY", "DOWN")}
	for i, short := range doc.Shorts(keys) {
		level := r.Levels[i]
		levels = append(levels, doc.Plain.Row(short, strconv.Itoa(level.Domains), figure(level.FailuresPerYear), figure(level.RecoveryHours)+" h", likely(level.Unavailability)))
	}
	t.Table("", levels...)
	t.Space()
	budgets := slices.ContainsFunc(r.Workloads, func(w risk.Workload) bool { return len(w.Budgets) > 0 })
	quorums := slices.ContainsFunc(r.Workloads, func(w risk.Workload) bool { return w.Quorum > 0 })
	titles := []string{"WORKLOAD", "REPLICAS", "EXPECTED DOWN"}
	if budgets {
		titles = append(titles, "BELOW BUDGET")
	}
	if quorums {
		titles = append(titles, "BELOW QUORUM")
	}
	table := [][]doc.Cell{doc.Bold.Row(append(titles, "ALL DOWN", "METHOD")...)}
	for i, w := range r.Workloads {
		if i == doc.MaxPods && !t.All {
			break
		}
		cells := doc.Plain.Row(t.qualified(w.Namespace, w.Ref.String()), strconv.Itoa(w.Replicas), figure(w.ExpectedDown))
		if budgets {
			below := list.Each(w.Budgets, func(b risk.Budget) string { return b.Name + ": " + chance(b.Below) })
			cells = append(cells, doc.Plain.Cell(doc.OrNone(strings.Join(below, "; "))))
		}
		if quorums {
			below := doc.None
			if w.BelowQuorum != nil {
				below = chance(*w.BelowQuorum)
			}
			cells = append(cells, doc.Plain.Cell(below))
		}
		table = append(table, append(cells, doc.Plain.Row(chance(w.AllDown), string(w.Method))...))
	}
	t.Table("", table...)
	if more := len(r.Workloads) - doc.MaxPods; more > 0 && !t.All {
		t.More(more, "workload", "workloads")
	}
	t.Sentences("Assumed:", r.Assumptions)
}

// chance is "0.12%, 10.5 h/year", with the interval if it was counted.
func chance(p risk.Probability) string {
	text := likely(p.Value)
	if p.Low != nil && p.High != nil {
		text += fmt.Sprintf(" (%s to %s)", likely(*p.Low), likely(*p.High))
	}
	return text + ", " + figure(p.HoursPerYear) + " h/year"
}

// likely is a probability with three figures that mean something.
func likely(p float64) string { return figure(100*p) + "%" }

func figure(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }
