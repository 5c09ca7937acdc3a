package capacity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// maxUsage is the largest number of workloads in the table of usage, except with --all.
const maxUsage = 12

// unusedSentence says how much of the pods' requests they do not use.
func unusedSentence(all []capacity.Usage) string {
	var sum capacity.Usage
	for _, u := range all {
		sum.Pods += u.Pods
		sum.CPU.Requested += u.CPU.Requested
		sum.CPU.Used += u.CPU.Used
		sum.Memory.Requested += u.Memory.Requested
		sum.Memory.Used += u.Memory.Used
	}
	return fmt.Sprintf("%s of %s cores and %s of %s memory are requested and not used by %s.",
		doc.Quantity(v1.ResourceCPU, max(0, sum.CPU.Unused())), doc.Quantity(v1.ResourceCPU, sum.CPU.Requested),
		doc.FormatBytes(max(0, sum.Memory.Unused())), doc.FormatBytes(sum.Memory.Requested), words.Count(sum.Pods, "pod"))
}

// usageTable writes a table of what workloads request and use.
func (t *writer) usageTable() {
	shown := t.report.Usage
	if len(shown) > maxUsage && !t.All {
		shown = shown[:maxUsage]
	}
	table := [][]doc.Cell{doc.Bold.Row("WORKLOAD", "PODS", "CPU", "USED", "NOT USED", "MEMORY", "USED", "NOT USED")}
	for _, u := range shown {
		row := []doc.Cell{doc.Plain.Cell(u.Qualified()), doc.Number(u.Pods, doc.Plain)}
		for _, of := range []struct {
			name v1.ResourceName
			capacity.Used
		}{{v1.ResourceCPU, u.CPU}, {v1.ResourceMemory, u.Memory}} {
			row = append(row, doc.Plain.Row(doc.Quantity(of.name, of.Requested), doc.Quantity(of.name, of.Used.Used), signedQuantity(of.name, of.Unused()))...)
		}
		table = append(table, row)
	}
	t.Space()
	t.Linef(doc.Bold, "What pods request and use:")
	t.Table("", table...)
	if more := len(t.report.Usage) - len(shown); more > 0 {
		t.More(more, "workload", "workloads")
	}
}

// signedQuantity returns the amount, with a minus if containers use more than they request.
func signedQuantity(name v1.ResourceName, n float64) string {
	if n < 0 {
		return "-" + doc.Quantity(name, -n)
	}
	return doc.Quantity(name, n)
}
