// Package outcome has the report on every outcome of a scenario in which chance decides among equal nodes.
package outcome

import (
	"github.com/faultline/faultline/pkg/ask/outcome"
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on every outcome.
const Kind = "OutcomesReport"

// Report has every outcome of a scenario in which chance decides among equal nodes.
type Report struct {
	report.Head
	// Method is exact if every way to break the ties among nodes was followed, or trials.
	Method string `json:"method" jsonschema:"enum=exact,enum=trials"`
	// Exact says how many runs the exact method needed; missing for trials.
	Exact *outcome.ExactMethod `json:"exact,omitempty"`
	// Trials says how many trials there were, and their seeds; missing for the exact method.
	Trials *outcome.TrialsMethod `json:"trials,omitempty"`
	// Nodes are the cluster's nodes before the first step, in the cluster's order.
	Nodes []report.Node `json:"nodes,omitempty"`
	// Steps are the outcomes of each step, in order.
	Steps []outcome.Step `json:"steps"`
}
