package app

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/scenario/loader"
)

func newExpand(s streams) *cobra.Command {
	var files []string
	var ops operators
	var format string
	var all bool
	cmd := &cobra.Command{
		Use:   "expand -f FILE...",
		Short: "Print what operators make of custom resources",
		Long: `Print the objects that operators make of the custom resources in files, and of their own charts: those of KafScale. What stands
before a rule tells who set it. The other commands do the same with every resource that they read, so that the output is input to them.

Warnings tell what of a resource has no effect; what was assumed is not published.`,
		Example: `  simulate expand -f cluster.yaml
  simulate expand -f cluster.yaml --kafscale-release rel --kafscale-values values.yaml
  simulate expand -f cluster.yaml --all | simulate run --cluster nodes.yaml -f -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(expandFormats, format) {
				return usage(cmd, "-o %s: there is no such format; give %s", format, strings.Join(expandFormats, ", "))
			}
			opts, err := ops.options()
			if err != nil {
				return asInput(err)
			}
			if len(files) == 0 && !cmd.Flags().Changed("kafscale-release") && len(ops.kafscale.values) == 0 {
				return usage(cmd, "nothing is given to expand; give files with -f, or the options of an operator's chart")
			}
			result, others, err := loader.Expand(s.in, files, opts)
			if err != nil {
				return asInput(err)
			}
			if len(result.Made) == 0 && !all {
				return usage(cmd, "nothing is made of it: the files hold no resource of an operator that is known (see docs/operators.md); give one, or --all to print the other objects")
			}
			if !all {
				others = nil
			}
			return operator.Write(s.out, result, others, format)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "resources from this `FILE`, folder or glob, or - for standard input (repeatable)")
	cmd.Flags().BoolVar(&all, "all", false, "print the other objects of the files, too, as the API server has them")
	cmd.Flags().StringVarP(&format, "output", "o", expandFormats[0], "`FORMAT` of what is printed: "+strings.Join(expandFormats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(expandFormats, cobra.ShellCompDirectiveNoFileComp))
	ops.register(cmd)
	return cmd
}

var expandFormats = []string{"yaml", "json"}
