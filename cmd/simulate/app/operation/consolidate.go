package operation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askconsolidate "github.com/faultline/faultline/pkg/ask/consolidate"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report/consolidate"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

func newConsolidate(s command.Streams) *cobra.Command {
	var in input.Flags
	var out output.Flags
	var timeout command.Timeout
	var survive input.Survival
	var op operation
	var proof command.Proof
	var pool string
	var keep []string
	drain := scenario.Drain{}
	cmd := &cobra.Command{
		Use:   "consolidate [SCENARIO | MANIFEST...]",
		Short: "Find nodes that can go, with every pod placed again and every budget kept",
		Long: `Run a scenario to its end, then try to remove one node after another, the least used first: cordon it, evict its pods as budgets
allow, let controllers and the scheduler place them again, remove it. A node goes only if its drain ends and no pod is left without a
node; otherwise everything is as before the try, and the report says why the node stays: because of a pod that cannot be evicted, of a
budget, of a volume, of room, or of rules.

With --decider, that program chooses the nodes, such as Karpenter by its consolidation: the report has its commands with their savings,
the nodes that it adds in place of others, and in its words why each other node stays (see docs/karpenter.md).

With --survive, no loss of a domain may strand more pods than it would now; the last nodes that went stay where it would. --steps writes
the drains and removals, in order, as the steps of a scenario, which gives the same. Control planes stay.`,
		Example: `  simulate consolidate dump.json
  simulate consolidate dump.json --survive zone --pool pool=general
  simulate consolidate dump.json --keep worker-1,worker-2 --keep role=ingress --steps fewer.yaml
  simulate consolidate scenario.yaml -o name`,
		RunE: command.Question[consolidate.Report]{
			Input: &in, Output: &out, Formats: consolidate.Formats, Timeout: &timeout,
			Check: func(c *command.Call) error { return errors.Join(survive.Check(c.Command), proof.Check(c)) },
			Ask: func(c *command.Call) (*consolidate.Report, error) {
				s, err := op.load(c)
				if err != nil {
					return nil, err
				}
				if len(s.Deciders) > 0 {
					return consolidateByDecider(c, &in, s, &proof)
				}
				return op.consolidate(c, s, &proof, func(state *cluster.State) (opts askconsolidate.Options, err error) {
					opts.Drain = drain
					if opts.Among, opts.Keep, err = selectNodes(c, state, "pool", pool, keep); err != nil {
						return opts, err
					}
					failing, err := survive.Options(state.Nodes, s)
					if err != nil {
						return opts, c.Usage("%s", err)
					}
					opts.Survive, opts.Mode = failing.Survive, failing.Mode
					return opts, nil
				})
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	flags := cmd.Flags()
	flags.StringVar(&pool, "pool", "", "try only the nodes with this label, as `KEY=VALUE`; instance-type and zone are short keys;\nor those of the node group with this name")
	flags.StringArrayVar(&keep, "keep", nil, "keep these `NODES`: NAME,… or LABEL=VALUE (repeatable)")
	survive.Register(cmd, &in)
	flags.BoolVar(&drain.Force, "force", false, "also evict pods without a controller, which nothing replaces")
	flags.BoolVar(&drain.DeleteEmptyDirData, "delete-emptydir-data", true, "also evict pods with emptyDir volumes, whose data is lost")
	op.register(cmd, "nodes are removed")
	proof.Register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, consolidate.Formats.Names(), "the answer, on one line", "list every node")
	return cmd
}

// consolidate runs the scenario to its end, and finds the nodes that can go, or be free, with the options for the cluster then.
func (o *operation) consolidate(c *command.Call, s *scenario.Scenario, proof *command.Proof, options func(*cluster.State) (askconsolidate.Options, error)) (*consolidate.Report, error) {
	result, err := simulation.Run(c.Context(), s, simulation.Options{Progress: c.Bar.Counts("pods")})
	if err != nil {
		return nil, err
	}
	opts, err := options(result.State())
	if err != nil {
		return nil, err
	}
	counts := c.Bar.Counts("nodes")
	opts.Progress = func(done, total int) { counts(c.Name(), done, total) }
	answer, stopped := rehearse(o, s, func(w *world.Cluster) (*askconsolidate.Answer, []scenario.Step, error) {
		answer, err := askconsolidate.Run(c.Context(), w, result, opts)
		if answer == nil {
			return nil, nil, err
		}
		return answer, answer.Steps, err
	})
	if answer == nil {
		return nil, stopped
	}
	found := consolidate.New(result, answer, c.ToolVersion)
	if stopped != nil {
		return found, stopped
	}
	return found, proof.Prove(c, s, c.Args, answer.Claims(), &found.Head)
}

// consolidateByDecider lets the scenario's deciders choose which nodes go. Those of the command line begin where the scenario ends.
func consolidateByDecider(c *command.Call, in *input.Flags, s *scenario.Scenario, proof *command.Proof) (*consolidate.Report, error) {
	var problems []error
	for _, name := range []string{"pool", "keep", "force", "delete-emptydir-data", "steps", "survive"} {
		if flag := c.Flags().Lookup(name); flag != nil && flag.Changed {
			problems = append(problems, fmt.Errorf("--%s has no effect with a decider, which chooses the nodes; leave one of them out", name))
		}
	}
	if proof.Runs() {
		problems = append(problems, errors.New("--prove and --proof repeat the steps of an answer, and the nodes that a decider chooses are no steps; leave them out"))
	}
	if err := exit.UsageProblems(c.Command, problems...); err != nil {
		return nil, err
	}
	by := s.Deciders[len(s.Deciders)-1].Name
	if added := in.AddedDeciders(s); len(added) > 0 {
		by = added[len(added)-1].Name
	}
	result, err := simulation.Run(c.Context(), s.BeginDeciders(askconsolidate.DeciderStep, in.AddedDeciders(s)...), simulation.Options{Progress: c.Bar.Counts("pods")})
	if err != nil {
		return nil, err
	}
	answer, err := askconsolidate.DescribeDecider(result, by)
	if err != nil {
		return nil, err
	}
	return consolidate.New(result, answer, c.ToolVersion), nil
}

// selectNodes returns the nodes that the flag selects, none for all nodes, and the nodes that --keep selects.
func selectNodes(c *command.Call, state *cluster.State, flag, pool string, keep []string) (among, kept []string, err error) {
	var problems []error
	selected := func(flag string, nodes scenario.Nodes) []string {
		names, err := world.SelectNodes(state, field.NewPath("nodes"), nodes)
		for _, problem := range world.Problems(err) {
			problems = append(problems, fmt.Errorf("--%s: %w", flag, problem))
		}
		return names
	}
	if pool != "" {
		if selector, err := poolSelector(state, pool); err != nil {
			problems = append(problems, fmt.Errorf("--%s: %w", flag, err))
		} else {
			among = selected(flag, scenario.Nodes{Selector: selector})
		}
	}
	for _, given := range keep {
		nodes := scenario.Nodes{Names: strings.Split(given, ",")}
		if key, value, found := strings.Cut(given, "="); found {
			nodes = scenario.Nodes{Selector: topology.ResolveKey(state.Nodes, key) + "=" + value}
		}
		kept = append(kept, selected("keep", nodes)...)
	}
	slices.Sort(kept)
	return among, slices.Compact(kept), exit.UsageProblems(c.Command, problems...)
}
