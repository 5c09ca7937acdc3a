package report

import (
	"fmt"
	"strings"
)

// verdict is the answer, and what is to be known of it.
func (r *SizeReport) verdict() []cell {
	goal := "every pod has a node"
	for _, level := range r.Survive {
		goal += ", also after the loss of any " + domainOf(level)
	}
	var lines []cell
	switch {
	case !r.Found:
		return append(lines, red.cellf("No number of these nodes was found with which %s.", goal))
	case r.Cost != nil:
		lines = append(lines, green.cellf("%s at %s an hour will do: %s. The scenario has %d at %s.", count(r.Nodes, "node"), price(r.Cost), goal, r.Before, price(r.CostBefore)))
	default:
		lines = append(lines, green.cellf("%s will do: %s. The scenario has %d.", count(r.Nodes, "node"), goal, r.Before))
	}
	if !r.Proven {
		lines = append(lines, yellow.cellf("After %d clusters the search ended at its bound, and there may be a cheaper one; give more --tries, or fewer groups with --group.", r.Tried))
	}
	if r.Unbound > 0 {
		lines = append(lines, plain.cellf("%s had a node and %s placed afresh.", count(r.Unbound, "pod"), pick(r.Unbound, "was", "were")))
	}
	if r.Foreign > 0 {
		lines = append(lines, plain.cellf("%s of other schedulers %s left out.", count(r.Foreign, "pod"), pick(r.Foreign, "is", "are")))
	}
	return lines
}

func price(p *float64) string {
	if p == nil {
		return none
	}
	return fmt.Sprint(float64(int64(*p*1e4+0.5)) / 1e4)
}

func (r *SizeReport) rest(t *page) {
	t.space()
	t.table("", r.table()...)
	t.space()
	for _, f := range r.Fewer {
		t.linef(bold, "%s", f.text())
		t.linef(plain, "  %s", refused(f.Message))
	}
	t.space()
	t.header(r.Head)
}

// table is a row for each group and zone below the titles.
func (r *SizeReport) table() [][]cell {
	table := [][]cell{bold.row("GROUP", "ZONE", "NODES", "BEFORE", "PRICE")}
	for _, g := range r.Groups {
		for _, z := range g.Zones {
			name := g.Name
			if g.Kept {
				name += " (kept)"
			}
			nodes := none
			if r.Found {
				nodes = fmt.Sprint(z.Nodes)
			}
			table = append(table, plain.row(name, orNone(z.Zone), nodes, fmt.Sprint(z.Before), price(g.Price)))
		}
	}
	return table
}

// text says what goes wrong, and where.
func (f SizeFewer) text() string {
	var on string
	switch {
	case f.Group == "":
		on = "On the largest cluster that was tried"
	case f.Zone == "":
		on = "With one " + f.Group + " fewer in each zone"
	default:
		on = "With one " + f.Group + " fewer in zone " + f.Zone
	}
	if f.Domain != "" {
		on += ", after the loss of " + domainOf(f.Level) + " " + f.Domain
	}
	return fmt.Sprintf("%s, %s no node; the first is %s", on, count(f.Stranded, "pod")+pick(f.Stranded, " has", " have"), strings.TrimPrefix(f.Pod, "default/"))
}
