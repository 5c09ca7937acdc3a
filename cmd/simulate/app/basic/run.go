package basic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/outcome"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

func newRun(s command.Streams) *cobra.Command {
	in := input.Flags{Federated: true}
	var out output.Flags
	var timeout command.Timeout
	var base command.Baseline
	var every outcomeFlags
	var onPage pageFailures
	var proof command.Proof
	var step string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "run [SCENARIO | MANIFEST...]",
		Short: "Run a scenario, or place the pods of files on a cluster",
		Long: `Run a scenario step by step, or place the pods of files on a cluster, and report where each pod goes, which pods stay
Pending, and why. The default is the kind walkthrough of inter-pod anti-affinity. Manifests that come without nodes are placed
on nodes that --nodes, --zones, --cpu and --memory describe, by default nine in three zones. A scenario may hold several
clusters under Karmada; the report then also shows what Karmada gives to each of them, and what they cannot run.

With --baseline, print the differences from a stored report instead, in the formats of simulate diff. The exit code is then 3
only if --fail-on asks for it: an expectation that is unmet in both reports is not a difference.

With --outcomes exact, --trials or --until, print every outcome that chance among equal nodes can lead to, as
` + strings.Join(outcome.Formats.Names(), ", ") + `. Expectations are then not checked.`,
		Example: `  simulate run
  simulate run scenarios/kind-walkthrough
  simulate run scenarios/kind-walkthrough --step soft-region-3
  simulate run -f app.yaml --nodes 9 --zones 3 --cpu 8 --memory 32Gi
  simulate run deployment.yaml service.yaml --kind-name affinity
  simulate run --cluster kind-config.yaml -f deployment.yaml
  simulate run scenario.yaml --outcomes exact
  simulate run scenario.yaml --trials 1000 --arrivals random
  simulate run scenario.yaml --baseline main.json --fail-on pending,expectations -o markdown
  helm template x ./chart | simulate run --cluster nodes.yaml -f -
  ` + input.KubectlGet + ` |
    simulate run --cluster - -f extra.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := onPage.check(cmd, &out); err != nil {
				return err
			}
			if every.anyFlagGiven(cmd) {
				return every.question(&in, &out, &timeout).Run(s)(cmd, args)
			}
			q := command.Question[run.Report]{
				Input: &in, Output: &out, Formats: run.Formats, Timeout: &timeout,
				Check: func(c *command.Call) error {
					if base.File != "" && step != "" {
						return c.Usage("--step prints one step, and a baseline is compared with all; leave out one of them")
					}
					if proof.Runs() && base.File != "" {
						return c.Usage("--prove is about one run, and a baseline is another; leave out one of them")
					}
					return errors.Join(base.Check(c, run.Kind), proof.Check(c))
				},
				Ask: func(c *command.Call) (*run.Report, error) {
					_, found, err := reportOn(c, verbose, func(*run.Step) bool { return true })
					return found, err
				},
			}
			if base.File != "" {
				return command.CompareToBaseline(&base, q, run.Decode, diff.New).Run(s)(cmd, args)
			}
			q.Ask = func(c *command.Call) (*run.Report, error) {
				result, found, stopped := reportOn(c, verbose, func(step *run.Step) bool {
					return out.Any(func(format string, opts report.Options) bool { return run.ShowsCycles(format, opts, step) })
				})
				if found == nil {
					return nil, stopped
				}
				if last := len(result.Steps) - 1; proof.Runs() && step != "" && last >= 0 && step != result.Steps[last].Name {
					return nil, c.Usage("--prove is about the last step, %q; leave out --step", result.Steps[last].Name)
				}
				if stopped == nil && proof.Requested(c) {
					with, claims := run.Claims(result)
					if stopped = proof.Prove(c, with, c.Args, claims, &found.Head); stopped != nil {
						return found, stopped
					}
				}
				if step != "" {
					kept, err := input.FindStep(c.Command, result, step)
					if err != nil {
						return nil, err
					}
					found.KeepStep(kept.Name)
					result.Steps = []simulation.Step{*kept}
				}
				c.Page = found.Page()
				if out.Has("html") && stopped == nil {
					failures, err := onPage.analyze(c, result)
					if err != nil {
						return nil, err
					}
					if failures != nil {
						c.Page.Data.Blast = failures
					}
				}
				return found, command.UnmetUnless(found.Met() && found.Accepted(), stopped)
			}
			return q.Run(s)(cmd, args)
		},
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	in.RegisterExplain(cmd)
	in.RegisterChanges(cmd)
	in.Steps.Register(cmd, false)
	in.Namespace.Register(cmd, true)
	base.Register(cmd, run.Kind)
	every.register(cmd)
	proof.Register(cmd)
	onPage.register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, run.Formats.Names(), "the summary, one line per step", "list every pod, however many there are")
	cmd.Flags().StringVar(&step, "step", "", "the `STEP` that is printed (default all)")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print to standard error how many scheduling cycles were spared questions; see --plain")
	return cmd
}

// reportOn runs the scenario and checks its expectations. If it is interrupted, the report has what is known.
func reportOn(c *command.Call, verbose bool, cycles func(*run.Step) bool) (*simulation.Result, *run.Report, error) {
	result, stopped := c.Run(c.Args)
	if result == nil {
		return nil, nil, stopped
	}
	if verbose {
		c.Bar.Clear()
		cycles := result.Cycles
		fmt.Fprintf(c.Err, "%s: %d spared questions that plugins had answered before, %d asked everything\n",
			words.Count(cycles.Kept+cycles.Plain, "scheduling cycle"), cycles.Kept, cycles.Plain)
	}
	if err := c.Input.Namespace.Check(c.Command, "pod", input.NamespacesIn(result)); err != nil {
		return nil, nil, err
	}
	judged, err := judge(c, result)
	if exit.Interrupted(err) { // but the placements are known
		stopped, judged = err, make([][]expect.Judged, len(result.Steps))
		if result.Partial == "" {
			result.Partial = "interrupted before the expectations were checked"
		}
	} else if err != nil {
		return nil, nil, err
	}
	shown := result
	if only := c.Input.Namespace.Listed(); only != "" {
		shown = report.InNamespace(result, only)
		shown.Notes = append(slices.Clip(shown.Notes), "shown are the pods of namespace "+only+" alone.")
	}
	found := run.New(shown, judged, c.ToolVersion)
	found.Answer = run.Answer(result)
	found.AddCycles(shown, cycles)
	causes, err := cause.ExplainRun(c.Context(), result)
	if err != nil {
		return nil, nil, err
	}
	found.AddCauses(causes)
	return result, found, stopped
}

// judge checks the scenario's expectations, and shows progress through the failures that they name.
func judge(c *command.Call, result *simulation.Result) ([][]expect.Judged, error) {
	return expect.Judge(c.Context(), result, c.Bar.Counts("failures"))
}
