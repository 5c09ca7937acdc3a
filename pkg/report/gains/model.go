// Package gains is the report on what each workload gains by its best change, and what that costs.
package gains

import (
	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/report"
	reportadvice "github.com/faultline/faultline/pkg/report/advice"
)

// Kind is the kind of a report on the best change of each workload.
const Kind = "GainsReport"

// Report is the best change of each workload, those first that gain most for what they cost.
type Report struct {
	report.Head
	// Advice is the answer, in a sentence or two.
	Advice string `json:"advice"`
	advice.Everything
	// Apply are the commands that make the changes, in the order of the workloads that have one.
	Apply []string `json:"apply,omitempty"`

	top int // how many workloads are shown
}

// New puts the advice into the model, of which text and Markdown show the top workloads. The version is Faultline's own.
func New(e *advice.Everything, top int, version string) *Report {
	r := &Report{Head: report.NewHead(e.Result, Kind, version), Everything: *e, top: top}
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.Change != "" {
			r.Apply = append(r.Apply, w.Command(reportadvice.ShellWord(string(w.Patch))))
		}
	}
	r.Advice = r.verdict()
	return r
}
