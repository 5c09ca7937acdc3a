package basic

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/ask/claim"
	askexplain "github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/explain"
	"github.com/faultline/faultline/pkg/scenario"
)

// explainPods is how many pods of a workload are explained by default.
const explainPods = 5

func newExplain(s command.Streams) *cobra.Command {
	in := input.Flags{Federated: true}
	var of askexplain.Question
	var nodes []string
	var out output.Flags
	var timeout command.Timeout
	var narrative bool
	var proof command.Proof
	cmd := &cobra.Command{
		Use:   "explain TYPE/NAME|NAME [SCENARIO | MANIFEST...]",
		Short: "Show why pods are where they are, or Pending, and what would change that",
		Long: `Run a scenario and show, for a pod or the pods of a workload, what every plugin decided about every node, which rule gave which
points, the smallest changes that would have sent the pod elsewhere, what each of its rules does, and which changes would
place a Pending pod, with their price. Each of these changes was run on the real scheduler. Of a custom resource the pods of what its operator makes are
explained. In a federation Karmada's decision comes first and, where it refuses the workload, with which single change it would not.`,
		Example: `  simulate explain deploy/lorem-ipsum-deployment --step soft-region-3
  simulate explain pod web-3 scenario.yaml --node worker-2
  simulate explain pod/web-3 scenario.yaml --narrative
  simulate explain flinkdeployment/pipeline-c scenarios/karmada/flink-ha --step third
  simulate explain statefulset/db -n shop --cluster dump.json -f db.yaml -o json`,
		ValidArgsFunction: input.Completion{Kinds: cluster.WorkloadKinds, Resources: askexplain.Resources}.Complete,
		RunE: command.Question[explain.Report]{
			Input: &in, Output: &out, Formats: explain.Formats, Timeout: &timeout,
			Check: func(c *command.Call) error {
				if narrative && out.Options.Quiet {
					return c.Usage("-q and --narrative cannot be used together; give one of them")
				}
				if narrative && out.Format != "text" {
					return c.Usage("--narrative has no effect on -o %s, which always includes the narrative; leave it out", out.Format)
				}
				return proof.Check(c)
			},
			Write: func(w io.Writer, found *explain.Report, format string, opts report.Options) error {
				opts.Story = narrative
				return explain.Formats.Write(w, found, format, opts)
			},
			Ask: func(c *command.Call) (*explain.Report, error) {
				scenarios, err := explainArguments(c, &of)
				if err != nil {
					return nil, err
				}
				loaded, err := c.Load(scenarios)
				if err != nil {
					return nil, err
				}
				var noWorkload error // why the bare name is not that of a workload
				if of.Kind == "" {
					var workload cluster.Ref
					if workload, noWorkload = in.Namespace.FindWorkload(loaded, of.Name); noWorkload == nil {
						of.Ref = workload
					} else {
						of.Kind = "Pod"
					}
				}
				if err := of.FollowTarget(loaded); err != nil {
					return nil, c.Usage("nothing to explain: %s", err)
				}
				if err := explainResource(c.Command, loaded, &of); err != nil {
					return nil, err
				}
				if namespace, name, found := strings.Cut(of.Name, "/"); found && !loaded.Federated() && of.Namespace == "" {
					of.Namespace, of.Name = namespace, name // a report names a pod so
				}
				if !out.Options.All {
					of.Most = explainPods
				}
				count := c.Bar.Counts("runs")
				result, pods, more, err := askexplain.Pods(c.Context(), loaded, of, askexplain.Options{
					Progress: func(done, total int) { count("explaining", done, total) },
				})
				var missing *askexplain.NotFoundError
				notFound, stopped := errors.As(err, &missing), err
				switch {
				case notFound && noWorkload != nil:
					return nil, c.Usage("%s: no pod has this name, and %s", of.Name, noWorkload)
				case notFound:
					stopped = nil
				}
				if stopped != nil && !(exit.Interrupted(stopped) && len(pods) > 0) { // nothing is explained before the pods' scheduling cycles are known
					return nil, stopped
				}
				about := of
				if len(pods) > 0 {
					about.Namespace = pods[0].Owner.Namespace
				}
				notMade, preempted := askexplain.FindNotMade(result, about), askexplain.Preemptions(result, about)
				var gaps []askexplain.Gap
				if stopped == nil {
					if err := askexplain.FixRefused(c.Context(), result, notMade, askexplain.Options{}); err != nil {
						return nil, err
					}
					if gaps, err = askexplain.FindGaps(c.Context(), result, about, askexplain.Options{}); err != nil {
						return nil, err
					}
				}
				if of.Kind == "Pod" && len(pods) > 0 {
					about.Ref = pods[0].Owner
				}
				step, decided := askexplain.FindDecision(result, about)
				if notFound && decided == nil {
					var in string
					switch {
					case len(notMade) > 0:
						in = notMade[0].Step
					case len(preempted) > 0:
						in = preempted[0].Step
					case len(gaps) > 0:
						in = gaps[0].Step
					default:
						return nil, c.Usage("%s", nothingToExplain(missing))
					}
					if step, err = input.FindStep(c.Command, result, in); err != nil {
						return nil, err
					}
				}
				after := step
				if !notFound {
					if step, err = input.FindStep(c.Command, result, pods[0].Step); err != nil {
						return nil, err
					}
				}
				if err := input.CheckNodes(c.Command, step.State, nodes); err != nil {
					return nil, err
				}
				found := explain.New(result, pods, more, nodes, c.ToolVersion)
				found.NotMade, found.Gaps = notMade, gaps
				found.AddPreempted(preempted)
				if decided != nil {
					takings, tried, err := askexplain.FindTakings(c.Context(), result, after, decided)
					if err != nil {
						return nil, err
					}
					found.SetBinding(after.Name, decided, takings, tried)
				}
				if stopped != nil {
					return found, stopped
				}
				var claims []claim.Claim
				for i := range pods {
					if pods[i].Step == step.Name {
						claims = append(claims, pods[i].Claims()...)
					}
				}
				return found, proof.Prove(c, loaded.CutAfter(step.Name), scenarios, claims, &found.Head)
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	flags := cmd.Flags()
	in.Namespace.Register(cmd, false)
	flags.StringVar(&of.Step, "step", "", "the `STEP` whose placements are explained (default the last that placed the pod)")
	flags.StringArrayVar(&nodes, "node", nil, "`NAME` of a node to explain why the pod is not there (repeatable)")
	flags.BoolVar(&narrative, "narrative", false, "describe the pod's way through the scheduling cycle in sentences")
	proof.Register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, explain.Formats.Names(), "the line of each pod that says where it goes", "explain every pod of the workload, and list every node")
	return cmd
}

// explainArguments splits the arguments into the target, which it stores in of, and the scenario, in either order.
func explainArguments(c *command.Call, of *askexplain.Question) (scenarios []string, err error) {
	of.Namespace = c.Input.Namespace.Name
	targets, scenarios := input.SplitTargets(c.Args)
	switch {
	case len(targets) > 1:
		return nil, c.Usage("got both %s and %s; give one pod or workload", targets[0], targets[1])
	case len(targets) == 1:
		ref, err := c.Input.Namespace.ParseTarget(c.Command, targets[0])
		of.Kind, of.Namespace, of.Name = ref.Kind, ref.Namespace, ref.Name
		return scenarios, err
	}
	target, files := input.SplitResource(scenarios)
	if target == "" {
		if of.Name, files = input.SplitName(scenarios); of.Name != "" {
			return files, nil
		}
		return nil, c.NoObjectError(scenarios, "nothing to explain", "name a pod or a workload as kind/name, for example pod/web-0", cluster.WorkloadKinds)
	}
	ref, err := c.Input.Namespace.ParseTarget(c.Command, target)
	of.Kind, of.Namespace, of.Name = ref.Kind, ref.Namespace, ref.Name
	return files, err
}

// explainResource replaces the target's kind by that of the custom resource which it names, if it is one.
func explainResource(cmd *cobra.Command, s *scenario.Scenario, of *askexplain.Question) error {
	target := of.Kind + "/" + of.Name
	if _, _, err := scenario.ParseTarget(target); err == nil {
		return nil
	}
	var kinds, names []string
	for _, resource := range askexplain.Resources(s) {
		kinds = append(kinds, strings.ToLower(resource.Kind)+"/"+resource.Name)
		if input.IsKind(of.Kind, resource.Kind) && (of.Namespace == "" || resource.Namespace == of.Namespace) {
			if resource.Name == of.Name {
				of.Kind = resource.Kind
				return nil
			}
			names = append(names, resource.Name)
		}
	}
	switch {
	case len(names) > 0:
		return exit.Usage(cmd, "the scenario has no %s %s; %s", of.Kind, of.Name, scenario.ListChoices(of.Name, names))
	case len(kinds) > 0:
		return exit.Usage(cmd, "nothing to explain: %q is neither a pod nor a workload nor a custom resource of the scenario; of the latter %s", target, scenario.ListChoices(target, kinds))
	}
	_, _, err := scenario.ParseTarget(target)
	return exit.Usage(cmd, "nothing to explain: %s", err)
}

// nothingToExplain says that no such pod was considered, and lists pods with similar names, or the workloads.
func nothingToExplain(missing *askexplain.NotFoundError) string {
	if len(missing.Like) > 0 {
		var like []string
		for _, ref := range missing.Like {
			like = append(like, cluster.KubectlArgument(ref.Namespace, ref.String()))
		}
		return missing.Error() + "; " + scenario.ListChoices(cluster.KubectlArgument(missing.Question.Namespace, missing.Question.String()), like)
	}
	if missing.Why != "" {
		return missing.Error()
	}
	if len(missing.Workloads) == 0 {
		return missing.Error() + ", or at any other pod; give a step that places pods"
	}
	var names []string
	for _, w := range missing.Workloads[:min(input.MaxNames, len(missing.Workloads))] {
		names = append(names, cluster.KubectlArgument(w.Namespace, w.String()))
	}
	if len(missing.Workloads) > input.MaxNames {
		names = append(names, "…")
	}
	return fmt.Sprintf("%s; it considered pods of %s", missing, strings.Join(names, ", "))
}
