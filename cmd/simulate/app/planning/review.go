package planning

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askreview "github.com/faultline/faultline/pkg/ask/review"
	"github.com/faultline/faultline/pkg/report/review"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

func newReview(s command.Streams) *cobra.Command {
	var in input.Flags
	var out output.Flags
	var timeout command.Timeout
	var opts askreview.Options
	var since string
	var earlier *review.Report
	ask := func(c *command.Call, result *simulation.Result) (*review.Report, error) {
		state := result.State()
		var unknown []error
		for _, level := range opts.Levels {
			key := topology.ResolveKey(state.Nodes, level)
			if domains, _ := topology.Domains(state.Nodes, key); len(domains) == 0 {
				unknown = append(unknown, fmt.Errorf("--level: no node has the label %s; give one of %s", key, words.Or(topology.Levels(state.Nodes, result.Scenario.LevelKeys...))))
			}
		}
		if err := exit.UsageProblems(c.Command, unknown...); err != nil {
			return nil, err
		}
		counts := c.Bar.Counts("")
		opts.Progress = func(what string, done, total int) { counts(what, done, total) }
		answer, stopped := askreview.At(c.Context(), result, opts)
		if answer == nil {
			return nil, stopped
		}
		found := review.New(result, answer, c.ToolVersion)
		if earlier != nil && stopped == nil {
			found.CompareWith(since, earlier)
		}
		return found, stopped
	}
	cmd := &cobra.Command{
		Use:   "review [SCENARIO | MANIFEST...]",
		Short: "Review a cluster on one page: room, losses, risks, cost, and what has changed",
		Long: `Look at a cluster as who looks after it does once a week: how much room each group of nodes has, and how much of it a workload
can use; what the loss of each zone would leave without a node; which rules do not do what they say, with the fix; what the nodes
cost. With --since, the review that -o json wrote the last time, it says what has changed.`,
		Example: `  simulate review dump.json --prices prices.yaml
  simulate review dump.json --report html=review.html --report json=2026-48.json
  simulate review dump.json --since 2026-47.json`,
		RunE: command.Question[review.Report]{
			Input: &in, Output: &out, Formats: review.Formats, Timeout: &timeout,
			Ask: func(c *command.Call) (*review.Report, error) {
				if since != "" { // read first, so that an unreadable file costs no time
					data, err := c.ReadReport(since)
					if err != nil {
						return nil, err
					}
					if earlier, err = review.Decode(since, data); err != nil {
						return nil, exit.InvalidInput(err)
					}
				}
				return command.AskRun(ask)(c)
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.Levels, "level", nil, "topology `KEY` whose domains fail one after the other, such as rack; cluster, region, zone and node are short names\n(repeatable; default the widest with several domains)")
	flags.StringVar(&since, "since", "", "say what has changed since the review that -o json wrote to this `FILE`")
	timeout.Register(cmd)
	out.Register(cmd, review.Formats.Names(), "the answer, on one line", "list every group, change and risk")
	return cmd
}
