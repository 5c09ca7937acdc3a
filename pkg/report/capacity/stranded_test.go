package capacity

import (
	"testing"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// Each resource with stranded capacity has a sentence and a table with a column for each reason; other resources have none.
func TestStranded(t *testing.T) {
	spare := func(free float64, reasons ...capacity.StrandedBy) capacity.Spare {
		s := capacity.Spare{Allocatable: 400, DaemonSets: 20, Free: free, Reasons: reasons}
		for _, r := range reasons {
			s.Stranded += r.Amount
		}
		return s
	}
	r := New(reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply", "last"), []capacity.Mix{}, nil, capacity.Options{}, "v0.1.0")
	noMemory, taints, pods := capacity.StrandedBy{Why: capacity.WithoutMemory, Amount: 22}, capacity.StrandedBy{Why: capacity.BehindTaints, Amount: 12}, capacity.StrandedBy{Why: capacity.NoPodsLeft, Amount: 7}
	r.Stranded = &capacity.Stranded{Workloads: 9, All: capacity.Idle{Nodes: 3, CPU: spare(212, noMemory, taints, pods), Memory: spare(1 << 30)},
		Groups: []capacity.Idle{{Group: "general", Nodes: 2, UsableBy: 9, CPU: spare(200, noMemory, pods)}, {Group: "tainted", Nodes: 1, CPU: spare(12, taints)}}}
	reporttest.CheckLines(t, reporttest.Write(t, Formats, r, "text", report.Options{}),
		"41 of 212 free CPU cannot be used by what runs here: 22 without memory, 12 behind taints and 7 pods-per-node.",
		"  GROUP     NODES   ALLOCATABLE   DAEMONSETS   FREE   USABLE BY     STRANDED   TAINTS   PODS PER NODE   NO MEMORY",
		"  general   2       400           20 (5%)      200    9 workloads   29         0        7               22",
		"  tainted   1       400           20 (5%)      12     0 workloads   12         12       0               0",
	)
	if err := reporttest.Validate(t, reporttest.Schema(t, "capacity-report"), reporttest.Write(t, Formats, r, "json", report.Options{})); err != nil {
		t.Error(err)
	}
}
