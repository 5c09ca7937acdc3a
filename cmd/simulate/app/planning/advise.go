package planning

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askadvice "github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report/advice"
	"github.com/faultline/faultline/pkg/report/gains"
	"github.com/faultline/faultline/pkg/scenario"
)

const (
	adviceTrials    = 20
	maxAdviceTrials = 10_000 // an advice keeps the metrics of all runs until the last one ends
	adviceTop       = 5
	adviceTopOfAll  = 20
)

func newAdvise(s command.Streams) *cobra.Command {
	var in input.Flags
	var out output.Flags
	var timeout command.Timeout
	var selector string
	var all bool
	var proof command.Proof
	trials, top := adviceTrials, adviceTop
	one := command.Question[advice.Report]{
		Input: &in, Output: &out, Formats: advice.Formats, Timeout: &timeout,
		Check: func(c *command.Call) error {
			var problems []error
			if trials < 0 || trials > maxAdviceTrials {
				problems = append(problems, c.Usage("--trials: %d is out of range; give 0 to %d runs", trials, maxAdviceTrials))
			}
			if selector != "" && !all {
				problems = append(problems, c.Usage("--selector is for every workload; give --all, and name none"))
			}
			if all && proof.Runs() {
				problems = append(problems, c.Usage("--prove and --proof are about the best rule of one workload; name it"))
			}
			if top < 1 {
				problems = append(problems, c.Usage("--top: %d is less than 1; give the number of candidates to show", top))
			}
			return errors.Join(errors.Join(problems...), proof.Check(c))
		},
		Ask: func(c *command.Call) (*advice.Report, error) {
			target, scenarios, err := adviseArguments(c)
			if err != nil {
				return nil, err
			}
			loaded, err := c.Load(scenarios)
			if err != nil {
				return nil, err
			}
			owner, err := adviseTarget(c.Command, loaded, target, &in.Namespace)
			if err != nil {
				return nil, err
			}
			found, stopped := askadvice.ForWorkload(c.Context(), loaded, owner, askadvice.Options{
				Trials: trials, Fewer: !c.Flags().Changed("trials"), Seed: max(loaded.Ties.Seed, 1), Progress: c.Bar.Counts("runs"),
			})
			if found == nil {
				return nil, stopped
			}
			if out.Options.All {
				top = len(found.Candidates)
			}
			report := advice.New(found, advice.ScenarioArguments{Input: in.RepeatArguments(c.Command, scenarios), Ties: in.RepeatTies(c.Command)}, top, c.ToolVersion)
			if stopped != nil {
				return report, stopped
			}
			return report, proof.Prove(c, loaded, scenarios, found.Claims(), &report.Head)
		},
	}
	every := command.Question[gains.Report]{
		Input: &in, Output: &out, Formats: gains.Formats, Timeout: &timeout,
		Check: one.Check,
		Ask: func(c *command.Call) (*gains.Report, error) {
			if !c.Flags().Changed("top") {
				top = adviceTopOfAll
			}
			return adviseAll(c, selector, top)
		},
	}
	cmd := &cobra.Command{
		Use:   "advise TYPE/NAME|NAME|--all [SCENARIO | MANIFEST...]",
		Short: "Recommend a rule that keeps the pods of a workload apart",
		Long: `Try the rules that can keep the pods of a workload apart: none, preferred and required anti-affinity, and topology spread
constraints, over every level of the nodes' topology and over pairs of levels; for a workload with one replica also two replicas. Each
candidate is run to find what stays Pending, what the loss of each domain takes and strands, whether a rolling update finishes, and how
much random ties change the result. The table has the best candidates, and the one to take comes with its patch, what it does not
solve, and the commands that repeat the runs; --all shows the others.

Without a workload, --all advises every one: each change that can gain something is tried alone, and the workloads are ranked by how
much less the loss of one domain takes for what the change costs, those that cost no capacity first.`,
		Example: `  simulate advise deploy/web scenario.yaml
  simulate advise web --cluster dump.json --all
  simulate advise --all dump.json -n shop
  simulate advise --all dump.json -o patch
  simulate advise statefulset/db -n shop --cluster nodes.yaml -f db.yaml --trials 100 -o markdown`,
		ValidArgsFunction: input.CompleteTargets(askadvice.Kinds),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all = out.Options.All && !namesTarget(args); all {
				out.Options.All = false // --all selects every workload here
				return every.Run(s)(cmd, args)
			}
			return one.Run(s)(cmd, args)
		},
	}
	in.Register(cmd)
	in.RegisterFresh(cmd)
	flags := cmd.Flags()
	in.Namespace.Register(cmd, false)
	flags.StringVarP(&selector, "selector", "l", "", "with --all and no workload, only those whose pods' labels match this `SELECTOR`, such as app=web,tier!=cache")
	flags.IntVar(&trials, "trials", trials, "`NUMBER` of runs with random ties, at most 10000, of each candidate that no other beats; 0 for none\n(default 20, or fewer on a large cluster)")
	flags.IntVar(&top, "top", top, "`NUMBER` of candidates to show, or of workloads with --all (default 20); the rest are only counted")
	proof.Register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, advice.Formats.Names(), "the answer, on one line", "show every candidate; without a workload, advise every one, those first that gain most for\nwhat they cost")
	return cmd
}

// namesTarget reports whether one of the arguments names a workload.
func namesTarget(args []string) bool {
	targets, rest := input.SplitTargets(args)
	name, _ := input.SplitName(rest)
	target, files := input.SplitResource(rest)
	return len(targets) > 0 || name != "" || target != "" && len(files) > 0
}

// adviseAll finds the best change of every workload.
func adviseAll(c *command.Call, selector string, top int) (*gains.Report, error) {
	asked := askadvice.AllOptions{Namespace: c.Input.Namespace.Name, Progress: c.Bar.Counts("workloads")}
	if selector != "" {
		var err error
		if asked.Selector, err = scenario.ParseSelector(selector); err != nil {
			return nil, c.Usage("--selector: %s", err)
		}
	}
	loaded, err := c.Load(c.Args)
	if err != nil {
		return nil, err
	}
	if loaded.Federated() {
		return nil, c.Usage("advise --all asks about one cluster; give a scenario without a federation")
	}
	var known []string
	for _, obj := range loaded.Objects() {
		if ref := cluster.RefTo(obj); slices.Contains(askadvice.Kinds, ref.Kind) {
			known = append(known, ref.Namespace)
		}
	}
	slices.Sort(known)
	if err := c.Input.Namespace.Check(c.Command, "workload", slices.Compact(known)); err != nil {
		return nil, err
	}
	found, stopped := askadvice.ForAllWorkloads(c.Context(), loaded, asked)
	if found == nil {
		return nil, stopped
	}
	if len(found.Workloads) == 0 {
		return nil, c.Usage("there is no workload with replicas that can be advised; give a Deployment, a StatefulSet, a ReplicaSet or a ReplicationController")
	}
	return gains.New(found, top, c.ToolVersion), stopped
}

// adviseArguments splits the arguments into the target and the scenario, in either order.
func adviseArguments(c *command.Call) (target string, scenarios []string, err error) {
	targets, scenarios := input.SplitTargets(c.Args)
	if len(targets) == 0 { // the input may have only the pods of a controller, whose kind can be any, or the argument is a bare name
		if target, files := input.SplitResource(scenarios); target != "" && len(scenarios) > 1 {
			return target, files, nil
		}
		if name, files := input.SplitName(scenarios); name != "" {
			return name, files, nil
		}
	}
	switch len(targets) {
	case 0:
		return "", nil, c.NoObjectError(scenarios, "no workload given", "name it as kind/name, for example deployment/web, or give --all for every one", askadvice.Kinds)
	case 1:
		return targets[0], scenarios, nil
	}
	return "", nil, c.Usage("got both %s and %s; give one workload", targets[0], targets[1])
}

func adviseTarget(cmd *cobra.Command, s *scenario.Scenario, target string, namespace *input.Namespace) (cluster.Ref, error) {
	if !strings.Contains(target, "/") {
		ref, err := namespace.FindWorkload(s, target)
		if err != nil {
			return ref, exit.Usage(cmd, "%s: %s", target, err)
		}
		target = ref.Namespace + "/" + ref.String()
	}
	ref, err := namespace.ParseTarget(cmd, target)
	if err != nil {
		return ref, err
	}
	kind := ref.Kind
	if _, _, err := scenario.ParseTarget(ref.String()); err == nil && !slices.Contains(askadvice.Kinds, kind) {
		why := map[string]string{
			"DaemonSet": ": a DaemonSet runs one pod on every eligible node, so there is nothing to keep apart",
			"Job":       ": the template of a Job cannot change",
		}[kind]
		return cluster.Ref{}, exit.Usage(cmd, "%s is a %s%s; give a Deployment, a StatefulSet, a ReplicaSet or a ReplicationController", target, kind, why)
	}
	owner, err := s.Workload(namespace.Qualify(target)[0], askadvice.Kinds...)
	return owner, exit.UsageProblems(cmd, err)
}
