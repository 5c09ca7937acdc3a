package app

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/size"
)

// defaultTries is how many clusters size tries.
const defaultTries = 300

func newSize(s streams) *cobra.Command {
	var in input
	var survive survival
	var step string
	var out output
	var opts capacity.SizeOptions
	cmd := &cobra.Command{
		Use:   "size [SCENARIO]",
		Short: "Find the fewest or cheapest nodes on which everything is placed, also while a zone may fail",
		Long: `Search how many nodes of each group a scenario needs, so that every pod has a node after its last step and, with --survive, comes
back when any one domain of the level fails. The nodes of the cluster that are alike but for their names and their places in the
topology make a group; one node of each group in each of its zones is enough. The number is the same in all zones of a group,
unless --free is given. Control planes stay as they are.

Where all nodes have prices (the annotation faultline.dev/price-per-hour, or pricePerHour of a synthetic node group), the cheapest
numbers are searched, otherwise the fewest nodes. The report tells what goes wrong with one node fewer. Pods that are bound to nodes,
as those of a dump, are placed afresh.`,
		Example: `  simulate size scenario.yaml
  simulate size scenario.yaml --survive zone --group worker
  simulate size --cluster one-of-each.yaml -f app.yaml --survive zone --free -o json`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(out.check(cmd), survive.check(cmd)); err != nil {
				return err
			}
			if opts.Most < 1 {
				return usage(cmd, "--tries: %d is less than 1; give a number of clusters", opts.Most)
			}
			loaded, err := in.load(cmd, s, args)
			if err != nil {
				return err
			}
			if err := knownStep(cmd, loaded, step); err != nil {
				return err
			}
			if step != "" {
				loaded = loaded.Until(step)
			}
			var nodes []*v1.Node
			for _, obj := range loaded.Cluster {
				if node, ok := obj.(*v1.Node); ok {
					nodes = append(nodes, node)
				}
			}
			if opts.Options, err = survive.options(nodes, loaded); err != nil {
				return usage(cmd, "%s", err)
			}
			bar := newProgress(s.err)
			bar.unit = "clusters"
			defer bar.done()
			opts.Progress = func(what string, done int) { bar.update(what, done, -1) }
			if err := sched.SetFeatureGates(loaded.FeatureGates); err != nil {
				return err
			}
			sizing, err := capacity.Size(cmd.Context(), loaded, opts)
			var wrong *capacity.InputError
			if errors.As(err, &wrong) {
				return usage(cmd, "%s", wrong)
			} else if err != nil {
				return err
			}
			bar.done()
			found := size.New(loaded, nodes, sizing, opts, version)
			return out.write(s, func(w io.Writer, format string, opts report.Options) error {
				return size.Formats.Write(w, found, format, opts)
			})
		},
	}
	in.register(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.Groups, "group", nil, "`NAME` of a group of nodes whose number may change, and no other (repeatable; default all)")
	flags.BoolVar(&opts.Free, "free", false, "let the number of nodes of a group differ from zone to zone")
	flags.IntVar(&opts.Most, "tries", defaultTries, "`NUMBER` of clusters to try at most")
	survive.register(cmd)
	flags.StringVar(&step, "step", "", "the `STEP` after which everything has to be placed (default the last)")
	out.register(cmd, size.Formats.Names())
	flags.BoolVarP(&out.opts.Quiet, "quiet", "q", false, "the answer alone")
	return cmd
}
