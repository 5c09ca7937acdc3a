package app

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	askadvice "github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/advice"
	"github.com/faultline/faultline/pkg/scenario"
)

const (
	adviceTrials    = 20
	maxAdviceTrials = 10_000 // whose metrics are kept until all of them are done
	adviceTop       = 5
)

func newAdvise(s streams) *cobra.Command {
	var in input
	var out output
	var namespace string
	trials, top := adviceTrials, adviceTop
	cmd := &cobra.Command{
		Use:   "advise KIND/NAME [SCENARIO]",
		Short: "Tell by which rule the pods of a workload should keep apart, with the patch and the runs that show it",
		Long: `Try the rules by which the pods of a workload can keep apart: none, preferred and required anti-affinity, topology spread
constraints, over each level that the nodes have and over pairs of them. Each is run for what stays Pending, what the loss of each
domain takes and strands, whether a rolling update comes to its end, and what random ties do to it. The best come first, each
with the patch that makes it so, what it does not solve, and the commands that run it again.`,
		Example: `  simulate advise deploy/web scenario.yaml
  simulate advise deploy/web --cluster dump.json --all
  simulate advise statefulset/db -n shop --cluster nodes.yaml -f db.yaml --trials 100 -o markdown`,
		RunE: func(cmd *cobra.Command, args []string) error {
			problems := []error{out.check(cmd)}
			if trials < 0 || trials > maxAdviceTrials {
				problems = append(problems, usage(cmd, "--trials: %d is not between 0 and %d; give a number of runs, or 0 for none", trials, maxAdviceTrials))
			}
			if top < 1 {
				problems = append(problems, usage(cmd, "--top: %d is less than 1; give the number of candidates to show", top))
			}
			if err := errors.Join(problems...); err != nil {
				return err
			}
			target, scenarios, err := adviseArguments(cmd, args)
			if err != nil {
				return err
			}
			loaded, err := in.load(cmd, s, scenarios)
			if err != nil {
				return err
			}
			owner, err := adviseTarget(cmd, loaded, target, namespace)
			if err != nil {
				return err
			}
			bar := newProgress(s.err)
			bar.unit = "runs"
			defer bar.done()
			found, err := askadvice.Of(cmd.Context(), loaded, owner, askadvice.Options{
				Trials: trials, Fewer: !cmd.Flags().Changed("trials"), Seed: max(loaded.Ties.Seed, 1), Progress: bar.update,
			})
			if err != nil {
				return err
			}
			if out.opts.All {
				top = len(found.Candidates)
			}
			r := advice.New(found, advice.Again{Input: in.again(scenarios), Ties: in.tiesAgain(cmd)}, top, version)
			return out.write(s, func(w io.Writer, format string, opts report.Options) error {
				return advice.Formats.Write(w, r, format, opts)
			})
		},
	}
	in.register(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&namespace, "namespace", "n", "", "`NAMESPACE` of the workload (default the one that has it)")
	flags.IntVar(&trials, "trials", trials, "`NUMBER` of runs, at most 10000, with random ties of each candidate that no other beats without them; 0 for none\n(default 20, or fewer on a large cluster)")
	flags.IntVar(&top, "top", top, "`NUMBER` of candidates to show; the others are counted")
	out.register(cmd, advice.Formats.Names())
	flags.BoolVar(&out.opts.All, "all", false, "show every candidate")
	return cmd
}

// adviseArguments tells the target from the scenario, which may stand after it or before.
func adviseArguments(cmd *cobra.Command, args []string) (target string, scenarios []string, err error) {
	var wrong error
	for _, arg := range args {
		_, _, err := scenario.ParseTarget(arg)
		switch {
		case err != nil:
			scenarios, wrong = append(scenarios, arg), err
		case target != "":
			return "", nil, usage(cmd, "both %s and %s are given; there is advice for one workload at a time", target, arg)
		default:
			target = arg
		}
	}
	switch {
	case target == "" && wrong != nil:
		return "", nil, usage(cmd, "no workload is given: %s", wrong)
	case target == "":
		return "", nil, usage(cmd, "no workload is given; name it as kind/name, for example deployment/web")
	case len(scenarios) > 1:
		return "", nil, usage(cmd, "%d scenarios are given, and one is run at a time", len(scenarios))
	}
	return target, scenarios, nil
}

// adviseTarget finds the workload.
func adviseTarget(cmd *cobra.Command, s *scenario.Scenario, target, namespace string) (cluster.Ref, error) {
	kind, _, _ := scenario.ParseTarget(target)
	if !slices.Contains(askadvice.Kinds, kind) {
		why := map[string]string{
			"DaemonSet": ": a DaemonSet has a pod on every node that takes one, and nothing to keep apart",
			"Job":       ": the template of a Job cannot change; delete it and create another",
		}[kind]
		return cluster.Ref{}, usage(cmd, "%s is a %s%s; there is advice for a Deployment, a StatefulSet or a ReplicaSet", target, kind, why)
	}
	if namespace != "" {
		target = namespace + "/" + target
	}
	owner, err := s.Workload(target, askadvice.Kinds...)
	if err != nil {
		return owner, usage(cmd, "%s", err)
	}
	return owner, nil
}

// again is what names the same scenario on another command line.
func (i *input) again(scenarios []string) string {
	words := slices.Clone(scenarios)
	add := func(flag string, values ...string) {
		for _, value := range values {
			if value != "" {
				words = append(words, flag, value)
			}
		}
	}
	add("--cluster", i.cluster...)
	add("-f", i.files...)
	add("--scheduler-config", i.schedulerConfig)
	add("--feature-gates", i.featureGates)
	add("--kafscale-release", i.operators.kafscale.release)
	for _, file := range i.operators.kafscale.values {
		add("--kafscale-values", file)
	}
	if i.operators.stackableADR {
		words = append(words, "--stackable-adr")
	}
	add("--hydrolix-profile", i.operators.hydrolixProfile)
	for n, word := range words {
		words[n] = advice.ShellWord(word)
	}
	return strings.Join(words, " ")
}

// tiesAgain are the flags of the ties.
func (i *input) tiesAgain(cmd *cobra.Command) string {
	if i.ties == "" {
		return ""
	}
	words := " --ties " + i.ties
	if cmd.Flags().Changed("seed") {
		words += " --seed " + strconv.FormatUint(i.seed, 10)
	}
	return words
}
