// Package live has the commands that read a cluster that is there, and hold the simulation against it.
package live

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// Commands returns the commands, as help lists them.
func Commands(s command.Streams) []*cobra.Command {
	return []*cobra.Command{newSnapshot(s), newRBAC(s), newVerify(s), newWatch(s)}
}
