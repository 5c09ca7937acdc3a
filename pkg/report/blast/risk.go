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
	keys := list.Each(r.Levels, func(l risk.Level) string { return l.TopologyKey })
	levels := [][]doc.Cell{doc.Bold.Row("LEVEL", "DOMAINS", "FAILURES A YEAR", "RECOVERY", "DOWN")}
	for i, short := range doc.Shorts(keys) {
		level := r.Levels[i]
		levels = append(levels, doc.Plain.Row(short, strconv.Itoa(level.Domains), figure(level.FailuresPerYear), figure(level.RecoveryHours)+" h", likely(level.Unavailability)))
	}
	t.Table("", levels...)
	t.Space()
	var c doc.TableOf[risk.Workload]
	c.Text("WORKLOAD", func(w risk.Workload) string { return t.qualified(w.Namespace, w.Ref.String()) })
	c.Text("REPLICAS", func(w risk.Workload) string { return strconv.Itoa(w.Replicas) })
	c.Text("EXPECTED DOWN", func(w risk.Workload) string { return figure(w.ExpectedDown) })
	if slices.ContainsFunc(r.Workloads, func(w risk.Workload) bool { return len(w.Budgets) > 0 }) {
		c.Text("BELOW BUDGET", func(w risk.Workload) string {
			return doc.OrNone(strings.Join(list.Each(w.Budgets, func(b risk.Budget) string { return b.Name + ": " + chance(b.Below) }), "; "))
		})
	}
	if slices.ContainsFunc(r.Workloads, func(w risk.Workload) bool { return w.Quorum > 0 }) {
		c.Text("BELOW QUORUM", func(w risk.Workload) string {
			if w.BelowQuorum == nil {
				return doc.None
			}
			return chance(*w.BelowQuorum)
		})
	}
	c.Text("ALL DOWN", func(w risk.Workload) string { return chance(w.AllDown) })
	c.Text("METHOD", func(w risk.Workload) string { return string(w.Method) })
	shown := r.Workloads
	if !t.All {
		shown = shown[:min(len(shown), doc.MaxPods)]
	}
	t.Table("", c.Rows(shown)...)
	if more := len(r.Workloads) - doc.MaxPods; more > 0 && !t.All {
		t.More(more, "workload", "workloads")
	}
	t.Sentences("Assumed:", r.Assumptions)
}

// chance returns "0.12%, 10.5 h/year", with the interval if the probability is an estimate.
func chance(p risk.Probability) string {
	text := likely(p.Value)
	if p.Low != nil && p.High != nil {
		text += fmt.Sprintf(" (%s to %s)", likely(*p.Low), likely(*p.High))
	}
	return text + ", " + figure(p.HoursPerYear) + " h/year"
}

// likely returns a probability in percent, with three significant digits.
func likely(p float64) string { return figure(100*p) + "%" }

func figure(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }
