package app

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/sweep"
	"github.com/faultline/faultline/pkg/scenario"
)

func newSweep(s streams) *cobra.Command {
	var in input
	var look numbers
	var out output
	var results string
	var shard, shards int
	var job jobFlags
	cmd := &cobra.Command{
		Use:   "sweep SCENARIO",
		Short: "Run a scenario for every value of its parameters: a grid of what ifs",
		Long: `Run a scenario once for each point of its sweep, on all cores, and tell what stays Pending, skew, blast radius and cost at each,
and which points are not beaten by another. Points share the steps that they begin with.

With --results finished points are kept in a folder, under names made of all that they depend on: a sweep that was interrupted
goes on, and one that was extended carries out what is new. With --shards and --shard it carries out a part; simulate merge
puts the reports of the parts together.

With --job it writes the manifest of a Kubernetes Job, whose pods carry out a shard each; its comments say how it is applied, and
how the reports are collected.`,
		Example: `  simulate sweep scenarios/weights
  simulate sweep scenario.yaml --results .sweep -o csv > points.csv
  simulate sweep scenario.yaml --shards 8 --shard 3 -o json > shard-3.json
  simulate sweep scenario.yaml --job --results-claim sweeps --image registry.example.com/faultline:1.0 > job.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, "%d scenarios are given, and a sweep is of one", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(cmd); err != nil {
				return err
			}
			if err := job.check(cmd); err != nil {
				return err
			}
			sharded := cmd.Flags().Changed("shards") || cmd.Flags().Changed("shard")
			if shards < 1 || shard < 0 || shard >= shards {
				return usage(cmd, "--shards %d --shard %d: give the number of shards, 1 or more, and one of them, counted from 0", shards, shard)
			}
			loaded, err := in.load(cmd, s, args)
			if err != nil {
				return err
			}
			if len(loaded.Points) == 0 {
				return usage(cmd, "the scenario %s has no sweep; give its parameters and what they change under sweep:", loaded.Name)
			}
			var about []cluster.Ref
			for i := range loaded.Points {
				about = append(about, loaded.Points[i].Workloads...)
			}
			opts, err := look.options(cmd, loaded, about)
			if err != nil {
				return err
			}
			if job.wanted {
				return job.write(cmd, s, loaded, shards)
			}
			found, err := runSweep(cmd, s, loaded, results, shard, shards, opts)
			if err != nil {
				return err
			}
			if sharded {
				found.Shard = &sweep.Shard{Index: shard, Count: shards}
			}
			return out.write(s, func(w io.Writer, format string, opts report.Options) error {
				return sweep.Formats.Write(w, found, format, opts)
			})
		},
	}
	in.registerConfiguration(cmd)
	look.register(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&results, "results", "", "keep finished points in this `FOLDER`, and take from it those that are there")
	flags.IntVar(&shards, "shards", 1, "`NUMBER` of parts that the sweep is carried out in (with --job default 64, or as many as there are points)")
	flags.IntVar(&shard, "shard", 0, "`NUMBER` of the part to carry out, from 0")
	job.register(cmd)
	out.register(cmd, sweep.Formats.Names())
	flags.BoolVar(&out.opts.All, "all", false, "list every point, however many there are")
	return cmd
}

// runSweep carries out the points of a shard.
func runSweep(cmd *cobra.Command, s streams, loaded *scenario.Scenario, results string, shard, shards int, opts whatif.Options) (*sweep.Report, error) {
	var store *whatif.Store
	var err error
	if results != "" {
		if store, err = whatif.OpenStore(results); err != nil {
			return nil, fmt.Errorf("--results: %w", err)
		}
	}
	keys, err := whatif.NewKeys(loaded, opts, version)
	if err != nil {
		return nil, err
	}
	bar := newProgress(s.err)
	bar.unit = "points"
	defer bar.done()
	opts.Progress = func(done, total int) { bar.update("sweeping", done, total) }
	base, err := whatif.RunBase(cmd.Context(), loaded, opts)
	if err != nil {
		return nil, err
	}
	from, to := whatif.Shard(len(loaded.Points), shard, shards)
	found, known, err := whatif.Sweep(cmd.Context(), base, loaded.Points[from:to], keys, store, opts)
	if err != nil {
		return nil, err
	}
	bar.done()
	if known > 0 {
		fmt.Fprintf(s.err, "simulate: %d of %d points were in %s\n", known, to-from, manifest.Clean(results))
	}
	return sweep.New(base, loaded, from, found, nil, keys.Base(), opts, version), nil
}

func newMerge(s streams) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "merge REPORT...",
		Short: "Put the reports of a sweep's shards together",
		Long: `Put the reports of a sweep's shards together, in any order, written by simulate sweep --shards with -o json or yaml. The result is
that of a sweep which was carried out in one go, byte for byte. A shard that is there twice does no harm, and one that is missing
is told.`,
		Example: `  simulate merge shard-*.json
  simulate merge shard-*.json -o csv > points.csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(cmd); err != nil {
				return err
			}
			if len(args) == 0 {
				return usage(cmd, "no report is given; give those of all shards")
			}
			var parts []*sweep.Report
			for _, file := range args {
				data, err := manifest.ReadFile(nil, nil, file)
				if err != nil {
					return asInput(err)
				}
				part, err := report.Decode[sweep.Report](file, data, sweep.Kind)
				if err != nil {
					return asInput(err)
				}
				parts = append(parts, part)
			}
			whole, err := sweep.Merge(args, parts)
			if err != nil {
				return asInput(err)
			}
			return out.write(s, func(w io.Writer, format string, opts report.Options) error {
				return sweep.Formats.Write(w, whole, format, opts)
			})
		},
	}
	out.register(cmd, sweep.Formats.Names())
	cmd.Flags().BoolVar(&out.opts.All, "all", false, "list every point, however many there are")
	return cmd
}
