package input

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The titles of flags that a command's help lists apart, in this order.
const (
	connectionGroup = "Cluster connection"
	nodesGroup      = "Made-up nodes"
	autoscalerGroup = "Cluster Autoscaler"
	schedulerGroup  = "Scheduler and API server"
	operatorsGroup  = "Operators"
)

var groups = []string{connectionGroup, nodesGroup, autoscalerGroup, schedulerGroup, operatorsGroup}

// group is the annotation of a flag that has its title.
const group = "group"

// grouped has help list the flags that register adds below the title.
func grouped(cmd *cobra.Command, title string, register func()) {
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	register()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] {
			_ = cmd.Flags().SetAnnotation(f.Name, group, []string{title}) // the flag is there
		}
	})
}

// GroupFlags has the help of all commands list the flags of each group apart.
func GroupFlags(root *cobra.Command) {
	usage := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		sets := map[string]*pflag.FlagSet{}
		hide := func(hidden bool) {
			for _, set := range sets {
				set.VisitAll(func(f *pflag.Flag) { f.Hidden = hidden })
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			for _, title := range f.Annotations[group] {
				if sets[title] == nil {
					sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
				}
				sets[title].AddFlag(f)
			}
		})
		hide(true)
		err := usage(cmd)
		hide(false)
		for _, title := range groups {
			if set := sets[title]; set != nil && err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStderr(), "\n%s:\n%s", title, set.FlagUsages())
			}
		}
		return err
	})
}
