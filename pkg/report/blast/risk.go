package blast

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/ask/risk"
	"github.com/faultline/faultline/pkg/report/doc"
)

// NewRisk puts how likely workloads are to have pods down into the model.
func NewRisk(analysis *risk.Analysis) *Risk {
	r := &Risk{Assumptions: analysis.Assumptions}
	for _, level := range analysis.Levels {
		r.Levels = append(r.Levels, RiskLevel(level))
	}
	for _, w := range analysis.Workloads {
		found := RiskWorkload{
			Kind: w.Workload.Kind, Namespace: w.Workload.Namespace, Name: w.Workload.Name, Replicas: w.Replicas, Down: w.Down, Method: string(w.Method),
			AllUp: newProbability(w.AllUp, w.Method), AllDown: newProbability(w.AllDown, w.Method), ExpectedDown: w.ExpectedDown,
		}
		if w.Quorum > 0 {
			below := newProbability(w.BelowQuorum, w.Method)
			found.Quorum, found.BelowQuorum = w.Quorum, &below
		}
		counted := w.Method == risk.Trials
		for _, budget := range w.Budgets {
			counted = counted || budget.Method == risk.Trials
			found.Budgets = append(found.Budgets, RiskBudget{
				Name: budget.Name, Pods: budget.Pods, DesiredHealthy: budget.DesiredHealthy,
				Method: string(budget.Method), Below: newProbability(budget.Below, budget.Method),
			})
		}
		if counted {
			r.Trials, r.Seed = analysis.Trials, analysis.Seed
		}
		r.Workloads = append(r.Workloads, found)
	}
	return r
}

func newProbability(p risk.Probability, method risk.Method) Probability {
	probability := Probability{Value: p.Value, HoursPerYear: p.HoursPerYear().Value}
	if method == risk.Trials {
		probability.Low, probability.High = &p.Low, &p.High
	}
	return probability
}

// risk says how likely it is that workloads have pods down.
func (t *writer) risk(r *Risk) {
	t.Linef(doc.Bold, "How likely it is, at a random moment")
	var keys []string
	for _, level := range r.Levels {
		keys = append(keys, level.TopologyKey)
	}
	levels := [][]doc.Cell{doc.Bold.Row("LEVEL", "DOMAINS", "FAILURES A YEAR", "RECOVERY", "DOWN")}
	for i, short := range doc.Shorts(keys) {
		level := r.Levels[i]
		levels = append(levels, doc.Plain.Row(short, strconv.Itoa(level.Domains), figure(level.FailuresPerYear), figure(level.RecoveryHours)+" h", likely(level.Unavailability)))
	}
	t.Table("", levels...)
	t.Space()
	budgets := slices.ContainsFunc(r.Workloads, func(w RiskWorkload) bool { return len(w.Budgets) > 0 })
	quorums := slices.ContainsFunc(r.Workloads, func(w RiskWorkload) bool { return w.Quorum > 0 })
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
		cells := doc.Plain.Row(t.qualified(w.Namespace, strings.ToLower(w.Kind)+"/"+w.Name), strconv.Itoa(w.Replicas), figure(w.ExpectedDown))
		if budgets {
			var below []string
			for _, budget := range w.Budgets {
				below = append(below, fmt.Sprintf("%s: %s", budget.Name, budget.Below.text()))
			}
			cells = append(cells, doc.Plain.Cell(doc.OrNone(strings.Join(below, "; "))))
		}
		if quorums {
			below := doc.None
			if w.BelowQuorum != nil {
				below = w.BelowQuorum.text()
			}
			cells = append(cells, doc.Plain.Cell(below))
		}
		table = append(table, append(cells, doc.Plain.Row(w.AllDown.text(), w.Method)...))
	}
	t.Table("", table...)
	if more := len(r.Workloads) - doc.MaxPods; more > 0 && !t.All {
		t.More(more, "workload", "workloads")
	}
	t.Sentences("Assumed:", r.Assumptions)
}

// text is "0.12%, 10.5 h/year", with the interval of what was counted.
func (p Probability) text() string {
	text := likely(p.Value)
	if p.Low != nil && p.High != nil {
		text += fmt.Sprintf(" (%s to %s)", likely(*p.Low), likely(*p.High))
	}
	return text + ", " + figure(p.HoursPerYear) + " h/year"
}

// likely is a probability with three figures that mean something.
func likely(p float64) string { return figure(100*p) + "%" }

func figure(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }
