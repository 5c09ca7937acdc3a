// Package ci has the commands that judge changes of scenarios and manifests.
package ci

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// Commands returns the commands, as help lists them.
func Commands(s command.Streams) []*cobra.Command {
	return []*cobra.Command{newTest(s), newGate(s), newLint(s), newDiff(s), newBench(s)}
}
