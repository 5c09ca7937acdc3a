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

// SafetyLines say whether every pod comes back after any loss now, and if not, what each loss leaves Pending.
func SafetyLines(s *capacity.Safety) []doc.Cell {
	name := doc.DomainOrKey(s.Level)
	but := ""
	if s.Unreplaced > 0 {
		but = fmt.Sprintf(" Up to %s not replaced.", words.Is(s.Unreplaced, "pod"))
	}
	if len(s.NotRunning) > 0 {
		nothing := doc.NothingToLose(s.NotRunning) + "."
		if s.Running == 0 {
			return []doc.Cell{doc.Red.Cell("Safe now: " + nothing)}
		}
		but += " " + words.UpperFirst(nothing)
	}
	if s.Safe {
		lost := fmt.Sprintf("Whichever of the %s is lost", words.Count(s.Domains, name))
		if _, value, one := topology.SplitValue(s.Level); one {
			lost = fmt.Sprintf("If %s %s is lost", name, value)
		}
		return []doc.Cell{doc.Green.Cellf("Safe now: yes. %s, every pod that needs another node gets one.%s", lost, but)}
	}
	lines := []doc.Cell{doc.Red.Cellf("Safe now: no. simulate plan --survive %s finds what to add.%s", topology.ShortKey(s.Level), but)}
	for _, same := range list.GroupBy(s.Unsafe, func(u capacity.Unsafe) [2]any { return [2]any{u.Pods, u.Message} }) {
		u := same[0]
		line := fmt.Sprintf("  The loss of %s %s leaves %s Pending", name, words.Or(list.Map(same, func(u capacity.Unsafe) string { return u.Domain })), words.Count(u.Pods, "pod"))
		lines = append(lines, doc.Red.Cell(line+": "+cmp.Or(u.Message, expect.NoMessage)))
	}
	return lines
}
