package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
)

// shells lists the shells for which cobra writes completion scripts.
var shells = []struct {
	name  string
	write func(root *cobra.Command, out io.Writer) error
}{
	{"bash", func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) }},
	{"zsh", (*cobra.Command).GenZshCompletion},
	{"fish", func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) }},
	{"powershell", (*cobra.Command).GenPowerShellCompletionWithDesc},
}

func newCompletion(s command.Streams) *cobra.Command {
	var names []string
	for _, shell := range shells {
		names = append(names, shell.name)
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a shell completion script",
		Long:  fmt.Sprintf("Print the script that completes commands and flags in %s.", strings.Join(names, ", ")),
		Example: `  source <(simulate completion bash)
  simulate completion zsh > "${fpath[1]}/_simulate"
  simulate completion fish | source`,
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usage(cmd, "got %d shells; give one of %s", len(args), strings.Join(names, ", "))
			}
			for _, shell := range shells {
				if shell.name == args[0] {
					return shell.write(cmd.Root(), s.Out)
				}
			}
			return exit.Usage(cmd, "unknown shell %q: use one of %s", args[0], strings.Join(names, ", "))
		},
	}
}
