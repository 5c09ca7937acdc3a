// Package rebalance has the report on pods to delete so that their replacements land better.
package rebalance

import (
	"github.com/faultline/faultline/pkg/ask/rebalance"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on pods to delete.
const Kind = "RebalanceReport"

// Report says which pods to delete, in which order, and where their replacements land.
type Report struct {
	report.Head
	rebalance.Answer
}

// New returns the report on the answer, which begins after the last step of the run. version is Faultline's version.
func New(result *simulation.Result, answer *rebalance.Answer, version string) *Report {
	return &Report{report.NewHead(result, Kind, version), *answer}
}
