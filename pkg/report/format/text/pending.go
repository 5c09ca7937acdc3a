package text

import (
	"github.com/faultline/faultline/pkg/engine/placement"
)

// Silent stands for the message that kube-scheduler did not give.
const Silent = "kube-scheduler gave no message"

// Refused is a Pending pod's message as kubectl shows it: after the reason of its event, or of its condition where there is none.
func Refused(message string) string {
	switch message {
	case "":
		return Silent
	case placement.Gated:
		return "SchedulingGated  " + message
	}
	return "FailedScheduling  " + message
}
