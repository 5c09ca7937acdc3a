package drain

import (
	"cmp"
	"slices"

	"github.com/faultline/faultline/pkg/report/doc"
)

// bars returns a bar for each node: the pods that leave it and the pods that stay, with the reason. Nodes whose drain does not end come
// first.
func bars(r *Report) *doc.Bars {
	b := &doc.Bars{
		Title: "pods of each node", Unit: "pods", Noun: "node", Nouns: "nodes",
		Parts: []doc.Part{{Name: "evicted", Style: doc.Plain}, {Name: "stay, so that the drain does not end", Style: doc.Red}},
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		stays := n.BlockingPods()
		row := doc.BarRow{Name: n.Node, Values: []int{len(n.Evicted), len(stays)}, Note: "ends"}
		if !n.Ends {
			row.Note = "does not end"
		}
		b.Rows = append(b.Rows, row)
	}
	slices.SortStableFunc(b.Rows, func(a, b doc.BarRow) int { return cmp.Compare(b.Values[1], a.Values[1]) })
	return b
}
