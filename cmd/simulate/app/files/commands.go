// Package files has the commands that check, print and convert the files that the other commands read.
package files

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// Commands returns the commands, as help lists them.
func Commands(s command.Streams) []*cobra.Command {
	return []*cobra.Command{newValidate(s), newExpand(s), newExport(s), newSchema(s)}
}
