// Package peak has the report on what breaks when every HorizontalPodAutoscaler stands at its maximum.
package peak

import (
	"github.com/faultline/faultline/pkg/ask/peak"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on a peak.
const Kind = "PeakReport"

// Report says what breaks at the peak, and what helps.
type Report struct {
	report.Head
	peak.Answer
}

// New returns the report on the answer, which begins after the last step of the run. version is Faultline's version.
func New(result *simulation.Result, answer *peak.Answer, version string) *Report {
	return &Report{report.NewHead(result, Kind, version), *answer}
}
