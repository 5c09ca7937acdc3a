// Package outcome is the report on every outcome of a scenario in which chance decides among equal nodes.
package outcome

import (
	"github.com/faultline/faultline/pkg/ask/outcome"
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on every outcome.
const Kind = "OutcomesReport"

// Report is what a scenario can come to, where chance decides among equals.
type Report struct {
	report.Head
	// Method is exact, where every way to decide the ties among nodes was followed, or trials.
	Method string `json:"method" jsonschema:"enum=exact,enum=trials"`
	// Exact says how much it took to follow every way.
	Exact *outcome.ExactMethod `json:"exact,omitempty"`
	// Trials says how many trials there were, and with which seeds.
	Trials *outcome.TrialsMethod `json:"trials,omitempty"`
	// Nodes are the cluster's nodes before the first step, in its order.
	Nodes []report.Node `json:"nodes,omitempty"`
	// Steps are what can come of each step, in order.
	Steps []outcome.Step `json:"steps"`
}
