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

// risk writes how likely it is that workloads have pods down.
func (t *writer) risk(r *risk.Analysis) {
	t.Linef(doc.Bold, "How likely it is, at a random moment")
	keys := list.Map(r.Levels, func(l risk.Level) string { return l.TopologyKey })
	levels := [][]doc.Cell{doc.Bold.Row("LEVEL", "DOMAINS", "FAILURES A YEAR", "RECOVERY", "DOWN")}
	for i, short := range doc.ShortKeys(keys) {
		level := r.Levels[i]
		levels = append(levels, doc.Plain.Row(short, strconv.Itoa(level.Domains), threeDigits(level.FailuresPerYear), threeDigits(level.RecoveryHours)+" h", formatProbability(level.Unavailability)))
	}
	t.Table("", levels...)
	t.Space()
	var c doc.TableBuilder[risk.Workload]
	c.AddTextColumn("WORKLOAD", func(w risk.Workload) string { return t.qualify(w.Namespace, w.Ref.String()) })
	c.AddTextColumn("REPLICAS", func(w risk.Workload) string { return strconv.Itoa(w.Replicas) })
	c.AddTextColumn("EXPECTED DOWN", func(w risk.Workload) string { return threeDigits(w.ExpectedDown) })
	if slices.ContainsFunc(r.Workloads, func(w risk.Workload) bool { return len(w.Budgets) > 0 }) {
		c.AddTextColumn("BELOW BUDGET", func(w risk.Workload) string {
			return doc.OrNone(strings.Join(list.Map(w.Budgets, func(b risk.Budget) string { return b.Name + ": " + formatChance(b.Below) }), "; "))
		})
	}
	if slices.ContainsFunc(r.Workloads, func(w risk.Workload) bool { return w.Quorum > 0 }) {
		c.AddTextColumn("BELOW QUORUM", func(w risk.Workload) string {
			if w.BelowQuorum == nil {
				return doc.None
			}
			return formatChance(*w.BelowQuorum)
		})
	}
	c.AddTextColumn("ALL DOWN", func(w risk.Workload) string { return formatChance(w.AllDown) })
	c.AddTextColumn("METHOD", func(w risk.Workload) string { return string(w.Method) })
	shown := r.Workloads
	if !t.All {
		shown = shown[:min(len(shown), doc.MaxPods)]
	}
	rows := c.Rows(shown)
	doc.SetDropOrder(rows[0], "METHOD")
	t.Table("", rows...)
	if more := len(r.Workloads) - doc.MaxPods; more > 0 && !t.All {
		t.More(more, "workload", "workloads")
	}
	t.Sentences("Assumed:", r.Assumptions)
}

// formatChance returns "0.12%, 10.5 h/year", with the interval if the probability is an estimate.
func formatChance(p risk.Probability) string {
	text := formatProbability(p.Value)
	if p.Low != nil && p.High != nil {
		text += fmt.Sprintf(" (%s to %s)", formatProbability(*p.Low), formatProbability(*p.High))
	}
	return text + ", " + threeDigits(p.HoursPerYear) + " h/year"
}

// formatProbability returns a probability in percent, with three significant digits.
func formatProbability(p float64) string { return threeDigits(100*p) + "%" }

func threeDigits(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }
