package planning

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askcapacity "github.com/faultline/faultline/pkg/ask/capacity"
	askplan "github.com/faultline/faultline/pkg/ask/plan"
	"github.com/faultline/faultline/pkg/report/plan"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

func newPlan(s command.Streams) *cobra.Command {
	var in input.Flags
	var survive input.Survival
	var step, hpa string
	var proof command.Proof
	var out output.Flags
	var timeout command.Timeout
	cmd := &cobra.Command{
		Use:   "plan [SCENARIO | MANIFEST...] --survive KEY",
		Short: "Find the nodes to add and the rules to change so that the loss of a zone strands nobody",
		Long: `Run a scenario to its end, then lose each domain of the level, one at a time, and find what to add now so that every pod that runs
today runs again elsewhere: nodes of the groups that are there, per zone, and patches for pods that no node helps. Nothing moves before the
loss: the plan begins with today's placement. It is tried as a whole before it is printed, from today's cluster and for each loss.

New nodes take DaemonSets' pods, and pods that wait today, first. Their number is enough, with the patches; fewer may be, down to the bound that
the first line names, by arithmetic alone. "And no fewer" means that both are equal. Pods that nothing replaces after a loss need no room; they are counted.

With an autoscaler, of the scenario or with --autoscale, it adds nodes for pods that wait before and after each loss, within the limits of
its groups. The plan is what is needed besides, in advance; the report says how many nodes the autoscaler adds after one loss, and which
maxima have to be raised for the plan. No number of nodes is then said to be too few.`,
		Example: `  simulate plan dump.json --survive zone
  simulate plan dump.json --survive zone=eu-west-1b
  simulate plan dump.json --survive zone --hpa max
  simulate plan dump.json --survive zone --autoscale --node-group general=3:40
  simulate plan scenario.yaml --survive zone --survive node --mode out-of-service
  simulate plan --context prod --survive zone -o json`,
		RunE: command.Question[plan.Report]{
			Input: &in, Output: &out, Formats: plan.Formats, Timeout: &timeout,
			Check: func(c *command.Call) error {
				if len(survive.Levels) == 0 {
					return c.Usage("--survive is missing; give the level of which any domain may fail, such as --survive zone")
				}
				if hpa != hpaNow && hpa != hpaMax {
					return c.Usage("--hpa: %q is neither now nor max", hpa)
				}
				return errors.Join(survive.Check(c.Command), proof.Check(c))
			},
			Ask: func(c *command.Call) (*plan.Report, error) {
				loaded, err := loadOneCluster(c, step)
				if err != nil {
					return nil, err
				}
				if hpa == hpaMax {
					loaded = loaded.AppendQuestion(scenario.Step{Name: "peak", Peak: &scenario.Peak{}})
				}
				result, err := simulation.Run(c.Context(), askcapacity.Base(loaded, ""), simulation.Options{Progress: c.Bar.Counts("pods")})
				if err != nil {
					return nil, err
				}
				failing, err := survive.Options(result.State().Nodes, result.Scenario)
				if err != nil {
					return nil, c.Usage("%s", err)
				}
				answer, stopped := askplan.Find(c.Context(), result, askplan.Options{Survive: failing.Survive, Mode: failing.Mode, Progress: c.Bar.Counts("losses")})
				if answer == nil {
					return nil, stopped
				}
				found := plan.New(result, answer, c.ToolVersion)
				if stopped != nil {
					return found, stopped
				}
				return found, proof.Prove(c, loaded, c.Args, answer.Claims(), &found.Head)
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	survive.Register(cmd, &in)
	cmd.Flags().StringVar(&step, "step", "", "the `STEP` after which domains are lost (default the last)")
	cmd.Flags().StringVar(&hpa, "hpa", hpaNow, "replicas of workloads with a HorizontalPodAutoscaler: `now`, or max for its maxReplicas")
	output.CompleteValues(cmd, "hpa", []string{hpaNow, hpaMax})
	proof.Register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, plan.Formats.Names(), "the answer, on one line", "list every workload")
	return cmd
}

// Values of --hpa: how many replicas a workload with a HorizontalPodAutoscaler has.
const hpaNow, hpaMax = "now", "max"

// loadOneCluster reads the scenario of the command line up to a step, or whole without one. A federation is an error.
func loadOneCluster(c *command.Call, step string) (*scenario.Scenario, error) {
	loaded, err := c.Load(c.Args)
	if err != nil {
		return nil, err
	}
	if step != "" {
		loaded = loaded.CutAfter(step)
	}
	if loaded.Federated() {
		return nil, c.Usage("%s asks about one cluster; give a scenario without a federation", c.Name())
	}
	return loaded, nil
}
