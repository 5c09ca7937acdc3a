package operation

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askdrain "github.com/faultline/faultline/pkg/ask/drain"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/report/drain"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

func newDrain(s command.Streams) *cobra.Command {
	var in input.Flags
	var step, selector string
	var out output.Flags
	var proof command.Proof
	options := world.DrainOptions{DrainOptions: node.DrainOptions{IgnoreDaemonSets: true}}
	cmd := &cobra.Command{
		Use:   "drain [SCENARIO | MANIFEST...] NODE... | -l SELECTOR",
		Short: "Show what kubectl drain would do to nodes, and whether it finishes",
		Long: `Run a scenario to its end, then drain nodes as kubectl drain --ignore-daemonsets does: cordon them all, and evict their pods
node by node in the order given. If the drain does not finish, look for an order that does. What keeps it from its end is shown also
where -n names another namespace.`,
		Example: `  simulate drain scenario.yaml node/worker2
  simulate drain dump.json worker1 worker2 --delete-emptydir-data
  simulate drain --context prod -l pool=general
  simulate drain --cluster nodes.yaml -f app.yaml node/worker2 --force -o json`,
		ValidArgsFunction: input.CompleteTargets([]string{"Node"}),
		RunE: command.Question[drain.Report]{
			Input: &in, Output: &out, Formats: drain.Formats, Check: proof.Check,
			Ask: func(c *command.Call) (*drain.Report, error) {
				scenarios, nodes, err := drainArguments(c, selector != "")
				if err != nil {
					return nil, err
				}
				matches := labels.Nothing()
				if selector != "" {
					if matches, err = scenario.ParseSelector(selector); err != nil {
						return nil, c.Usage("--selector: %w", err)
					}
				}
				result, err := c.Run(scenarios)
				if err != nil {
					return nil, err
				}
				last, err := input.FindStep(c.Command, result, step)
				if err != nil {
					return nil, err
				}
				for _, of := range last.State.Nodes {
					if matches.Matches(labels.Set(of.Labels)) && !slices.Contains(nodes, of.Name) {
						nodes = append(nodes, of.Name)
					}
				}
				if len(nodes) == 0 {
					return nil, c.Usage("--selector: no node has labels that match %q; give a label of the nodes", selector)
				}
				if err := errors.Join(input.CheckNodes(c.Command, last.State, nodes), in.Namespace.Check(c.Command, "pod", input.NamespacesIn(result))); err != nil {
					return nil, err
				}
				found, err := drainNodes(c, result, last, nodes, options)
				if err != nil {
					return nil, err
				}
				at := result.Scenario
				if step != "" {
					at = at.CutAfter(step)
				}
				unproved := proof.Prove(c, at, scenarios, found.Claims(options), &found.Head)
				if only := in.Namespace.Listed(); only != "" {
					found = found.InNamespace(only)
				}
				return found, unproved
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	in.RegisterExplain(cmd)
	in.Namespace.Register(cmd, true)
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "also drain the nodes whose labels match this `SELECTOR`, as kubectl drain does")
	cmd.Flags().BoolVar(&options.Force, "force", false, "also evict pods without a controller, which nothing replaces")
	cmd.Flags().BoolVar(&options.DeleteEmptyDirData, "delete-emptydir-data", false, "also evict pods with emptyDir volumes, whose data is lost")
	cmd.Flags().StringVar(&step, "step", "", "the `STEP` after which nodes are drained (default the last)")
	proof.Register(cmd)
	out.Register(cmd, drain.Formats.Names(), "the answer, on one line", "list every pod, however many there are")
	return cmd
}

// drainArguments splits the arguments into the scenario and the nodes. Next to a cluster, the bare name of a node suffices, as for kubectl
// drain. It is an error to name no node, unless a selector names some.
func drainArguments(c *command.Call, selects bool) (scenarios, nodes []string, err error) {
	targets, scenarios := input.SplitTargets(c.Args)
	for _, target := range targets {
		switch kind, name, _ := scenario.ParseTarget(target); {
		case kind != "Node":
			return nil, nil, c.Usage("%q is not a node; give nodes as node/NAME", target)
		case slices.Contains(nodes, name):
			return nil, nil, c.Usage("%s is given twice", target)
		default:
			nodes = append(nodes, name)
		}
	}
	names, files := input.SplitNames(scenarios)
	given := len(files)+len(c.Input.Cluster)+len(c.Input.Files) > 0 || c.Input.Live(c.Command, files)
	if len(targets) == 0 && given {
		nodes, scenarios = names, files
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				return nil, nil, c.Usage("%s is given twice", name)
			}
		}
	}
	if len(nodes) == 0 && !selects {
		return nil, nil, c.NoObjectError(scenarios, "no node given", "give at least one as node/NAME", []string{"Node"})
	}
	return scenarios, nodes, nil
}

// drainNodes drains the nodes after the step, in the given order. If the drain does not finish, it looks for an order that does.
func drainNodes(c *command.Call, result *simulation.Result, after *simulation.Step, nodes []string, options world.DrainOptions) (*drain.Report, error) {
	w, err := simulation.NewCluster(result.Scenario)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	w.SetHooks(world.Hooks{Record: c.Input.Record()})
	if err := w.Resume(*after.Mark()); err != nil {
		return nil, err
	}
	record := &world.Record{}
	end, drained, err := w.DrainNodes(c.Context(), after.State, nodes, options, record)
	if err != nil {
		return nil, err
	}
	// A blocked pod is blocked in every order, and a single node has no other order.
	blocked := slices.ContainsFunc(drained, func(d world.DrainedNode) bool { return len(d.Blocked) > 0 })
	refused := slices.ContainsFunc(drained, func(d world.DrainedNode) bool { return len(d.Refused) > 0 })
	search := refused && !blocked && len(nodes) > 1
	var order []world.DrainedNode
	if search {
		if order, err = w.FindDrainOrder(c.Context(), *after.Mark(), after.State, nodes, options); err != nil {
			return nil, err
		}
	}
	found := drain.New(result, drained, order, search, c.ToolVersion)
	found.Decided, found.Autoscaling = record.Decided(end), record.Autoscaling
	if found.Causes, err = askdrain.Explain(c.Context(), result.Scenario.Config, end, drained); err != nil || len(order) > 0 {
		return found, err
	}
	found.Fixes, found.Tried, err = askdrain.Fixes(c.Context(), result.UpTo(after.Name), nodes, options)
	return found, err
}
