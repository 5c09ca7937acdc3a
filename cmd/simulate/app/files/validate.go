package files

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

func newValidate(s command.Streams) *cobra.Command {
	opts := s.LoaderOptions()
	cmd := &cobra.Command{
		Use:     "validate SCENARIO...",
		Short:   "Check scenarios and every file they name, and report all problems at once",
		Example: `  simulate validate scenarios/*/`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usage(cmd, "no scenario given; give scenario files, or folders that contain a %s", loader.FileName)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var valid strings.Builder
			var problems []error
			for _, path := range args {
				loaded, err := exit.CallInterruptibly(cmd.Context(), func() (*scenario.Scenario, error) { return loader.Load(path, opts) })
				if exit.Interrupted(err) {
					return err
				}
				if err != nil {
					problems = append(problems, err)
					continue
				}
				steps := "steps"
				if len(loaded.Steps) == 1 {
					steps = "step"
				}
				fmt.Fprintf(&valid, "%s: valid (%d %s)\n", path, len(loaded.Steps), steps)
			}
			if len(problems) > 0 {
				return exit.InvalidInput(errors.Join(problems...))
			}
			_, err := io.WriteString(s.Out, valid.String())
			return err
		},
	}
	input.RegisterStrict(cmd, &opts.Strict)
	input.RegisterRelease(cmd, &opts)
	return cmd
}
