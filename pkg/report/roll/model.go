// Package roll is the report on nodes that are replaced in turn: whether it ends, which pods move and wait, and what stops it.
package roll

import (
	"github.com/faultline/faultline/pkg/ask/roll"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on a roll.
const Kind = "RollReport"

// Report is what comes of replacing the nodes of a pool in turn, in one or several ways.
type Report struct {
	report.Head
	// Rolls are what comes of each way, in the order asked for; of a single one if no comparison was asked for.
	Rolls []roll.Answer `json:"rolls"`
	// NeverPending is the smallest surge of a comparison that leaves no pod Pending; missing if none was asked for, or none does.
	NeverPending *int `json:"neverPending,omitempty"`
}

// New is the report on the answers, which begin at the end of the run. The version is Faultline's own.
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

// Met reports whether every node is replaced and no pod is left Pending, in one of the ways.
func (r *Report) Met() bool {
	for i := range r.Rolls {
		if r.Rolls[i].Done() && len(r.Rolls[i].Pending) == 0 {
			return true
		}
	}
	return false
}
