package planning

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/sweep"
	"github.com/faultline/faultline/pkg/scenario"
)

func newSweep(s command.Streams) *cobra.Command {
	in := input.Flags{Federated: true}
	var figures figureFlags
	var out output.Flags
	var timeout command.Timeout
	var results string
	var shard, shards int
	var job jobFlags
	cmd := &cobra.Command{
		Use:   "sweep SCENARIO",
		Short: "Run a scenario for every combination of its parameters",
		Long: `Run a scenario once for each point of its sweep, on all cores, and report Pending pods, skew, blast radius and cost at each
point, and which points no other beats. Points share the steps that they begin with.

With --results, finished points are kept in a folder, under names derived from everything that they depend on. An interrupted
sweep continues there, and an extended one runs only the new points. With --shards and --shard, run only a part; simulate merge
joins the parts' reports.

With --job, print the manifest of a Kubernetes Job whose pods run one shard each. Its comments say how to apply it and how to
collect the reports.`,
		Example: `  simulate sweep scenarios/weights
  simulate sweep scenario.yaml --results .sweep -o csv > points.csv
  simulate sweep scenario.yaml --shards 8 --shard 3 -o json > shard-3.json
  simulate sweep scenario.yaml --job --results-claim sweeps --image registry.example.com/faultline:1.0 > job.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usage(cmd, "got %d scenarios; give one", len(args))
			}
			return nil
		},
		RunE: command.Question[sweep.Report]{
			Input: &in, Output: &out, Formats: sweep.Formats, Timeout: &timeout,
			Check: func(c *command.Call) error {
				if shards < 1 || shard < 0 || shard >= shards {
					return c.Usage("--shards %d --shard %d: give at least 1 shard, and one of them, counted from 0", shards, shard)
				}
				return job.check(c.Command)
			},
			Ask: command.AskScenario(func(c *command.Call, loaded *scenario.Scenario) (_ *sweep.Report, err error) {
				if figures.workloads, err = in.Namespace.QualifyWorkloads(c.Command, "--workload", loaded, figures.workloads); err != nil {
					return nil, err
				}
				if loaded.Name == scenario.CommandLine {
					return nil, c.Usage("%s: manifests have no sweep; give a scenario that has its parameters, and what they change, under sweep:", c.Args[0])
				}
				if len(loaded.Points) == 0 {
					return nil, c.Usage("scenario %s has no sweep; add its parameters, and what they change, under sweep:", loaded.Name)
				}
				var about []cluster.Ref
				for i := range loaded.Points {
					about = append(about, loaded.Points[i].Workloads...)
				}
				opts, err := figures.options(c.Command, loaded, about)
				if err != nil {
					return nil, err
				}
				if job.wanted {
					return nil, job.write(c.Command, s, loaded, shards)
				}
				found, stopped := runSweep(c, loaded, results, shard, shards, opts)
				if found == nil {
					return nil, stopped
				}
				if c.Flags().Changed("shards") || c.Flags().Changed("shard") {
					found.Shard = &sweep.Shard{Index: shard, Count: shards}
				}
				return found, stopped
			}),
		}.Run(s),
	}
	in.AssumeNodes() // manifests have no sweep; an error says so
	in.RegisterConfiguration(cmd)
	in.RegisterAutoscaler(cmd)
	in.RegisterFresh(cmd)
	figures.register(cmd, &in, false)
	flags := cmd.Flags()
	in.Namespace.Register(cmd, false)
	flags.StringVar(&results, "results", "", "keep finished points in this `FOLDER`, and reuse those in it")
	flags.IntVar(&shards, "shards", 1, "`NUMBER` of parts to split the sweep into (with --job, default 64, or one per point if there are fewer)")
	flags.IntVar(&shard, "shard", 0, "`NUMBER` of the part to run, from 0")
	job.register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, sweep.Formats.Names(), "the answer, on one line", "list every point, however many there are")
	return cmd
}

// runSweep runs the points of a shard. If it is interrupted, the report has the points that are done.
func runSweep(c *command.Call, loaded *scenario.Scenario, results string, shard, shards int, opts whatif.Options) (*sweep.Report, error) {
	var store *whatif.Store
	var err error
	if results != "" {
		if store, err = whatif.OpenStore(results); err != nil {
			return nil, fmt.Errorf("--results: %w", err)
		}
	}
	keys, err := whatif.NewKeys(loaded, opts, c.ToolVersion)
	if err != nil {
		return nil, err
	}
	count := c.Bar.Counts("points")
	base, err := whatif.RunBase(c.Context(), loaded, opts)
	if err != nil {
		return nil, err
	}
	from, to := whatif.Shard(len(loaded.Points), shard, shards)
	points := loaded.Points[from:to]
	opts.Progress = func(last, done, total int) { count(points[last].Name, done, total) }
	found, known, err := whatif.Sweep(c.Context(), base, points, keys, store, opts)
	if found == nil {
		return nil, err
	}
	c.Bar.Done()
	if known > 0 {
		fmt.Fprintf(c.Err, "simulate: %d of %d points were in %s\n", known, to-from, manifest.Clean(results))
	}
	return sweep.New(base, loaded, from, found, nil, keys.Base(), opts, c.ToolVersion), err
}

func newMerge(s command.Streams) *cobra.Command {
	var out output.Flags
	cmd := &cobra.Command{
		Use:   "merge REPORT...",
		Short: "Merge the reports of a sweep's shards",
		Long: `Merge the reports that simulate sweep --shards wrote with -o json or yaml, in any order. The result is byte for byte that of a
sweep in one run. A shard may be given twice; a missing one is an error.`,
		Example: `  simulate merge shard-*.json
  simulate merge shard-*.json -o csv > points.csv`,
		RunE: command.Question[sweep.Report]{
			Output: &out, Formats: sweep.Formats,
			Ask: func(c *command.Call) (*sweep.Report, error) {
				if len(c.Args) == 0 {
					return nil, c.Usage("no report given; give those of all shards")
				}
				c.Streams.In = nil // standard input can be read only once
				var parts []*sweep.Report
				for _, file := range c.Args {
					data, err := c.ReadReport(file)
					if err != nil {
						return nil, err
					}
					part, err := report.Decode[sweep.Report](file, data, sweep.Kind)
					if err != nil {
						return nil, exit.InvalidInput(err)
					}
					parts = append(parts, part)
				}
				whole, err := sweep.Merge(c.Args, parts)
				return whole, exit.InvalidInput(err)
			},
		}.Run(s),
	}
	out.Register(cmd, sweep.Formats.Names(), "the answer, on one line", "list every point, however many there are")
	return cmd
}
