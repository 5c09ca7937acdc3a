// Package makeroom has the report on the moves that make room for pods that wait.
package makeroom

import (
	"github.com/faultline/faultline/pkg/ask/makeroom"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report on moves that make room.
const Kind = "MakeRoomReport"

// Report says which moves make room, or what is in the way.
type Report struct {
	report.Head
	makeroom.Answer
}

// New returns the report on the answer, which begins after the last step of the run. version is Faultline's version.
func New(result *simulation.Result, answer *makeroom.Answer, version string) *Report {
	return &Report{report.NewHead(result, Kind, version), *answer}
}
