package capacity

import (
	"cmp"
	"fmt"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// SafetyLines say whether everything comes back as the cluster is; if not, what it lacks and what each failure leaves behind.
func SafetyLines(s *capacity.Safety) []doc.Cell {
	name := doc.DomainOf(s.Level)
	but := ""
	if s.Unreplaced > 0 {
		but = fmt.Sprintf(" Up to %s not replaced.", words.Is(s.Unreplaced, "pod"))
	}
	if s.Safe {
		lost := fmt.Sprintf("Whichever of the %s is lost", words.Count(s.Domains, name))
		if _, value, one := topology.Chosen(s.Level); one {
			lost = fmt.Sprintf("If %s %s is lost", name, value)
		}
		return []doc.Cell{doc.Green.Cellf("Safe now: yes. %s, every pod that needs another node gets one.%s", lost, but)}
	}
	verdict := "Safe now: no."
	if len(s.Lacks) > 0 {
		verdict += " The cluster lacks " + words.And(list.Each(s.Lacks, lack)) + "."
	}
	lines := []doc.Cell{doc.Red.Cell(verdict + but)}
	for _, same := range list.Group(s.Unsafe, func(u capacity.Unsafe) [3]any { return [3]any{u.Pods, u.Still, u.Message} }) {
		u := same[0]
		line := fmt.Sprintf("  The loss of %s %s leaves %s Pending", name, words.Or(list.Each(same, func(u capacity.Unsafe) string { return u.Domain })), words.Count(u.Pods, "pod"))
		switch {
		case u.Still > 0 && u.Still == u.Pods:
			line += ", which no number of nodes in one zone helps"
		case u.Still > 0:
			line += fmt.Sprintf(", %d of which no number of nodes in one zone helps", u.Still)
		}
		lines = append(lines, doc.Red.Cell(line+": "+cmp.Or(u.Message, expect.NoMessage)))
	}
	return lines
}

// lack is "2 nodes of worker in b".
func lack(l capacity.Lack) string {
	line := words.Count(l.Nodes, "node") + " of " + l.Group
	if l.Zone != "" {
		line += " in " + l.Zone
	}
	return line
}
