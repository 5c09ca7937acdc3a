package rebalance

import (
	"cmp"
	"fmt"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// policyVerdict returns the first line on what a decider does: "14 pods are evicted in 2 rounds, 3 of them land on the node that they left; 9 pods
// beyond an even spread over zones, 3 after it."
func (r *Report) policyVerdict() doc.Cell {
	p, n := r.Policy, len(r.Moves)
	spread := fmt.Sprintf("%s, %d after it", r.goalText(r.Before), r.After)
	if r.Before == r.After {
		spread = fmt.Sprintf("%s, before and after it", r.goalText(r.Before))
	}
	refused := ""
	if k := len(p.Refused); k > 0 {
		refused = fmt.Sprintf(", %s refused by budgets", words.Count(k, "eviction"))
	}
	back := words.Count(p.Back, "pod") + " " + words.Pick(p.Back, "lands", "land") + " on the node that it left"
	if p.Back > 1 {
		back = fmt.Sprintf("%d land on the nodes that they left", p.Back)
	} else if p.Back == 0 {
		back = "none lands on the node that it left"
	}
	if p.Unplaced > 0 {
		back += fmt.Sprintf(", %d %s no new node", p.Unplaced, words.Pick(p.Unplaced, "has", "have"))
	}
	switch {
	case p.Cycle != nil:
		return doc.Red.Cell(p.Cycle.Describe())
	case n == 0 && refused != "":
		return doc.Yellow.Cellf("No pod is evicted by %s%s; %s.", p.Decider, refused, r.goalText(r.Before))
	case n == 0:
		return doc.Green.Cellf("No pod is evicted by %s; %s.", p.Decider, r.goalText(r.Before))
	}
	style := doc.Green
	if p.Unplaced > 0 || r.After > r.Before {
		style = doc.Red
	} else if p.Back > 0 || refused != "" {
		style = doc.Yellow
	}
	return style.Cellf("%s %s evicted in %s, %s%s; %s.", words.Count(n, "pod"), words.Pick(n, "is", "are"), words.Count(p.Rounds, "round"), back, refused, spread)
}

// policy lists the evictions, and those that were refused.
func (r *Report) policy(d *doc.Doc) {
	rows := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row("ROUND", "POD", "WORKLOAD", "FROM", "TO", "BY"), "BY", "WORKLOAD")}
	for _, m := range r.Moves {
		style := doc.Plain
		if m.To == m.From {
			style = doc.Yellow
		}
		rows = append(rows, []doc.Cell{doc.Number(m.Round, doc.Plain), doc.Plain.Cell(cluster.Qualify(m.Namespace, m.Name)), doc.Plain.Cell(m.Workload),
			doc.Plain.Cell(m.From), style.Cell(cmp.Or(m.To, "<none>")), doc.Plain.Cell(m.Why)})
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: maxStuck, Noun: "eviction", Nouns: "evictions"})
	}
	d.Space()
	rows = [][]doc.Cell{doc.Bold.Row("REFUSED", "WHY")}
	for _, act := range r.Policy.Refused {
		rows = append(rows, []doc.Cell{doc.Plain.Cell(cluster.Qualify(act.Object.Namespace, act.Object.Name)), doc.Plain.Cell(act.Refused)})
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: maxStuck, Noun: "eviction", Nouns: "evictions"})
	}
}
