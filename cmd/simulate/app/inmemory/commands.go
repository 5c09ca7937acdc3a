// Package inmemory has the commands for a cluster in memory: one that starts it, and those that do to it what kubectl cannot, such as letting a
// zone fail. The API server is in a program of its own, simulate-cluster, so that simulate has no part of it; see module cluster.
package inmemory

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// Commands returns the commands, as help lists them. The function serve runs a cluster: [StartProgram], or the API server itself in a program that
// has one.
func Commands(s command.Streams, serve Serve) []*cobra.Command {
	return []*cobra.Command{newCluster(s, serve), newFail(s), newRestore(s), newAdvance(s), newStep(s), newSave(s), newFork(s), newWhy(s)}
}
