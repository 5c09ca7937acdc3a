package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/risk"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// defaultWorst is how many failures the report lists one by one.
const defaultWorst = 12

// modes are the ways in which nodes can fail, the default first.
var modes = []string{string(node.Unreachable), string(node.OutOfService), string(node.Deleted)}

// failures are the flags that select the failures. They take precedence over the scenario.
type failures struct {
	levels       []string
	simultaneous int
	mode         string
	recover      bool
	worst        int
	quorum       []string
	step         string
	filter       askblast.Filter
	selector     string
}

func (f *failures) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.levels, "level", nil, "topology `KEY` whose domains fail, such as rack; cluster, region, zone and node are short names\n(repeatable; default every level of the nodes)")
	flags.IntVar(&f.simultaneous, "simultaneous", 1, "`NUMBER` of domains of a level that fail at once")
	flags.StringVar(&f.mode, "mode", modes[0], "`MODE` in which nodes fail: "+strings.Join(modes, ", "))
	flags.BoolVar(&f.recover, "recover", true, "let the controllers and the scheduler replace the lost pods, to see what comes back")
	flags.IntVar(&f.worst, "worst", defaultWorst, "`NUMBER` of the worst failures of each level to recover from; 0 for all")
	flags.StringArrayVar(&f.quorum, "quorum", nil, "`WORKLOAD` that needs a majority of its pods, as kind/name or namespace/kind/name (repeatable)")
	flags.StringVar(&f.step, "step", "", "the `STEP` after which domains fail (default every step)")
	flags.StringArrayVar(&f.filter.Workloads, "workload", nil, "report only `WORKLOAD`, as kind/name or namespace/kind/name, or NAME if no other has it (repeatable)")
	flags.StringVarP(&f.filter.Namespace, "namespace", "n", "", "report only workloads of this `NAMESPACE`")
	flags.StringVarP(&f.selector, "selector", "l", "", "report only workloads with a pod whose labels match this `SELECTOR`, such as app=web,tier!=cache")
	flags.IntVar(&f.filter.MinReplicas, "min-replicas", 1, "report only workloads with at least this `NUMBER` of running pods")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
}

// check checks the flags that do not depend on the scenario.
func (f *failures) check(cmd *cobra.Command) error {
	var problems []error
	if !slices.Contains(modes, f.mode) {
		problems = append(problems, fmt.Errorf("--mode: unknown mode %q: use one of %s", f.mode, strings.Join(modes, ", ")))
	}
	if f.simultaneous < 1 {
		problems = append(problems, fmt.Errorf("--simultaneous: %d is less than 1; give the number of domains that fail at once", f.simultaneous))
	}
	if f.filter.MinReplicas < 1 {
		problems = append(problems, fmt.Errorf("--min-replicas: %d is less than 1; give the least number of replicas", f.filter.MinReplicas))
	}
	if f.selector != "" {
		var err error
		if f.filter.Selector, err = scenario.ParseSelector(f.selector); err != nil {
			problems = append(problems, fmt.Errorf("--selector: %w", err))
		}
	}
	if f.worst < 0 {
		problems = append(problems, fmt.Errorf("--worst: %d is negative; give a number of failures, or 0 for all", f.worst))
	}
	if err := errors.Join(problems...); err != nil {
		return usage(cmd, "%s", err)
	}
	return nil
}

// merge takes what the flags leave open from the scenario.
func (f *failures) merge(cmd *cobra.Command, s *scenario.Scenario) {
	given := cmd.Flags().Changed
	if !given("level") {
		f.levels = s.Failures.Levels
	}
	levels := make([]string, len(f.levels))
	for i, word := range f.levels {
		levels[i] = topology.Key(word)
	}
	f.levels = levels
	if !given("simultaneous") && s.Failures.Simultaneous != nil {
		f.simultaneous = *s.Failures.Simultaneous
	}
	if !given("mode") && s.Failures.Mode != "" {
		f.mode = s.Failures.Mode
	}
	if !given("recover") && s.Failures.Recover != nil {
		f.recover = *s.Failures.Recover
	}
	if !given("worst") && s.Failures.Worst != nil {
		f.worst = *s.Failures.Worst
	}
	if !given("quorum") {
		f.quorum = s.Failures.Quorum
	}
}

func newBlast(s streams) *cobra.Command {
	in := input{federated: true}
	var f failures
	var out output
	var base baseline
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
			problems := errors.Join(f.check(cmd), base.check(cmd, &in, args, blast.Kind))
			ask := func() (*simulation.Result, *blast.Report, error) {
				result, err := in.run(cmd, s, args)
				if err != nil {
					return nil, nil, err
				}
				f.merge(cmd, result.Scenario)
				found, stopped := f.analyze(cmd, s, &in, result)
				return result, found, stopped
			}
			if base.file != "" {
				return answerDiff(cmd, s, &out, &base, problems, blast.Decode, diff.NewBlast, func() (*blast.Report, error) {
					_, found, err := ask()
					return found, err
				})
			}
			return out.answer(cmd, s, blast.Formats.Names(), problems, func() (rendering, error) {
				result, found, stopped := ask()
				if found == nil {
					return nil, stopped
				}
				judged := make([][]expect.Expectation, len(result.Steps))
				if out.has("html") && stopped == nil { // the page also shows the steps' expectations
					var err error
					if judged, err = judge(cmd, s, result); err != nil {
						return nil, err
					}
				}
				return func(w io.Writer, format string, opts report.Options) error {
					if format == "html" {
						ran := run.New(result, judged, version)
						ran.AddCycles(result, func(*run.Step) bool { return true })
						page := ran.Page()
						page.Data.Blast = found
						return page.WriteHTML(w)
					}
					return blast.Formats.Write(w, found, format, opts)
				}, stopped
			})
		},
	}
	in.register(cmd)
	in.registerExplain(cmd)
	in.registerChanges(cmd)
	f.register(cmd)
	base.register(cmd, blast.Kind)
	out.register(cmd, blast.Formats.Names())
	cmd.Flags().BoolVarP(&out.opts.Quiet, "quiet", "q", false, "print only the verdict, a line for each step and level, and why pods do not come back")
	cmd.Flags().BoolVar(&out.opts.All, "all", false, "list every failure, workload and pod, however many there are")
	return cmd
}

// analyze fails the domains after each step, or after the step asked for. If it is interrupted, the report is on the steps done by then.
func (f *failures) analyze(cmd *cobra.Command, s streams, in *input, result *simulation.Result) (*blast.Report, error) {
	steps := result.Steps
	if f.step != "" {
		step, err := stepNamed(cmd, result, f.step)
		if err != nil {
			return nil, err
		}
		steps = []simulation.Step{*step}
	}
	opts := askblast.Options{
		Levels: f.levels, LevelKeys: result.Scenario.LevelKeys, Simultaneous: f.simultaneous, Quorum: f.quorum,
		Mode: node.FailureMode(f.mode), Worst: f.worst, Record: in.record(),
	}
	var err error
	if f.filter.Workloads, err = workloadsNamed(cmd, "--workload", f.filter.Namespace, result.Scenario, f.filter.Workloads); err != nil {
		return nil, err
	}
	if err := f.known(cmd, steps, opts); err != nil {
		return nil, err
	}
	bar := newProgress(s.err, "failures")
	defer bar.done()
	var all []blast.Blasted
	for i := range steps {
		blasted, err := f.after(cmd.Context(), result.Scenario, &steps[i], opts, bar)
		switch {
		case interrupted(err) && i > 0:
			result.Partial = fmt.Sprintf("interrupted after step %d of %d", i, len(steps))
			return blast.New(result, all, opts, f.filter, f.recover, version), err
		case interrupted(err) && f.recover:
			result.Partial = fmt.Sprintf("interrupted in step 1 of %d, of which it shows what is lost, and not what comes back", len(steps))
			lossesOnly := *f
			lossesOnly.recover = false
			lost, again := lossesOnly.after(context.WithoutCancel(cmd.Context()), result.Scenario, &steps[i], opts, bar)
			if again != nil {
				return nil, again
			}
			return blast.New(result, []blast.Blasted{*lost}, opts, f.filter, false, version), err
		case err != nil:
			return nil, fmt.Errorf("step %q: %w", steps[i].Name, err)
		}
		all = append(all, *blasted)
	}
	return blast.New(result, all, opts, f.filter, f.recover, version), nil
}

// after fails the domains after one step.
func (f *failures) after(ctx context.Context, s *scenario.Scenario, step *simulation.Step, opts askblast.Options, bar *progress) (*blast.Blasted, error) {
	opts = present(step.State, opts)
	if !f.filter.Empty() {
		var err error
		if opts.Only, err = f.filter.Select(step.State); err != nil { // which known let pass, since there are such workloads after another step
			opts.Only = map[cluster.Ref]bool{}
		}
	}
	analysis := &askblast.Analysis{}
	if len(f.levels) == 0 || len(opts.Levels) > 0 {
		var err error
		if analysis, err = askblast.Lost(step.State, opts); err != nil {
			return nil, asInput(err)
		}
	}
	blasted := &blast.Blasted{Step: step, Analysis: analysis}
	if f.recover {
		progress := func(domains string, done, total int) { bar.update("loss of "+domains+" after "+step.Name, done, total) }
		if err := askblast.Recover(ctx, step.State, s, analysis, opts, progress); err != nil {
			return nil, err
		}
	}
	if len(s.Failures.Rates) == 0 {
		return blasted, nil
	}
	quorum, err := askblast.Quorums(step.State, opts.Quorum)
	if err != nil {
		return nil, asInput(err)
	}
	risks, err := risk.Analyze(ctx, step.State, s.Failures.Rates, risk.Options{Quorum: quorum, Seed: s.Ties.Seed})
	if err != nil {
		return nil, asInput(err)
	}
	if opts.Only != nil {
		risks.Workloads = slices.DeleteFunc(risks.Workloads, func(w risk.Workload) bool { return !opts.Only[w.Workload] })
	}
	blasted.Risk = blast.NewRisk(risks)
	return blasted, nil
}

// known rejects levels that no node has, and filters and quorums that no workload has, after any step. Each step then uses those it has.
func (f *failures) known(cmd *cobra.Command, steps []simulation.Step, opts askblast.Options) error {
	var problems []error
	for _, level := range opts.Levels {
		problem := everywhere(steps, func(state *cluster.State) error {
			_, err := askblast.Lost(state, askblast.Options{Levels: []string{level}, Simultaneous: 1})
			return err
		})
		problems = append(problems, problem)
	}
	problems = append(problems, everywhere(steps, func(state *cluster.State) error {
		_, err := f.filter.Select(state)
		return err
	}))
	for _, name := range opts.Quorum {
		problem := everywhere(steps, func(state *cluster.State) error {
			_, err := askblast.Quorums(state, []string{name})
			return err
		})
		problems = append(problems, problem)
	}
	if err := errors.Join(problems...); err != nil {
		return usage(cmd, "%s", err)
	}
	return nil
}

// everywhere returns the last error if the check fails after every step.
func everywhere(steps []simulation.Step, check func(*cluster.State) error) error {
	var last error
	for i := range steps {
		if last = check(steps[i].State); last == nil {
			return nil
		}
	}
	return last
}

// present keeps the levels and quorums that the state has.
func present(state *cluster.State, opts askblast.Options) askblast.Options {
	if levels := topology.Levels(state.Nodes, opts.Levels...); len(opts.Levels) > 0 {
		opts.Levels = slices.DeleteFunc(slices.Clone(opts.Levels), func(key string) bool { return !slices.Contains(levels, key) })
	}
	opts.Quorum = slices.DeleteFunc(slices.Clone(opts.Quorum), func(name string) bool {
		_, err := askblast.Quorums(state, []string{name})
		return err != nil
	})
	return opts
}
