// Package operation has the commands that rehearse changes to the nodes of a cluster.
package operation

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// Commands returns the commands, as help lists them.
func Commands(s command.Streams) []*cobra.Command {
	return []*cobra.Command{newDrain(s), newRoll(s), newConsolidate(s), newDefragment(s), newRebalance(s), newQueue(s), newScale(s), newUpgrade(s)}
}
