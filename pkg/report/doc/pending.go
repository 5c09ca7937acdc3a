package doc

import (
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/words"
)

// Refused is a Pending pod's message as kubectl shows it: after the reason of its event, or of its condition where there is none.
func Refused(message string) string {
	switch {
	case message == "":
		return expect.NoMessage
	case message == placement.Gated:
		return "SchedulingGated  " + message
	case strings.HasPrefix(message, placement.LeftTo), strings.HasPrefix(message, cluster.AttachedTo):
		return words.UpperFirst(message)
	}
	return "FailedScheduling  " + message
}
