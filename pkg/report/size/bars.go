package size

import (
	"fmt"

	"github.com/faultline/faultline/pkg/report/doc"
)

// bars returns a bar for each group and zone, which compares the needed nodes with the present ones.
func bars(r *Report) *doc.Bars {
	b := &doc.Bars{
		Title: "nodes by group and zone", Unit: "nodes", Noun: "group", Nouns: "groups",
		Parts: []doc.Part{{Name: "needed, and there", Style: doc.Plain}, {Name: "to add", Style: doc.Red}, {Name: "can go", Style: doc.Bold}},
	}
	if !r.Found {
		return b
	}
	for _, g := range r.Groups {
		for _, z := range sortZones(g.Zones) {
			name, note := g.Name, fmt.Sprintf("%d needed, %d now", z.Nodes, z.Before)
			if z.Zone != "" {
				name += " in " + z.Zone
			}
			if g.Kept {
				note = fmt.Sprintf("%d kept", z.Nodes)
			}
			b.Rows = append(b.Rows, doc.BarRow{Name: name, Note: note, Values: []int{min(z.Nodes, z.Before), max(0, z.Nodes-z.Before), max(0, z.Before-z.Nodes)}})
		}
	}
	return b
}
