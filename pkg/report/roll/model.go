// Package roll has the report on nodes that are replaced in turn: whether the roll ends, which pods move and wait, and what stops it.
package roll

import (
	"github.com/faultline/faultline/pkg/ask/roll"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on a roll.
const Kind = "RollReport"

// Report says what happens if the nodes of a pool are replaced in turn, in one or several ways.
type Report struct {
	report.Head
	// Rolls are the results of each way, in the order in which the user gave them; one without a comparison.
	Rolls []roll.Answer `json:"rolls"`
	// NeverPending is the smallest surge of a comparison that leaves no pod Pending; missing without a comparison, or if every surge leaves
	// some.
	NeverPending *int `json:"neverPending,omitempty"`
}

// New returns the report on the answers, which begin after the last step of the run. version is Faultline's version.
func New(result *simulation.Result, answers []*roll.Answer, version string) *Report {
	r := &Report{Head: report.NewHead(result, Kind, version)}
	for _, a := range answers {
		r.Rolls = append(r.Rolls, *a)
	}
	if surge := roll.NeverPending(answers); len(answers) > 1 && surge >= 0 {
		r.NeverPending = &surge
	}
	return r
}

// Met reports whether one of the ways replaces every node and leaves no pod Pending.
func (r *Report) Met() bool {
	for i := range r.Rolls {
		if r.Rolls[i].Done() && len(r.Rolls[i].Pending) == 0 {
			return true
		}
	}
	return false
}

// question is the title of the report.
func (r *Report) question() string { return "Roll of " + r.Rolls[0].Pool }
