package rebalance

import (
	"fmt"

	"github.com/faultline/faultline/pkg/ask/rebalance"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/words"
)

// Formats are the formats of the report. Quiet prints only the answer, name the pods to delete, and All lists everything.
var Formats = format.Of[Report]{Question: func(*Report) string { return "Pods that land better" }, Doc: document, Brief: true, Course: course, Names: podNames}.Formats()

func podNames(r *Report) []string {
	return list.Map(r.Moves, func(m rebalance.Move) string { return cluster.Qualify(m.Namespace, "pod/"+m.Name) })
}

// document is the verdict and the commands, then the moves, and the workloads that stay as they are.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Line(r.verdict())
	if r.More && r.Partial == "" {
		d.Linef(doc.Plain, "There may be more; --moves %d looks for them.", 2*len(r.Moves))
	}
	d.Space()
	for _, m := range r.Moves {
		if r.Policy != nil {
			break // the decider makes the moves
		}
		d.Verbatim("kubectl delete " + cluster.KubectlArgument(m.Namespace, "pod/"+m.Name))
	}
	d.Space()
	if r.Policy != nil {
		r.policy(&d)
		d.Header()
		return &d
	}
	rows := [][]doc.Cell{doc.Bold.Row("MOVE", "POD", "WORKLOAD", "FROM", "TO", "NEXT POD", "LEFT")}
	for i, m := range r.Moves {
		rows = append(rows, []doc.Cell{doc.Number(i+1, doc.Plain), doc.Plain.Cell(cluster.Qualify(m.Namespace, m.Name)), doc.Plain.Cell(m.Workload), doc.Plain.Cell(m.From),
			doc.Plain.Cell(m.To), doc.Plain.Cell(m.Next), doc.Number(m.Left, doc.Plain)})
	}
	if rows[0] = doc.SetDropOrder(rows[0], "NEXT POD", "LEFT"); len(rows) > 1 {
		d.Table("", rows...)
	}
	d.Space()
	rows = [][]doc.Cell{doc.Bold.Row("STAYS", "PODS", "WHY")}
	for _, s := range r.Stuck {
		rows = append(rows, []doc.Cell{doc.Plain.Cell(s.Qualified()), doc.Number(s.Pods, doc.Plain), doc.Plain.Cell(s.Why)})
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: maxStuck, Noun: "workload", Nouns: "workloads"})
	}
	d.Header()
	return &d
}

// maxStuck is the largest number of workloads that stay as they are and are listed in text.
const maxStuck = 20

// goalText returns n with the words for what the goal counts.
func (r *Report) goalText(n int) string {
	pods := words.Count(n, "pod")
	switch r.Goal {
	case rebalance.Skew:
		return fmt.Sprintf("%s beyond an even spread over %ss", pods, doc.DomainOrKey(r.Level))
	case rebalance.Radius:
		return fmt.Sprintf("%s that the worst loss of a %s takes beyond an even spread", pods, doc.DomainOrKey(r.Level))
	}
	return pods + " whose preferred rules are not met"
}

// verdict returns the first line.
func (r *Report) verdict() doc.Cell {
	switch n := len(r.Moves); {
	case r.Policy != nil:
		return r.policyVerdict()
	case r.Before == 0:
		return doc.Green.Cellf("0 moves: there is none to better, with %s.", r.goalText(0))
	case n == 0 && r.Partial != "":
		return doc.Yellow.Cellf("No move is known yet: of %s tried none helps, and there are %s.", words.Count(r.Tried, "deletion"), r.goalText(r.Before))
	case n == 0:
		return doc.Yellow.Cellf("0 moves: no deletion helps, and there are %s.", r.goalText(r.Before))
	default:
		fewest := ""
		if r.Fewest {
			fewest = "; no fewer moves get as far"
		}
		return doc.Green.Cellf("%s: of %s, %d %s left%s; no budget is broken, no pod is newly Pending.", words.Count(n, "move"), r.goalText(r.Before), r.After, words.Pick(r.After, "is", "are"), fewest)
	}
}

// course returns a picture of what the goal counts after each move.
func course(r *Report) *doc.Course {
	c := &doc.Course{Title: "move by move", Moments: []string{"start"}}
	left := doc.Curve{Name: r.goalText(r.Before), Style: doc.Yellow, Values: []float64{float64(r.Before)}}
	for _, m := range r.Moves {
		c.Moments, left.Values = append(c.Moments, m.Name), append(left.Values, float64(m.Left))
	}
	c.Curves = []doc.Curve{left}
	return c
}
