// Package agent has the command with which agents ask: a server of the Model Context Protocol, whose tools are the program's questions.
package agent

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// Commands returns the commands of this group. Their tools run commands of the program.
func Commands(s command.Streams, run command.Runner) []*cobra.Command {
	return []*cobra.Command{newMCP(s, run)}
}
