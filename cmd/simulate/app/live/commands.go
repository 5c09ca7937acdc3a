// Package live has the commands that read a live cluster, or compare the simulation with it.
package live

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// Commands returns the commands, as help lists them.
func Commands(s command.Streams) []*cobra.Command {
	return []*cobra.Command{newSnapshot(s), newRBAC(s), newVerify(s), newWatch(s)}
}
