// Package plan is the report on what to add and to change so that the loss of a domain strands nobody.
package plan

import (
	"github.com/faultline/faultline/pkg/ask/plan"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on what to add so that losses strand nobody.
const Kind = "PlanReport"

// Report is what to add and to change, and what is left.
type Report struct {
	report.Head
	plan.Answer
}

// New is the report on the answer, which begins at the end of the run. The version is Faultline's own.
func New(result *simulation.Result, answer *plan.Answer, version string) *Report {
	return &Report{report.NewHead(result, Kind, version), *answer}
}
