package capacity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// strandedReasons has the words for the reasons, in the order in which the search tests them.
var strandedReasons = []struct{ why, words, title string }{
	{capacity.TakesNoPods, "on nodes that take no pods", "NO PODS"},
	{capacity.BehindTaints, "behind taints", "TAINTS"},
	{capacity.NotSelected, "on nodes that nobody selects", "NOT SELECTED"},
	{capacity.NoPodsLeft, "pods-per-node", "PODS PER NODE"},
	{capacity.WithoutMemory, "without memory", "NO MEMORY"},
	{capacity.WithoutCPU, "without CPU", "NO CPU"},
	{capacity.WithoutAnother, "without another resource", "NO OTHER"},
	{capacity.TooLittle, "too little for a pod", "TOO LITTLE"},
}

// stranded writes the free capacity that no workload can use, by group: a sentence and a table for CPU, and the same for memory.
func (t *writer) stranded(s *capacity.Stranded) {
	for _, of := range []struct {
		name  v1.ResourceName
		words string
		spare func(*capacity.Idle) *capacity.Spare
	}{
		{v1.ResourceCPU, "CPU", func(i *capacity.Idle) *capacity.Spare { return &i.CPU }},
		{v1.ResourceMemory, "memory", func(i *capacity.Idle) *capacity.Spare { return &i.Memory }},
	} {
		all := of.spare(&s.All)
		if all.Stranded == 0 {
			continue
		}
		amount := func(n float64) string { return doc.Quantity(of.name, n) }
		t.Space()
		t.Linef(doc.Bold, "%s", strandedSentence(all, of.words, amount))
		t.Table("  ", strandedTable(s, all, of.spare, amount)...)
	}
}

// strandedSentence returns "41 of 212 free CPU cannot be used by what runs here: 22 without memory, 12 behind taints, 7 pods-per-node."
func strandedSentence(all *capacity.Spare, resource string, amount func(float64) string) string {
	parts := list.Map(all.Reasons, func(r capacity.StrandedBy) string { return amount(r.Amount) + " " + strandedWords(r.Why) })
	return fmt.Sprintf("%s of %s free %s cannot be used by what runs here: %s.", amount(all.Stranded), amount(all.Free), resource, words.And(parts))
}

func strandedWords(why string) string {
	for _, reason := range strandedReasons {
		if reason.why == why {
			return reason.words
		}
	}
	return why
}

// strandedTable returns the titles, and a row for each group, with a column for each reason that occurs.
func strandedTable(s *capacity.Stranded, all *capacity.Spare, of func(*capacity.Idle) *capacity.Spare, amount func(float64) string) [][]doc.Cell {
	part := func(spare *capacity.Spare, why string) (n float64) {
		for _, r := range spare.Reasons {
			if r.Why == why {
				n += r.Amount
			}
		}
		return n
	}
	titles := []string{"GROUP", "NODES", "ALLOCATABLE", "DAEMONSETS", "FREE", "USABLE BY", "STRANDED"}
	var reasons []string
	for _, reason := range strandedReasons {
		if part(all, reason.why) > 0 {
			titles, reasons = append(titles, reason.title), append(reasons, reason.why)
		}
	}
	table := [][]doc.Cell{doc.Bold.Row(titles...)}
	for i := range s.Groups {
		group := &s.Groups[i]
		spare := of(group)
		daemons := amount(spare.DaemonSets)
		if spare.Allocatable > 0 {
			daemons += fmt.Sprintf(" (%s)", doc.Percent(spare.DaemonSets/spare.Allocatable))
		}
		row := []doc.Cell{doc.Plain.Cell(group.Group), doc.Number(group.Nodes, doc.Plain), doc.Plain.Cell(amount(spare.Allocatable)), doc.Plain.Cell(daemons),
			doc.Plain.Cell(amount(spare.Free)), doc.Plain.Cell(words.Count(group.UsableBy, "workload")), doc.Yellow.Cell(amount(spare.Stranded))}
		for _, why := range reasons {
			row = append(row, doc.Plain.Cell(amount(part(spare, why))))
		}
		table = append(table, row)
	}
	return table
}
