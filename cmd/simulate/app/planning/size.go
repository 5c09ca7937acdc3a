package planning

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/ask/cronjob"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report/size"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// defaultTries is the default of --tries.
const defaultTries = 300

func newSize(s command.Streams) *cobra.Command {
	var in input.Flags
	var survive input.Survival
	var step, catalogue string
	var cronJobs []string
	var out output.Flags
	var timeout command.Timeout
	var proof command.Proof
	var opts capacity.SizeOptions
	cmd := &cobra.Command{
		Use:   "size [SCENARIO | MANIFEST...]",
		Short: "Find the fewest or cheapest nodes that fit everything, even if a zone fails",
		Long: `Find how many nodes of each group a scenario needs, so that every pod has a node after its last step and, with --survive, comes
back when any one domain of the level fails. A group is the nodes of the cluster that differ only in their names and places in
the topology; the cluster needs just one node of each group in each of its zones. The number is the same in all zones of a
group, unless --free is given. Control planes and cordoned nodes stay as they are. Pods that no number of nodes places, or brings back,
are set aside with the reason. With --survive it also says whether the cluster is safe as it is, and which nodes it lacks if not.

If all nodes have prices (--prices, the annotation faultline.dev/price-per-hour, or pricePerHour of a synthetic node group), size
finds the cheapest nodes, otherwise the fewest. The report shows what goes wrong with one node fewer. Pods that are already bound, such as
those of a dump, are placed again.

With an autoscaler, of the scenario or with --autoscale, it also says to how many nodes that comes by itself.

With --catalogue, the nodes of each group can be of any types in a file, in any mix. They keep the labels and taints of the group.`,
		Example: `  simulate size scenario.yaml
  simulate size scenario.yaml --survive zone --group worker
  simulate size dump.json --group general --catalogue types.yaml
  simulate size --cluster one-of-each.yaml -f app.yaml --survive zone --free -o json
  simulate size dump.json --survive zone --proof size.yaml`,
		RunE: command.Question[size.Report]{
			Input: &in, Output: &out, Formats: size.Formats, Timeout: &timeout,
			Check: func(c *command.Call) error {
				if opts.Most < 1 {
					return c.Usage("--tries: %d is less than 1; give a number of clusters", opts.Most)
				}
				return errors.Join(survive.Check(c.Command), proof.Check(c))
			},
			Ask: command.AskScenario(func(c *command.Call, loaded *scenario.Scenario) (_ *size.Report, err error) {
				if step != "" {
					loaded = loaded.CutAfter(step)
				}
				if catalogue != "" {
					if opts.Catalogue, err = loader.ReadCatalogue(catalogue, loader.Options{FS: output.ProgressFS{Bar: c.Bar}}); err != nil {
						return nil, exit.InvalidInput(err)
					}
				}
				loaded, running, err := withCronJobs(c, loaded, cronJobs)
				if err != nil {
					return nil, err
				}
				var nodes []*v1.Node
				for _, obj := range loaded.Cluster {
					if node, ok := obj.(*v1.Node); ok {
						nodes = append(nodes, node)
					}
				}
				if opts.Options, err = survive.Options(nodes, loaded); err != nil {
					return nil, c.Usage("%s", err)
				}
				opts.Less = !c.Flags().Changed("tries")
				opts.Progress = c.Bar.Counts("clusters")
				sizing, stopped := capacity.Size(c.Context(), loaded, opts)
				var wrong *capacity.InputError
				if errors.As(stopped, &wrong) {
					return nil, c.Usage("%s", wrong)
				} else if sizing == nil {
					return nil, stopped
				}
				if len(opts.Survive) > 0 && stopped == nil {
					result, err := simulation.Run(c.Context(), capacity.Base(loaded, ""), simulation.Options{Progress: c.Bar.Counts("pods")})
					if err == nil {
						opts.Progress = c.Bar.Counts("levels")
						sizing.Safety, err = capacity.CheckSafety(c.Context(), result, opts.Options)
					}
					if exit.Interrupted(err) {
						stopped, sizing.Partial = err, "interrupted before it was known whether the cluster is safe now"
					} else if err != nil {
						return nil, err
					}
				}
				for _, c := range cronjob.All((&cluster.State{}).With(loaded.Objects()...)) {
					if slices.Contains(running, cluster.Ref{Kind: "CronJob", Namespace: c.Namespace, Name: c.Name}) {
						sizing.CronJobs = append(sizing.CronJobs, c)
					}
				}
				found := size.New(loaded, nodes, sizing, c.ToolVersion)
				if stopped != nil || !proof.Requested(c) {
					return found, stopped
				}
				of, claims, err := sizing.Claims()
				if err != nil {
					return nil, err
				}
				return found, proof.Prove(c, of, c.Args, claims, &found.Head)
			}),
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	in.Namespace.Register(cmd, false)
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.Groups, "group", nil, "`NAME` of a group of nodes to resize, leaving the others alone (repeatable; default all)")
	flags.StringVar(&catalogue, "catalogue", "", "find the cheapest mix of the types of nodes in this `FILE`, in the place of the nodes of each group")
	flags.BoolVar(&opts.Free, "free", false, "let the number of nodes of a group differ from zone to zone")
	flags.IntVar(&opts.Most, "tries", defaultTries, "maximum `NUMBER` of clusters to try\n(default 300, or fewer on a large cluster)")
	registerWithCronJobs(cmd, &cronJobs)
	survive.Register(cmd, &in)
	flags.StringVar(&step, "step", "", "the `STEP` after which everything must be placed (default the last)")
	proof.Register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, size.Formats.Names(), "the summary", "")
	return cmd
}
