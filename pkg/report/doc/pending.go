package doc

import (
	"fmt"
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

// NothingToLose says of workloads without a running pod that no failure can take one: "no pod of deployment/web has a node: there is nothing of it that
// a failure could take".
func NothingToLose(notRunning []string) string {
	if len(notRunning) == 1 {
		return fmt.Sprintf("no pod of %s has a node: there is nothing of it that a failure could take", notRunning[0])
	}
	return fmt.Sprintf("no pod of %d workloads has a node (%s): there is nothing of them that a failure could take", len(notRunning), words.Few(notRunning))
}
