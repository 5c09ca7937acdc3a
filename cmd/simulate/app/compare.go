package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/compare"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

func newCompare(s streams) *cobra.Command {
	var in input
	var look numbers
	var rules rulesFlags
	var names []string
	var out output
	cmd := &cobra.Command{
		Use:   "compare [SCENARIO]",
		Short: "Set variants of a scenario side by side: soft or hard, more replicas, another cluster",
		Long: `Run the variants of a scenario and the scenario as it is, and set side by side what stays Pending, how many pods would move, how
evenly workloads are spread, what the loss of a domain takes and leaves without a node, and what the nodes cost. Variants are
those of the scenario file and those that --rules makes: each rule over each of the keys in place of the rules by which the
pods of a workload keep apart now.`,
		Example: `  simulate compare scenarios/soft-or-hard
  simulate compare scenario.yaml --rules none,soft,hard,spread --keys zone --keys node --workload deployment/web
  simulate compare scenario.yaml --rules soft --keys zone=100+node=50 --keys zone=50+node=100
  simulate compare --cluster nodes.yaml -f app.yaml --rules soft,hard -o markdown`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(cmd); err != nil {
				return err
			}
			made, err := rules.variants(cmd, look.workloads)
			if err != nil {
				return err
			}
			patches := in.changes.patches // they make a variant
			in.changes.patches = nil
			loaded, err := in.load(cmd, s, args)
			if err != nil {
				return err
			}
			variants, err := pick(cmd, loaded, names)
			if err != nil {
				return err
			}
			if len(patches) > 0 {
				patched, err := (&changes{patches: patches}).variant(loaded)
				if err != nil {
					return usage(cmd, "%s", err)
				}
				made = append(made, *patched)
			}
			var problems []error
			for i := range made {
				variant, err := loaded.Vary(&made[i], "variant "+made[i].Name)
				problems = append(problems, err)
				if err == nil {
					variants = append(variants, *variant)
				}
			}
			if err := errors.Join(problems...); err != nil {
				return asInput(err)
			}
			if len(variants) == 0 {
				return usage(cmd, "there is nothing to compare with: the scenario has no variants; give some there, or --rules soft,hard")
			}
			var about []cluster.Ref
			for _, v := range variants {
				about = append(about, v.Workloads...)
			}
			opts, err := look.options(cmd, loaded, about)
			if err != nil {
				return err
			}
			bar := newProgress(s.err)
			bar.unit = "variants"
			defer bar.done()
			opts.Progress = func(done, total int) { bar.update("comparing", done, total) }
			base, found, err := carryOut(cmd.Context(), loaded, variants, opts)
			if err != nil {
				return err
			}
			compared := compare.New(base, variants, found, opts, version)
			return out.write(s, func(w io.Writer, format string, opts report.Options) error {
				return compare.Formats.Write(w, compared, format, opts)
			})
		},
	}
	in.register(cmd)
	in.registerChanges(cmd)
	rules.register(cmd)
	look.register(cmd, true)
	cmd.Flags().StringArrayVar(&names, "variant", nil, "`NAME` of a variant of the scenario file (repeatable; default all of them)")
	out.register(cmd, compare.Formats.Names())
	return cmd
}

// carryOut runs the scenario as it is, and its variants.
func carryOut(ctx context.Context, s *scenario.Scenario, variants []scenario.LoadedVariant, opts whatif.Options) (*whatif.Base, []whatif.Found, error) {
	base, err := whatif.RunBase(ctx, s, opts)
	if err != nil {
		return nil, nil, err
	}
	versions := make([]*scenario.Scenario, len(variants))
	for i := range variants {
		versions[i] = variants[i].Scenario
	}
	found, err := whatif.Run(ctx, base, versions, opts)
	var failed *whatif.VersionError
	if errors.As(err, &failed) {
		return nil, nil, fmt.Errorf("variant %s: %w", variants[failed.Index].Name, failed.Err)
	}
	return base, found, err
}

// pick returns the named variants of the scenario, or all.
func pick(cmd *cobra.Command, s *scenario.Scenario, names []string) ([]scenario.LoadedVariant, error) {
	if len(names) == 0 {
		return slices.Clone(s.Variants), nil
	}
	var picked []scenario.LoadedVariant
	var known, problems []string
	for _, v := range s.Variants {
		known = append(known, v.Name)
	}
	for _, name := range names {
		if i := slices.Index(known, name); i >= 0 {
			picked = append(picked, s.Variants[i])
		} else {
			problems = append(problems, fmt.Sprintf("--variant: the scenario has no variant %q; %s", name, scenario.There(name, known)))
		}
	}
	if len(problems) > 0 {
		return nil, usage(cmd, "%s", strings.Join(problems, "\n"))
	}
	return picked, nil
}

// rulesFlags make variants of the rules by which pods keep apart.
type rulesFlags struct {
	rules []string
	keys  []string
}

func (r *rulesFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&r.rules, "rules", nil, "`RULES` to compare: none, soft (preferred anti-affinity), hard (required), spread (topology spread constraints)")
	cmd.Flags().StringArrayVar(&r.keys, "keys", nil, "topology `KEYS` over which pods keep apart by each rule, such as zone, or zone=100+node=50 for\n"+
		"several with their weights (repeatable; default those of the rules that they have, or node)")
	_ = cmd.RegisterFlagCompletionFunc("rules", cobra.FixedCompletions([]string{"none", "soft", "hard", "spread"}, cobra.ShellCompDirectiveNoFileComp))
}

// variants are one for each rule and keys; that of none has no keys, and weights are for soft rules alone.
func (r *rulesFlags) variants(cmd *cobra.Command, workloads []string) ([]scenario.Variant, error) {
	if len(r.keys) > 0 && len(r.rules) == 0 {
		return nil, usage(cmd, "--keys are for --rules; give rules, too, such as --rules soft,hard")
	}
	var problems []string
	for _, word := range r.rules {
		if !slices.Contains(rule.Separations, rule.Separation(word)) {
			problems = append(problems, fmt.Sprintf("--rules: %q is none of none, soft, hard and spread", word))
		}
	}
	over := [][]scenario.Term{nil}
	if len(r.keys) > 0 {
		over = nil
	}
	for _, keys := range r.keys {
		terms, err := parseTerms(keys)
		if err != nil {
			problems = append(problems, err.Error())
		}
		over = append(over, terms)
	}
	if len(problems) > 0 {
		return nil, usage(cmd, "%s", strings.Join(problems, "\n"))
	}
	var made []scenario.Variant
	for _, word := range r.rules {
		for _, terms := range over {
			v := variantOf(rule.Separation(word), terms, workloads)
			if !slices.ContainsFunc(made, func(other scenario.Variant) bool { return other.Name == v.Name }) {
				made = append(made, v)
			}
		}
	}
	return made, nil
}

func variantOf(by rule.Separation, terms []scenario.Term, workloads []string) scenario.Variant {
	change := scenario.RuleChange{Rule: string(by)}
	var said []string
	if by != rule.NoRule {
		for _, term := range terms {
			word := term.TopologyKey
			if by != rule.SoftAnti {
				term.Weight = 0
			} else if term.Weight > 0 {
				word += "=" + strconv.Itoa(int(term.Weight))
			}
			change.Over, said = append(change.Over, term), append(said, word)
		}
	}
	v := scenario.Variant{Name: string(by)}
	if len(said) > 0 {
		v.Name += " " + strings.Join(said, "+")
	}
	if len(workloads) == 0 {
		v.Rules = []scenario.RuleChange{change}
	}
	for _, workload := range workloads {
		change.Workload = workload
		v.Rules = append(v.Rules, change)
	}
	return v
}

// parseTerms reads zone, or zone=100+node=50.
func parseTerms(text string) ([]scenario.Term, error) {
	var terms []scenario.Term
	for _, part := range strings.Split(text, "+") {
		key, weight, weighted := strings.Cut(part, "=")
		term := scenario.Term{TopologyKey: key}
		if slices.ContainsFunc(terms, func(other scenario.Term) bool { return topology.Key(other.TopologyKey) == topology.Key(key) }) {
			return nil, fmt.Errorf("--keys %s: %q is there twice", text, key)
		}
		if n, err := strconv.ParseInt(weight, 10, 32); key == "" || weighted && (err != nil || n < 1 || n > 100) {
			return nil, fmt.Errorf("--keys %s: %q is neither a topology key nor KEY=WEIGHT with a weight from 1 to 100", text, part)
		} else if weighted {
			term.Weight = int32(n)
		}
		terms = append(terms, term)
	}
	return terms, nil
}

// numbers are the flags that say which numbers are compared.
type numbers struct {
	workloads []string
	levels    []string
	step      string
	recover   bool
	worst     int
}

func (n *numbers) register(cmd *cobra.Command, recover bool) {
	flags := cmd.Flags()
	flags.StringArrayVar(&n.workloads, "workload", nil, "`WORKLOAD` of which skew and blast radius are told, as kind/name or namespace/kind/name (repeatable;\n"+
		"default those that are changed, or all)")
	flags.StringArrayVar(&n.levels, "level", nil, "topology `KEY` whose domains are looked at, such as rack, or region, zone or node for short (repeatable;\ndefault every level that the nodes have)")
	flags.StringVar(&n.step, "step", "", "the `STEP` after which the clusters are compared (default the last)")
	flags.BoolVar(&n.recover, "recover", recover, "let the controllers and the scheduler replace what the loss of each domain takes, to see what comes back")
	flags.IntVar(&n.worst, "worst", metric.DefaultWorst, "`NUMBER` of domains of each level for which that is looked at, those whose loss takes the largest share of a workload; 0 for all")
}

// options says what is looked at, for changes that are about these workloads.
func (n *numbers) options(cmd *cobra.Command, s *scenario.Scenario, about []cluster.Ref) (whatif.Options, error) {
	opts := whatif.Options{Step: n.step, Metric: metric.Options{Workloads: about, Worst: n.worst}}
	var problems []error
	if n.worst < 0 {
		problems = append(problems, fmt.Errorf("--worst: %d is negative; give a number of domains, or 0 for all", n.worst))
	}
	if s.Failures.Worst != nil && !cmd.Flags().Changed("worst") {
		opts.Metric.Worst = *s.Failures.Worst
	}
	if len(n.workloads) > 0 {
		opts.Metric.Workloads = nil
	}
	for _, target := range n.workloads {
		owner, err := s.Workload(target, scenario.Apart...)
		if err != nil {
			problems = append(problems, fmt.Errorf("--workload %w", err))
		}
		opts.Metric.Workloads = append(opts.Metric.Workloads, owner)
	}
	slices.SortFunc(opts.Metric.Workloads, cluster.Ref.Compare)
	opts.Metric.Workloads = slices.Compact(opts.Metric.Workloads)
	levels := n.levels
	if len(levels) == 0 {
		levels = s.Failures.Levels
	}
	for _, level := range levels {
		opts.Metric.Levels = append(opts.Metric.Levels, topology.Key(level))
	}
	known := topology.Levels(s.Nodes(), append(slices.Clone(s.LevelKeys), opts.Metric.Levels...)...)
	for _, level := range opts.Metric.Levels {
		if !slices.Contains(known, level) {
			problems = append(problems, fmt.Errorf("--level: no node has a label %s; %s", level, scenario.There(level, known)))
		}
	}
	if n.recover {
		if opts.Metric.Recover = opts.Metric.Levels; len(opts.Metric.Recover) == 0 {
			opts.Metric.Recover = known
		}
	}
	if n.step != "" && !slices.ContainsFunc(s.Steps, func(step scenario.LoadedStep) bool { return step.Name == n.step }) &&
		(n.step != scenario.WorkloadsStep || len(s.Workloads) == 0) {
		var names []string
		for _, step := range s.Steps {
			names = append(names, step.Name)
		}
		problems = append(problems, fmt.Errorf("--step: there is no step %q; %s", n.step, scenario.There(n.step, names)))
	}
	if err := errors.Join(problems...); err != nil {
		return opts, usage(cmd, "%s", err)
	}
	return opts, nil
}
