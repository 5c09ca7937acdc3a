package consolidate

import (
	"cmp"
	"fmt"
	"time"

	"github.com/faultline/faultline/pkg/ask/consolidate"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// decided writes what a decider makes of the nodes: its commands, what it adds, the course, and why each other node stays.
func (r *Report) decided(d *doc.Doc) {
	d.Line(r.decidedVerdict())
	for _, group := range list.GroupBy(r.Stays, consolidate.Stay.Reason) {
		d.Linef(doc.Plain, "%s: %s.", words.Count(len(group), "node")+words.Pick(len(group), " stays", " stay"), reasonToStay(group[0]))
	}
	d.Space()
	rows := [][]doc.Cell{doc.Bold.Row("GOES", "EVICTED", "PRICE", "COMMAND")}
	for _, n := range r.Removed {
		rows = append(rows, []doc.Cell{doc.Plain.Cell(n.Node), doc.Number(n.Evicted, doc.Plain), priceCell(n.Price), doc.Plain.Cell(doc.OrNone(n.Why))})
	}
	addTable(d, rows, doc.MaxPods, "node", "nodes")
	rows = [][]doc.Cell{doc.Bold.Row("COMES", "PRICE", "AS")}
	for _, n := range r.Decided.Added {
		rows = append(rows, []doc.Cell{doc.Plain.Cell(n.Node), priceCell(n.Price), doc.Plain.Cell(doc.OrNone(n.Why))})
	}
	addTable(d, rows, doc.MaxPods, "node", "nodes")
	rows = [][]doc.Cell{doc.Bold.Row("AFTER", "NODES", "PENDING", "COST/H")}
	for _, m := range r.Decided.Moments {
		after := words.FormatDuration(m.At.Sub(r.Decided.Moments[0].At.Time))
		rows = append(rows, []doc.Cell{doc.Plain.Cell(after), doc.Number(m.Nodes, doc.Plain), doc.Number(m.Pending, doc.Plain), priceCell(m.Price)})
	}
	addTable(d, rows, maxStays, "moment", "moments")
	rows = [][]doc.Cell{doc.Bold.Row("STAYS", "WHY")}
	for _, s := range r.Stays {
		rows = append(rows, []doc.Cell{doc.Plain.Cell(s.Node), doc.Plain.Cell(reasonToStay(s))})
	}
	addTable(d, rows, maxStays, "node", "nodes")
	d.Header()
}

// addTable adds the table if it has a row below its titles.
func addTable(d *doc.Doc, rows [][]doc.Cell, most int, noun, nouns string) {
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: most, Noun: noun, Nouns: nouns})
		d.Space()
	}
}

func priceCell(price *float64) doc.Cell {
	if price == nil {
		return doc.Plain.Cell(doc.None)
	}
	return doc.Plain.Cell(doc.Amount(*price))
}

func reasonToStay(s consolidate.Stay) string { return cmp.Or(s.Message, reasonTexts[s.Why]) }

// decidedVerdict returns the first line: "karpenter removes 3 of 12 nodes and adds 1: 10 are enough, 1.23 an hour less, after 2 min 5 s; no pod is
// newly Pending."
func (r *Report) decidedVerdict() doc.Cell {
	did := r.Decided
	removed, added := len(r.Removed), len(did.Added)
	cost := ""
	if did.CostBefore != nil && did.CostAfter != nil {
		switch less := *did.CostBefore - *did.CostAfter; {
		case less >= 0.005:
			cost = fmt.Sprintf(", %.2f an hour less", less)
		case less <= -0.005:
			cost = fmt.Sprintf(", %.2f an hour more", -less)
		}
	}
	switch {
	case did.Cycle != nil:
		return doc.Red.Cell(did.Cycle.Describe())
	case removed == 0 && added == 0 && did.CostAfter != nil:
		return doc.Green.Cellf("%s removes none of %s, which cost %.2f an hour.", did.Decider, words.Count(r.Nodes, "node"), *did.CostAfter)
	case removed == 0 && added == 0:
		return doc.Green.Cellf("%s removes none of %s.", did.Decider, words.Count(r.Nodes, "node"))
	}
	line := fmt.Sprintf("%s removes %d of %s", did.Decider, removed, words.Count(r.Nodes, "node"))
	if added > 0 {
		line += fmt.Sprintf(" and adds %d", added)
	}
	line += fmt.Sprintf(": %d %s enough%s, after %s", r.Nodes-removed+added, words.Pick(r.Nodes-removed+added, "is", "are"), cost, words.FormatDuration(time.Duration(did.Seconds*float64(time.Second))))
	if did.NewlyPending > 0 {
		return doc.Red.Cellf("%s; %s newly Pending.", line, words.Is(did.NewlyPending, "pod"))
	}
	return doc.Green.Cellf("%s; no pod is newly Pending.", line)
}
