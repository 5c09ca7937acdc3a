// Package planning has the commands that compare clusters, rules and loads before anything is deployed.
package planning

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// Commands returns the commands, as help lists them.
func Commands(s command.Streams) []*cobra.Command {
	return []*cobra.Command{newCapacity(s), newPeak(s), newMakeRoom(s), newPlan(s), newSize(s), newAdvise(s), newReview(s), newCompare(s), newSweep(s), newMerge(s)}
}
