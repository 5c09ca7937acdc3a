// Package basic has the commands that place pods and fail nodes, and say why.
package basic

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// Commands returns the commands, as help lists them.
func Commands(s command.Streams) []*cobra.Command {
	return []*cobra.Command{newRun(s), newBlast(s), newExplain(s)}
}
