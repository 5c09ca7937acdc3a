package planning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/report/compare"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/variant"
)

func newCompare(s command.Streams) *cobra.Command {
	in := input.Flags{Federated: true}
	var figures figureFlags
	var rules rulesFlags
	var names []string
	var asked input.Steps
	var out output.Flags
	var timeout command.Timeout
	cmd := &cobra.Command{
		Use:   "compare [SCENARIO | MANIFEST...]",
		Short: "Compare variants of a scenario, such as soft or hard rules, more replicas or another cluster",
		Long: `Run a scenario and its variants, and compare what stays Pending, how many pods would move, how evenly workloads are spread, what
the loss of a domain takes and leaves without a node, and what the nodes cost. Variants are defined in the scenario file, or
made by --rules: each rule, over each of the keys, replaces the rules that now keep the pods of a workload apart. --scale,
--add-nodes, --remove-nodes and --replace-nodes make a variant of each question that simulate run answers.`,
		Example: `  simulate compare scenarios/soft-or-hard
  simulate compare scenario.yaml --rules none,soft,hard,spread --keys zone --keys node --workload deployment/web
  simulate compare scenario.yaml --rules soft --keys zone=100+node=50 --keys zone=50+node=100
  simulate compare dump.json --scale 1.2,1.5,2
  simulate compare dump.json --add-nodes 0,5,10 --like worker-1
  simulate compare --cluster nodes.yaml -f app.yaml --rules soft,hard -o markdown`,
		RunE: command.Question[compare.Report]{
			Input: &in, Output: &out, Formats: compare.Formats, Timeout: &timeout,
			Ask: func(c *command.Call) (*compare.Report, error) {
				patches := in.Changes.Patches // patches make a variant here
				in.Changes.Patches = nil
				loaded, err := c.Load(c.Args)
				if err != nil {
					return nil, err
				}
				if figures.workloads, err = in.Namespace.QualifyWorkloads(c.Command, "--workload", loaded, figures.workloads); err != nil {
					return nil, err
				}
				made, err := rules.variants(c.Command, figures.workloads)
				if err != nil {
					return nil, err
				}
				variants, err := selectVariants(c.Command, loaded, names)
				if err != nil {
					return nil, err
				}
				if len(patches) > 0 {
					patched, err := (&input.Changes{Patches: patches}).Variant(loaded, &in.Namespace)
					if err != nil {
						return nil, c.Usage("%s", err)
					}
					made = append(made, *patched)
				}
				var problems []error
				maker := variant.NewMaker(loaded)
				for i := range made {
					varied, err := maker.Vary(&made[i], "variant "+made[i].Name)
					problems = append(problems, err)
					if err == nil {
						variants = append(variants, *varied)
					}
				}
				if err := errors.Join(problems...); err != nil {
					return nil, exit.InvalidInput(err)
				}
				questions, err := asked.Variants(c.Command, loaded, in.Namespace.Name)
				if err != nil {
					return nil, err
				}
				if variants = append(variants, questions...); len(variants) == 0 {
					return nil, c.Usage("nothing to compare: the scenario has no variants; add some to it, or give --rules soft,hard or --scale 1.2,1.5")
				}
				var about []cluster.Ref
				for _, v := range variants {
					about = append(about, v.Workloads...)
				}
				opts, err := figures.options(c.Command, loaded, about)
				if err != nil {
					return nil, err
				}
				count := c.Bar.Counts("variants")
				opts.Progress = func(last, done, total int) { count(variants[last].Name, done, total) }
				base, found, stopped := runVariants(c.Context(), loaded, variants, opts)
				if found == nil {
					return nil, stopped
				}
				return compare.New(base, variants, found, opts, c.ToolVersion), stopped
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	in.RegisterChanges(cmd)
	rules.register(cmd)
	asked.Register(cmd, true)
	figures.register(cmd, &in, true)
	in.Namespace.Register(cmd, false)
	cmd.Flags().StringArrayVar(&names, "variant", nil, "`NAME` of a variant in the scenario file (repeatable; default all)")
	timeout.Register(cmd)
	out.Register(cmd, compare.Formats.Names(), "the answer, on one line", "")
	return cmd
}

// runVariants runs the scenario without changes, and its variants; see whatif.Run.
func runVariants(ctx context.Context, s *scenario.Scenario, variants []scenario.LoadedVariant, opts whatif.Options) (*whatif.Base, []*whatif.Found, error) {
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

// selectVariants returns the variants of the scenario with these names, or all variants if there are no names.
func selectVariants(cmd *cobra.Command, s *scenario.Scenario, names []string) ([]scenario.LoadedVariant, error) {
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
			problems = append(problems, fmt.Sprintf("--variant: the scenario has no variant %q; %s", name, scenario.ListChoices(name, known)))
		}
	}
	if len(problems) > 0 {
		return nil, exit.Usage(cmd, "%s", strings.Join(problems, "\n"))
	}
	return picked, nil
}

// rulesFlags are the flags that make a variant for each rule.
type rulesFlags struct {
	rules []string
	keys  []string
}

func (r *rulesFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&r.rules, "rules", nil, "`RULES` to compare: none, soft (preferred anti-affinity), hard (required), spread (topology spread constraints)")
	cmd.Flags().StringArrayVar(&r.keys, "keys", nil, "topology `KEYS` over which each rule keeps pods apart, such as zone, or zone=100+node=50 for\n"+
		"several with weights (repeatable; default the keys of the present rules, or node)")
	output.CompleteValues(cmd, "rules", []string{"none", "soft", "hard", "spread"})
}

// variants returns one variant for each rule and each set of keys. The rule none takes no keys, and only soft rules take weights.
func (r *rulesFlags) variants(cmd *cobra.Command, workloads []string) ([]scenario.Variant, error) {
	if len(r.keys) > 0 && len(r.rules) == 0 {
		return nil, exit.Usage(cmd, "--keys has no effect without --rules; give both, for example --rules soft,hard")
	}
	var problems []string
	for _, word := range r.rules {
		if !slices.Contains(rule.Separations, rule.Separation(word)) {
			problems = append(problems, fmt.Sprintf("--rules: unknown rule %q: use none, soft, hard or spread", word))
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
		return nil, exit.Usage(cmd, "%s", strings.Join(problems, "\n"))
	}
	var made []scenario.Variant
	for _, word := range r.rules {
		for _, terms := range over {
			v := ruleVariant(rule.Separation(word), terms, workloads)
			if !slices.ContainsFunc(made, func(other scenario.Variant) bool { return other.Name == v.Name }) {
				made = append(made, v)
			}
		}
	}
	return made, nil
}

func ruleVariant(by rule.Separation, terms []scenario.Term, workloads []string) scenario.Variant {
	change := scenario.RuleChange{Rule: string(by)}
	var words []string
	if by != rule.NoRule {
		for _, term := range terms {
			word := term.TopologyKey
			if by != rule.SoftAnti {
				term.Weight = 0
			} else if term.Weight > 0 {
				word += "=" + strconv.Itoa(int(term.Weight))
			}
			change.Over, words = append(change.Over, term), append(words, word)
		}
	}
	v := scenario.Variant{Name: string(by)}
	if len(words) > 0 {
		v.Name += " " + strings.Join(words, "+")
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

// parseTerms parses terms such as zone, or zone=100+node=50.
func parseTerms(text string) ([]scenario.Term, error) {
	var terms []scenario.Term
	for _, part := range strings.Split(text, "+") {
		key, weight, weighted := strings.Cut(part, "=")
		term := scenario.Term{TopologyKey: key}
		if slices.ContainsFunc(terms, func(other scenario.Term) bool { return topology.Key(other.TopologyKey) == topology.Key(key) }) {
			return nil, fmt.Errorf("--keys %s: %q is given twice", text, key)
		}
		if n, err := strconv.ParseInt(weight, 10, 32); key == "" || weighted && (err != nil || n < 1 || n > 100) {
			return nil, fmt.Errorf("--keys %s: %q is invalid; give a topology key, or KEY=WEIGHT with a weight from 1 to 100", text, part)
		} else if weighted {
			term.Weight = int32(n)
		}
		terms = append(terms, term)
	}
	return terms, nil
}

// figureFlags are the flags that select the figures of a comparison.
type figureFlags struct {
	workloads []string
	levels    []string
	step      string
	recover   bool
	worst     int
}

func (n *figureFlags) register(cmd *cobra.Command, in *input.Flags, recover bool) {
	flags := cmd.Flags()
	flags.StringArrayVar(&n.workloads, "workload", nil, "`WORKLOAD` whose skew and blast radius are shown, as kind/name or namespace/kind/name,\nor NAME if no other has it (repeatable; "+
		"default the changed ones, or all)")
	flags.StringArrayVar(&n.levels, "level", nil, "topology `KEY` whose domains are compared, such as rack; cluster, region, zone and node are short names\n(repeatable; default every level of the nodes)")
	flags.StringVar(&n.step, "step", "", "the `STEP` after which the clusters are compared (default the last)")
	flags.BoolVar(&n.recover, "recover", recover, "let the controllers and the scheduler replace the pods that each domain's loss takes, to see what comes back")
	flags.IntVar(&n.worst, "worst", metric.DefaultWorst, "`NUMBER` of domains of each level to recover, those whose loss does most harm; 0 for all")
	in.AddOverlay("worst", "failures.worst", func(file *scenario.File) { file.Failures.Worst = &n.worst })
}

// options returns the options that the flags select. about are the changed workloads, whose figures are shown by default.
func (n *figureFlags) options(cmd *cobra.Command, s *scenario.Scenario, about []cluster.Ref) (whatif.Options, error) {
	opts := whatif.Options{Step: n.step, Metric: metric.Options{Workloads: about, Worst: ptr.Deref(s.Failures.Worst, n.worst)}}
	var problems []error
	if len(n.workloads) > 0 {
		opts.Metric.Workloads = nil
	}
	for _, target := range n.workloads {
		owner, err := s.Workload(target, scenario.SeparableKinds...)
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
		opts.Metric.Levels = append(opts.Metric.Levels, topology.ResolveKey(s.Nodes(), level))
	}
	known := topology.Levels(s.Nodes(), append(slices.Clone(s.LevelKeys), opts.Metric.Levels...)...)
	for _, level := range opts.Metric.Levels {
		if !slices.Contains(known, level) {
			problems = append(problems, fmt.Errorf("--level: no node has a label %s; %s", level, scenario.ListChoices(level, known)))
		}
	}
	if n.recover {
		if opts.Metric.Recover = opts.Metric.Levels; len(opts.Metric.Recover) == 0 {
			opts.Metric.Recover = known
		}
	}
	return opts, exit.UsageProblems(cmd, problems...)
}
