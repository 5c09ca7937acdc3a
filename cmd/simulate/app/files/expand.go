package files

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/loader"
)

func newExpand(s command.Streams) *cobra.Command {
	var files []string
	var ops input.Operators
	var format string
	var all, strict bool
	cmd := &cobra.Command{
		Use:   "expand -f FILE...",
		Short: "Print the objects that operators create from custom resources",
		Long: `Print the objects that operators create from the custom resources in files, and those of KafScale's own chart. A prefix on each
rule shows who set it. The other commands expand every resource that they read in the same way, and accept this output.

Warnings name the fields of a resource that have no effect, and the unpublished values that were assumed.`,
		Example: `  simulate expand -f cluster.yaml
  simulate expand -f cluster.yaml --kafscale-release rel --kafscale-values values.yaml
  simulate expand -f cluster.yaml --all | simulate run --cluster nodes.yaml -f -`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(expandFormats, format) {
				return exit.Usage(cmd, "-o %s: unknown format: use one of %s", format, strings.Join(expandFormats, ", "))
			}
			opts, err := ops.Options()
			if err != nil {
				return exit.InvalidInput(err)
			}
			if len(files) == 0 && !cmd.Flags().Changed("kafscale-release") && !cmd.Flags().Changed("kafscale-values") {
				return exit.Usage(cmd, "nothing to expand; give files with -f, or the options of an operator's chart")
			}
			type expanded struct {
				made   *operator.Result
				others []manifest.Object
			}
			found, err := exit.CallInterruptibly(cmd.Context(), func() (found expanded, err error) {
				found.made, found.others, err = loader.Expand(s.In, files, opts, strict)
				return found, err
			})
			if err != nil {
				return exit.InvalidInput(err)
			}
			if len(found.made.Made) == 0 && !all {
				return exit.Usage(cmd, "nothing to expand: the files contain no resource of a known operator (see docs/operators.md); add one, or give --all to print the other objects")
			}
			if !all {
				found.others = nil
			}
			return operator.Write(s.Out, found.made, found.others, format)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "read resources from this `FILE`, folder or glob, or - for standard input (repeatable)")
	cmd.Flags().BoolVar(&all, "all", false, "also print the other objects of the files, as the API server stores them")
	cmd.Flags().StringVarP(&format, "output", "o", expandFormats[0], "output `FORMAT`: "+strings.Join(expandFormats, ", "))
	output.CompleteValues(cmd, "output", expandFormats)
	input.RegisterStrict(cmd, &strict)
	ops.Register(cmd)
	return cmd
}

var expandFormats = []string{"yaml", "json"}
