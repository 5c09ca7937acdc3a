// Package rebalance is the report on pods to delete so that the next ones land better.
package rebalance

import (
	"github.com/faultline/faultline/pkg/ask/rebalance"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on pods to delete.
const Kind = "RebalanceReport"

// Report is which pods to delete, in which order, and what comes of it.
type Report struct {
	report.Head
	rebalance.Answer
}

// New is the report on the answer, which begins at the end of the run. The version is Faultline's own.
func New(result *simulation.Result, answer *rebalance.Answer, version string) *Report {
	return &Report{report.NewHead(result, Kind, version), *answer}
}
