package basic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/ask/risk"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// DefaultWorst is the default of --worst: how many failures of each level are recovered from.
const DefaultWorst = 12

// FailureFlags are the flags that select failures and workloads.
type FailureFlags struct {
	levels       []string
	simultaneous int
	mode         string
	recover      bool
	worst        int
	quorum       []string
	step         string
	filter       askblast.Filter
	selector     string
	startTime    time.Duration
	claims       []claim.Claim // claims of the last step that was analyzed
}

func (f *FailureFlags) register(cmd *cobra.Command, in *input.Flags) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.levels, "level", nil, "topology `KEY` whose domains fail, such as rack; cluster, region, zone and node are short names\n(repeatable; default every level of the nodes)")
	flags.IntVar(&f.simultaneous, "simultaneous", 1, "`NUMBER` of domains of a level that fail at once")
	in.AddOverlay("simultaneous", "failures.simultaneous", func(file *scenario.File) { file.Failures.Simultaneous = &f.simultaneous })
	input.RegisterMode(cmd, in, &f.mode, input.Modes[0], "")
	flags.BoolVar(&f.recover, "recover", true, "let the controllers and the scheduler replace the lost pods, to see what comes back")
	in.AddOverlay("recover", "failures.recover", func(file *scenario.File) { file.Failures.Recover = &f.recover })
	flags.IntVar(&f.worst, "worst", DefaultWorst, "`NUMBER` of the worst failures of each level to recover from; 0 for all")
	in.AddOverlay("worst", "failures.worst", func(file *scenario.File) { file.Failures.Worst = &f.worst })
	flags.DurationVar(&f.startTime, "start-time", askblast.DefaultStartTime, "`TIME` that the container of a new pod takes to start, for which a workload is down, too")
	flags.StringArrayVar(&f.quorum, "quorum", nil, "`WORKLOAD` that needs a majority of its pods, as kind/name or namespace/kind/name (repeatable)")
	flags.StringVar(&f.step, "step", "", "the `STEP` after which domains fail (default every step)")
	flags.StringArrayVar(&f.filter.Workloads, "workload", nil, "report only `WORKLOAD`, as kind/name or namespace/kind/name, or NAME if no other has it (repeatable)")
	flags.StringVarP(&f.selector, "selector", "l", "", "report only workloads with a pod whose labels match this `SELECTOR`, such as app=web,tier!=cache")
	flags.IntVar(&f.filter.MinReplicas, "min-replicas", 1, "report only workloads with at least this `NUMBER` of running pods")
}

// check checks the flags that do not depend on the scenario.
func (f *FailureFlags) check(cmd *cobra.Command) error {
	var problems []error
	if f.filter.MinReplicas < 1 {
		problems = append(problems, fmt.Errorf("--min-replicas: %d is less than 1; give the least number of replicas", f.filter.MinReplicas))
	}
	if f.startTime < 0 {
		problems = append(problems, fmt.Errorf("--start-time: %s is negative; give 0s or more", f.startTime))
	}
	if f.selector != "" {
		if selector, err := scenario.ParseSelector(f.selector); err != nil {
			problems = append(problems, fmt.Errorf("--selector: %w", err))
		} else {
			f.filter.Selector = selector.String()
		}
	}
	return exit.UsageProblems(cmd, problems...)
}

func newBlast(s command.Streams) *cobra.Command {
	in := input.Flags{Federated: true}
	var f FailureFlags
	var out output.Flags
	var timeout command.Timeout
	var base command.Baseline
	var proof command.Proof
	cmd := &cobra.Command{
		Use:   "blast [SCENARIO | MANIFEST...]",
		Short: "Show what is lost when a region, zone, rack or node fails, and what comes back",
		Long: `Run a scenario, and after each step fail every failure domain, one at a time. The report shows which replicas, disruption
budgets and quorums are lost, which pods come back and where, which are stranded and why, and which are never replaced. Workloads of
one replica are lost with whatever domain they are in, so they are counted apart.

With --baseline, print the differences from a stored report instead, in the formats of simulate diff.`,
		Example: `  simulate blast scenarios/kind-walkthrough
  simulate blast dump.json --level topology.kubernetes.io/zone --simultaneous 2
  simulate blast dump.json -n shop --min-replicas 2
  simulate blast scenario.yaml --recover=false -o json
  simulate blast scenario.yaml --baseline main.json --fail-on radius,stranded
  simulate blast --cluster nodes.yaml -f app.yaml --mode deleted --worst 20 --quorum statefulset/etcd`,
		RunE: func(cmd *cobra.Command, args []string) error {
			q := command.Question[blast.Report]{
				Input: &in, Output: &out, Formats: blast.Formats, Timeout: &timeout,
				Check: func(c *command.Call) error {
					return errors.Join(f.check(cmd), base.Check(c, blast.Kind), proof.Check(c))
				},
				Ask: command.AskRun(func(c *command.Call, result *simulation.Result) (*blast.Report, error) {
					return f.Analyze(c, result, ptr.Deref(result.Scenario.Failures.Recover, true))
				}),
			}
			if base.File != "" {
				return command.CompareToBaseline(&base, q, blast.Decode, diff.NewBlast).Run(s)(cmd, args)
			}
			q.Ask = command.AskRun(func(c *command.Call, result *simulation.Result) (*blast.Report, error) {
				found, stopped := f.Analyze(c, result, ptr.Deref(result.Scenario.Failures.Recover, true))
				if found != nil && stopped == nil && proof.Requested(c) && (proof.Runs() || f.filter.Empty()) {
					if !f.filter.Empty() {
						return nil, c.Usage("--prove is about all workloads; leave out --workload, --selector, --min-replicas and -n")
					}
					at := result.Scenario
					if f.step != "" {
						at = at.CutAfter(f.step)
					}
					stopped = proof.Prove(c, at, c.Args, f.claims, &found.Head)
				}
				if found == nil || !out.Has("html") {
					return found, stopped
				}
				judged := make([][]expect.Judged, len(result.Steps))
				if stopped == nil { // the page also shows the steps' expectations
					var err error
					if judged, err = judge(c, result); err != nil {
						return nil, err
					}
				}
				ran := run.New(result, judged, c.ToolVersion)
				ran.AddCycles(result, func(*run.Step) bool { return true })
				c.Page = found.Page(ran)
				return found, stopped
			})
			return q.Run(s)(cmd, args)
		},
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	in.RegisterExplain(cmd)
	in.RegisterChanges(cmd)
	in.Steps.Register(cmd, false)
	in.Namespace.Register(cmd, true)
	f.register(cmd, &in)
	base.Register(cmd, blast.Kind)
	proof.Register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, blast.Formats.Names(), "the verdict, a line for each step and level, and why pods do not come back", "list every failure, workload and pod, however many there are")
	return cmd
}

// Analyze fails the domains after each step, or only after the step of --step. If it is interrupted, the report has the steps that are
// done.
func (f *FailureFlags) Analyze(c *command.Call, result *simulation.Result, recover bool) (*blast.Report, error) {
	steps, said := result.Steps, &result.Scenario.Failures
	if f.step != "" {
		step, err := input.FindStep(c.Command, result, f.step)
		if err != nil {
			return nil, err
		}
		steps = []simulation.Step{*step}
	}
	opts := askblast.Options{
		LevelKeys: result.Scenario.LevelKeys, Simultaneous: ptr.Deref(said.Simultaneous, 1), Quorum: c.Input.Namespace.Qualify(f.quorum...),
		Mode: node.FailureMode(cmp.Or(said.Mode, input.Modes[0])), Worst: ptr.Deref(said.Worst, DefaultWorst), Record: c.Input.Record(), StartTime: f.startTime,
	}
	if len(f.quorum) == 0 {
		opts.Quorum = said.Quorum
	}
	levels := f.levels
	if len(levels) == 0 {
		levels = said.Levels
	}
	for _, level := range levels {
		opts.Levels = append(opts.Levels, topology.ResolveKey(result.Scenario.Nodes(), level))
	}
	var err error
	f.filter.Namespace = c.Input.Namespace.Listed()
	if f.filter.Workloads, err = c.Input.Namespace.ParseWorkloads(c.Command, "--workload", result.Scenario, f.filter.Workloads); err != nil {
		return nil, err
	}
	if c.Input.Namespace.All {
		f.filter.Workloads = c.Input.Namespace.Qualify(f.filter.Workloads...)
	}
	if err := f.checkMatches(c.Command, steps, opts); err != nil {
		return nil, err
	}
	count := c.Bar.Counts("failures")
	var all []blast.Blasted
	for i := range steps {
		blasted, err := f.analyzeStep(c.Context(), result.Scenario, &steps[i], opts, recover, count)
		switch {
		case exit.Interrupted(err) && i > 0:
			result.Partial = fmt.Sprintf("interrupted after step %d of %d", i, len(steps))
			return blast.New(result, all, opts, f.filter, recover, c.ToolVersion), err
		case exit.Interrupted(err) && blasted != nil:
			known, all := blasted.Analysis.CountRecovered()
			result.Partial = fmt.Sprintf("interrupted in step 1 of %d, after %d of %s", len(steps), known, words.Pick(all, "1 loss", fmt.Sprintf("%d losses", all)))
			return blast.New(result, []blast.Blasted{*blasted}, opts, f.filter, recover, c.ToolVersion), err
		case exit.Interrupted(err) && recover:
			result.Partial = fmt.Sprintf("interrupted in step 1 of %d, of which it shows what is lost, and not what comes back", len(steps))
			lost, again := f.analyzeStep(context.WithoutCancel(c.Context()), result.Scenario, &steps[i], opts, false, count)
			if again != nil {
				return nil, again
			}
			return blast.New(result, []blast.Blasted{*lost}, opts, f.filter, false, c.ToolVersion), err
		case err != nil:
			return nil, fmt.Errorf("step %q: %w", steps[i].Name, err)
		}
		all = append(all, *blasted)
	}
	if n := len(all); n > 0 {
		f.claims = all[n-1].Analysis.Claims(opts.Mode)
	}
	return blast.New(result, all, opts, f.filter, recover, c.ToolVersion), nil
}

// analyzeStep fails the domains after one step. If it is interrupted, it returns the recoveries that are known, if any.
func (f *FailureFlags) analyzeStep(ctx context.Context, s *scenario.Scenario, step *simulation.Step, opts askblast.Options, recover bool, count func(what string, done, total int)) (*blast.Blasted, error) {
	levels := opts.Levels
	opts = keepPresent(step.State, opts)
	opts.From = step.Mark()
	if !f.filter.Empty() {
		var err error
		if opts.Only, err = f.filter.Select(step.State); err != nil { // there are such workloads only after another step, or [FailureFlags.checkMatches] would have failed
			opts.Only = map[cluster.Ref]bool{}
		}
	}
	analysis := &askblast.Analysis{}
	if len(levels) == 0 || len(opts.Levels) > 0 {
		var err error
		if analysis, err = askblast.Lost(step.State, opts); err != nil {
			return nil, exit.InvalidInput(err)
		}
	}
	blasted := &blast.Blasted{Step: step, Analysis: analysis}
	if recover {
		progress := func(domains string, done, total int) { count("loss of "+domains+" after "+step.Name, done, total) }
		err := askblast.Recover(ctx, step.State, s, analysis, opts, progress)
		if known, _ := analysis.CountRecovered(); exit.Interrupted(err) && known > 0 {
			return blasted, err
		} else if err != nil {
			return nil, err
		}
	}
	if len(s.Failures.Rates) == 0 {
		return blasted, nil
	}
	quorum, err := askblast.Quorums(step.State, opts.Quorum)
	if err != nil {
		return nil, exit.InvalidInput(err)
	}
	blasted.Risk, err = risk.Analyze(ctx, step.State, s.Failures.Rates, risk.Options{Quorum: quorum, Seed: s.Ties.Seed, Only: opts.Only})
	return blasted, exit.InvalidInput(err)
}

// checkMatches returns an error for each level, filter and quorum that matches nothing after any step. Each step uses the ones that match there.
func (f *FailureFlags) checkMatches(cmd *cobra.Command, steps []simulation.Step, opts askblast.Options) error {
	var problems []error
	for _, level := range opts.Levels {
		problem := checkAnyStep(steps, func(state *cluster.State) error {
			_, err := askblast.Lost(state, askblast.Options{Levels: []string{level}, Simultaneous: 1})
			return err
		})
		problems = append(problems, problem)
	}
	problems = append(problems, checkAnyStep(steps, func(state *cluster.State) error {
		_, err := f.filter.Select(state)
		return err
	}))
	for _, name := range opts.Quorum {
		problem := checkAnyStep(steps, func(state *cluster.State) error {
			_, err := askblast.Quorums(state, []string{name})
			return err
		})
		problems = append(problems, problem)
	}
	return exit.UsageProblems(cmd, problems...)
}

// checkAnyStep returns nil if the check succeeds after any step, and otherwise the error of the last step.
func checkAnyStep(steps []simulation.Step, check func(*cluster.State) error) error {
	var last error
	for i := range steps {
		if last = check(steps[i].State); last == nil {
			return nil
		}
	}
	return last
}

// keepPresent returns the options with only the levels and quorums that the state has.
func keepPresent(state *cluster.State, opts askblast.Options) askblast.Options {
	if levels := topology.Levels(state.Nodes, opts.Levels...); len(opts.Levels) > 0 {
		opts.Levels = slices.DeleteFunc(slices.Clone(opts.Levels), func(key string) bool { return !slices.Contains(levels, key) })
	}
	opts.Quorum = slices.DeleteFunc(slices.Clone(opts.Quorum), func(name string) bool {
		_, err := askblast.Quorums(state, []string{name})
		return err != nil
	})
	return opts
}
