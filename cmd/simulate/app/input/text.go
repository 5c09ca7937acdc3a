package input

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/playground"
)

// Text reads what the arguments and flags name, as text: a scenario, or a scenario that is made of files. It is nil if they name nothing.
func (i *Flags) Text(cmd *cobra.Command, stdin io.Reader, args []string) (*playground.Input, error) {
	made, err := i.nodes.options(cmd)
	if err != nil {
		return nil, err
	}
	files, aScenario, err := i.named(cmd, nil, args, made.Flags...)
	if err != nil {
		return nil, err
	}
	if len(i.Cluster) > 0 && len(made.Flags) > 0 {
		return nil, exit.Usage(cmd, "%s: the cluster is given; leave out these flags, or --cluster", strings.Join(made.Flags, ", "))
	}
	var text playground.Input
	switch {
	case aScenario:
		text, err = playground.Read(args[0])
	case len(i.Cluster)+len(files)+len(made.Flags) > 0:
		text, err = playground.Compose(stdin, i.Cluster, files, made)
	default:
		return nil, nil
	}
	return &text, err
}
