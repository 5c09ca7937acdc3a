package app

import (
	"strings"

	"github.com/spf13/cobra"
)

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print help for a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd, strings.Join(args, " "))
			}
			found.InitDefaultHelpFlag() // cobra adds it only to the command that it runs
			return found.Help()
		},
	}
}
