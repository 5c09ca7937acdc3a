package report

import (
	"github.com/faultline/faultline/pkg/engine/placement"
)

// silent stands for the message that kube-scheduler did not give.
const silent = "kube-scheduler gave no message"

// refused is a Pending pod's message as kubectl shows it: after the reason of its event, or of its condition where there is none.
func refused(message string) string {
	switch message {
	case "":
		return silent
	case placement.Gated:
		return "SchedulingGated  " + message
	}
	return "FailedScheduling  " + message
}
