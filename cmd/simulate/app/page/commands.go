// Package page has the commands that show the playground.
package page

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// Commands returns the commands, as help lists them.
func Commands(s command.Streams) []*cobra.Command {
	return []*cobra.Command{newServe(s), newSite(s), newEngine(s)}
}
