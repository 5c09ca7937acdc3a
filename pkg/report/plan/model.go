// Package plan has the report on what to add and to change so that the loss of a domain strands no pod.
package plan

import (
	"strings"

	"github.com/faultline/faultline/pkg/ask/plan"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on what to add so that losses strand no pod.
const Kind = "PlanReport"

// Report says what to add and to change, and which pods stay stranded.
type Report struct {
	report.Head
	plan.Answer
}

// New returns the report on the answer, which begins after the last step of the run. version is Faultline's version.
func New(result *simulation.Result, answer *plan.Answer, version string) *Report {
	return &Report{report.NewHead(result, Kind, version), *answer}
}

// question is the title of the report.
func (r *Report) question() string {
	return "Plan for the loss of " + strings.Join(list.Map(r.Survive, doc.AnyDomain), " or ")
}
