package doc

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/words"
)

// RefusalText returns why a pod is Pending, as kubectl shows it: the reason of its event or condition, then the message. It marks a reason that
// kubectl does not show.
func RefusalText(why string) string {
	switch {
	case why == "":
		return expect.NoMessage
	case why == placement.Gated:
		return "SchedulingGated  " + why
	case strings.HasPrefix(why, placement.NotTried+placement.LeftTo):
		return words.UpperFirst(strings.TrimPrefix(why, placement.NotTried))
	case strings.HasPrefix(why, placement.NotTried):
		return words.UpperFirst(why) + " (no event and no condition says so)"
	case strings.HasPrefix(why, cluster.AttachedTo):
		return words.UpperFirst(why)
	}
	return "FailedScheduling  " + why
}

// WaitLines returns lines about a Pending pod: what kubectl shows, and what else is known.
func WaitLines(message, reason, untried string) []string {
	var lines []string
	if message != "" || untried == "" {
		lines = append(lines, RefusalText(message))
	}
	if reason == v1.PodReasonSchedulerError {
		lines = append(lines, reason+": a plugin failed, and the scheduler tries the pod again and again")
	}
	if untried != "" {
		lines = append(lines, RefusalText(placement.NotTried+untried))
	}
	return lines
}
