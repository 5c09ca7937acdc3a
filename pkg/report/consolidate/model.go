// Package consolidate has the report on which nodes can go, and why each other node stays.
package consolidate

import (
	"github.com/faultline/faultline/pkg/ask/consolidate"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on nodes that can go.
const Kind = "ConsolidateReport"

// Report says which nodes can go, in which order, and why each other node stays.
type Report struct {
	report.Head
	consolidate.Answer
}

// New returns the report on the answer, which begins after the last step of the run. version is Faultline's version.
func New(result *simulation.Result, answer *consolidate.Answer, version string) *Report {
	return &Report{report.NewHead(result, Kind, version), *answer}
}
