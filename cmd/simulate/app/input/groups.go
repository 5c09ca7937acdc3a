package input

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Titles of flag groups in a command's help, in the order in which help prints them.
const (
	connectionGroup = "Cluster connection"
	nodesGroup      = "Made-up nodes"
	autoscalerGroup = "Cluster Autoscaler"
	decidersGroup   = "Programs that decide"
	schedulerGroup  = "Scheduler and API server"
	operatorsGroup  = "Operators"
)

var groupTitles = []string{connectionGroup, nodesGroup, autoscalerGroup, decidersGroup, schedulerGroup, operatorsGroup}

// groupAnnotation is the annotation of a flag that holds the title of its group.
const groupAnnotation = "group"

// registerGroup calls register, and lets help list the flags that it adds below the title.
func registerGroup(cmd *cobra.Command, title string, register func()) {
	annotated(cmd, groupAnnotation, title, register)
}

// GroupFlags makes the help of every command list the flags of each group below a title.
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
			for _, title := range f.Annotations[groupAnnotation] {
				if sets[title] == nil {
					sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
				}
				sets[title].AddFlag(f)
			}
		})
		hide(true)
		err := usage(cmd)
		hide(false)
		for _, title := range groupTitles {
			if set := sets[title]; set != nil && err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStderr(), "\n%s:\n%s", title, set.FlagUsages())
			}
		}
		return err
	})
}
