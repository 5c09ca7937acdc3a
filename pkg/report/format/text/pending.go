package text

import (
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
)

// Refused is a Pending pod's message as kubectl shows it: after the reason of its event, or of its condition where there is none.
func Refused(message string) string {
	switch message {
	case "":
		return expect.NoMessage
	case placement.Gated:
		return "SchedulingGated  " + message
	}
	return "FailedScheduling  " + message
}
