package operation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askrebalance "github.com/faultline/faultline/pkg/ask/rebalance"
	"github.com/faultline/faultline/pkg/report/rebalance"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

func newRebalance(s command.Streams) *cobra.Command {
	var in input.Flags
	var out output.Flags
	var timeout command.Timeout
	var opts askrebalance.Options
	var op operation
	var goal string
	var policy struct {
		file     string
		interval time.Duration
	}
	cmd := &cobra.Command{
		Use:   "rebalance [SCENARIO | MANIFEST...]",
		Short: "Find pods that land better if you delete them",
		Long: `Run a scenario to its end, then look for pods whose deletion makes the spread better, without a descheduler: delete one whose workload
has too many in a domain, if its budget allows that, let controllers and the scheduler place the next one, and keep the move only if it
lands better. The report lists the pods in order, and says of the other workloads why no deletion helps.

With --policy the real descheduler chooses the pods, round by round, until it comes to rest or begins a round anew for ever; its program
faultline-descheduler must be beside simulate or in the PATH (see docs/descheduler.md).

The goal is what is counted, for each workload of two or more pods:
  skew     the pods that a domain of --over has beyond an even spread
  radius   the pods that the worst loss of a domain takes beyond what it would take of an even spread
  soft     the pods for which a rule that the scheduler only prefers is not met`,
		Example: `  simulate rebalance dump.json
  simulate rebalance dump.json --goal radius --over zone --moves 5
  simulate rebalance scenario.yaml --goal soft --steps moves.yaml
  simulate rebalance dump.json --policy policy.yaml
  simulate rebalance dump.json -o name`,
		RunE: command.Question[rebalance.Report]{
			Input: &in, Output: &out, Formats: rebalance.Formats, Timeout: &timeout,
			Check: func(c *command.Call) error {
				var problems []error
				if !slices.Contains(askrebalance.Goals(), goal) {
					problems = append(problems, fmt.Errorf("--goal: %q is no goal; give one of %s", goal, strings.Join(askrebalance.Goals(), ", ")))
				}
				if opts.Moves < 1 {
					problems = append(problems, fmt.Errorf("--moves: %d is less than 1; give the largest number of pods to delete", opts.Moves))
				}
				if goal == string(askrebalance.Soft) && c.Flags().Changed("over") {
					problems = append(problems, fmt.Errorf("--over has no effect with --goal soft, whose rules name their levels; leave it out"))
				}
				if policy.file != "" {
					for _, name := range []string{"moves", "steps"} {
						if c.Flags().Changed(name) {
							problems = append(problems, fmt.Errorf("--%s has no effect with --policy, whose descheduler chooses the pods; leave one of them out", name))
						}
					}
				} else if c.Flags().Changed("descheduling-interval") {
					problems = append(problems, errors.New("--descheduling-interval has no effect without --policy; give that, too"))
				}
				if policy.interval <= 0 {
					problems = append(problems, fmt.Errorf("--descheduling-interval: %s is no time above 0", policy.interval))
				}
				return exit.UsageProblems(c.Command, problems...)
			},
			Ask: func(c *command.Call) (*rebalance.Report, error) {
				s, err := op.load(c)
				if err != nil {
					return nil, err
				}
				if policy.file != "" {
					by, err := in.Descheduler(c.Command, policy.file, policy.interval)
					if err != nil {
						return nil, err
					}
					s = s.BeginDeciders(askrebalance.PolicyStep, by)
				}
				result, err := simulation.Run(c.Context(), s, simulation.Options{Progress: c.Bar.Counts("pods")})
				if err != nil {
					return nil, err
				}
				opts := opts
				opts.Goal = askrebalance.Goal(goal)
				if opts.Goal == askrebalance.Soft {
					opts.Level = ""
				} else {
					nodes := result.State().Nodes
					opts.Level = topology.ResolveKey(nodes, opts.Level)
					if domains, _ := topology.Domains(nodes, opts.Level); len(domains) == 0 {
						return nil, c.Usage("--over %s: no node has this label; give one of %s", opts.Level, strings.Join(topology.Levels(nodes, s.LevelKeys...), ", "))
					}
				}
				if policy.file != "" {
					return rebalance.New(result, askrebalance.DescribePolicy(result, opts), c.ToolVersion), nil
				}
				counts := c.Bar.Counts("moves")
				opts.Progress = func(done, total int) { counts("rebalance", done, total) }
				answer, stopped := rehearse(&op, s, func(w *world.Cluster) (*askrebalance.Answer, []scenario.Step, error) {
					answer, err := askrebalance.Run(c.Context(), w, result, opts)
					if answer == nil {
						return nil, nil, err
					}
					return answer, answer.Steps, err
				})
				if answer == nil {
					return nil, stopped
				}
				return rebalance.New(result, answer, c.ToolVersion), stopped
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	flags := cmd.Flags()
	flags.StringVar(&goal, "goal", askrebalance.Goals()[0], "`WHAT` is to become better: "+strings.Join(askrebalance.Goals(), ", "))
	output.CompleteValues(cmd, "goal", askrebalance.Goals())
	flags.StringVar(&opts.Level, "over", "zone", "topology `KEY` over which pods are spread, such as rack; region, zone and node are short names")
	flags.IntVar(&opts.Moves, "moves", 10, "largest `NUMBER` of pods to delete")
	flags.StringVar(&policy.file, "policy", "", "`FILE` of a DeschedulerPolicy (descheduler/v1alpha2), by which the real descheduler chooses the pods")
	flags.DurationVar(&policy.interval, "descheduling-interval", 5*time.Minute, "with --policy: the time from one round to the next, as a `DURATION`")
	op.register(cmd, "pods are deleted")
	timeout.Register(cmd)
	out.Register(cmd, rebalance.Formats.Names(), "the answer, on one line", "list every workload that stays as it is")
	return cmd
}
