// Package gains has the report on what each workload gains by its best change, and what that costs.
package gains

import (
	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/report"
	reportadvice "github.com/faultline/faultline/pkg/report/advice"
)

// Kind is the kind of a report on the best change of each workload.
const Kind = "GainsReport"

// Report has the best change of each workload. Workloads that gain most for the cost of their change come first.
type Report struct {
	report.Head
	// Advice is the answer, in one or a few sentences.
	Advice string `json:"advice"`
	advice.AllAdvice
	// Apply are the commands that make the changes, in the order of the workloads that have a change.
	Apply []string `json:"apply,omitempty"`

	maxShown int // how many workloads text shows
}

// New returns the report on the advice. Text and Markdown show only the top workloads. version is Faultline's version.
func New(e *advice.AllAdvice, top int, version string) *Report {
	r := &Report{Head: report.NewHead(e.Result, Kind, version), AllAdvice: *e, maxShown: top}
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.Change != "" {
			r.Apply = append(r.Apply, w.Command(reportadvice.ShellWord(string(w.Patch))))
		}
	}
	r.Advice = r.verdict()
	return r
}
