// Package consolidate is the report on which nodes can go, and why each other stays.
package consolidate

import (
	"github.com/faultline/faultline/pkg/ask/consolidate"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on nodes that can go.
const Kind = "ConsolidateReport"

// Report is which nodes can go, in which order, and why each other stays.
type Report struct {
	report.Head
	consolidate.Answer
}

// New is the report on the answer, which begins at the end of the run. The version is Faultline's own.
func New(result *simulation.Result, answer *consolidate.Answer, version string) *Report {
	return &Report{report.NewHead(result, Kind, version), *answer}
}
