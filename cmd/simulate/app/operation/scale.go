package operation

import (
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/report/scale"
	"github.com/faultline/faultline/pkg/simulation"
)

func newScale(s command.Streams) *cobra.Command {
	var in input.Flags
	var out output.Flags
	var proof command.Proof
	cmd := &cobra.Command{
		Use:   "scale [SCENARIO | MANIFEST...]",
		Short: "Show how many nodes the Cluster Autoscaler adds for new pods, what they cost, and which pods get none",
		Long: `Run a scenario to its end with a Cluster Autoscaler, and show how many nodes of which group it adds for the pods that have none
after the last step, what these cost, and which pods stay Pending, with what scheduler and autoscaler say of them. Without new pods it
is about those that are Pending in the cluster.

The node groups are those of the scenario's autoscaler, or those that the nodes' labels name: ` + "eks.amazonaws.com/nodegroup,\n" +
			`cloud.google.com/gke-nodepool, kubernetes.azure.com/agentpool, kops.k8s.io/instancegroup, karpenter.sh/nodepool,
alpha.eksctl.io/nodegroup-name, or the label of --groups-by. A dump does not say how large a group may become; --node-group does.
Prices are those of --node-group, or the annotation faultline.dev/price-per-hour of the nodes.

simulate run --autoscale shows the same step by step, with each pod; docs/operations.md has an example.`,
		Example: `  simulate scale dump.json -f new.yaml
  simulate scale dump.json -f new.yaml --groups-by pool --node-group general=1:50:0.20
  simulate scale dump.json --scale 1.5
  simulate scale scenarios/operations/autoscaler -o json`,
		RunE: command.Question[scale.Report]{
			Input: &in, Output: &out, Formats: scale.Formats, Check: proof.Check,
			Ask: command.AskRun(func(c *command.Call, result *simulation.Result) (*scale.Report, error) {
				ran := run.New(result, make([][]expect.Judged, len(result.Steps)), c.ToolVersion)
				ran.Answer = run.Answer(result)
				found := scale.New(result, ran, c.ToolVersion)
				var err error
				if found.Fixes, err = explain.FixMaxima(c.Context(), result, explain.Options{}); err != nil {
					return nil, err
				}
				return found, proof.Prove(c, result.Scenario, c.Args, found.Claims(result), &found.Head)
			}),
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterScale(cmd)
	in.RegisterChanges(cmd)
	in.Steps.Register(cmd, false)
	in.Namespace.Register(cmd, false)
	proof.Register(cmd)
	out.Register(cmd, scale.Formats.Names(), "the answer alone", "list every pod and node, however many there are")
	return cmd
}
