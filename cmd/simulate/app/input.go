package app

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/scenario/loader"
	"github.com/faultline/faultline/scenarios"
)

// input are the flags that select what to simulate.
type input struct {
	cluster         []string
	files           []string
	schedulerConfig string
	featureGates    string
	ties            string
	arrivals        string
	seed            uint64
	explain         bool
	strict          bool
	plain           bool
	assume          bool             // make up nodes if none are given
	depth           *placement.Depth // how much of each pod's scheduling cycle to keep
	changes         changes
	operators       operators
}

func (i *input) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&i.cluster, "cluster", nil, "read nodes, and what else is there at the start, from this `FILE`, folder or glob, or - for standard input:\n"+
		"Node objects, a kind configuration, a kubectl dump, a snapshot (repeatable)")
	flags.StringArrayVarP(&i.files, "filename", "f", nil, "read objects to apply from this `FILE`, folder or glob, or - for standard input (repeatable)")
	i.registerConfiguration(cmd)
}

// registerConfiguration adds the flags that configure the scheduler, for commands that only take a scenario.
func (i *input) registerConfiguration(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&i.schedulerConfig, "scheduler-config", "", "`FILE` of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)")
	flags.StringVar(&i.featureGates, "feature-gates", "", "feature `GATES` of kube-scheduler to set, as NAME=true,NAME=false")
	flags.StringVar(&i.ties, "ties", "", "`WINNER` among equal nodes: upstream (the first in kube-scheduler's own order) or random\n(default upstream, or what the scenario says)")
	flags.StringVar(&i.arrivals, "arrivals", "", "`ORDER` in which workloads that are applied together arrive: listed or random\n(default listed, or what the scenario says)")
	flags.Uint64Var(&i.seed, "seed", 1, "seed `NUMBER` of all random choices, for random ties or arrivals")
	registerStrict(cmd, &i.strict)
	registerPlain(cmd, &i.plain)
	i.operators.register(cmd)
	// The only possible error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc("ties", cobra.FixedCompletions([]string{"upstream", "random"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("arrivals", cobra.FixedCompletions([]string{"listed", "random"}, cobra.ShellCompDirectiveNoFileComp))
}

// registerStrict adds --strict, for the commands that read dumps.
func registerStrict(cmd *cobra.Command, strict *bool) {
	cmd.Flags().BoolVar(strict, "strict", false, "reject a dump with anything that this release does not know, instead of setting it aside with a note")
}

// registerPlain adds --plain, for the commands that run the scheduler.
func registerPlain(cmd *cobra.Command, plain *bool) {
	cmd.Flags().BoolVar(plain, "plain", false, "ask the scheduler's plugins everything anew for each pod: the same answer, many times slower")
}

// registerExplain adds --explain, for the commands that report decisions.
func (i *input) registerExplain(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&i.explain, "explain", false, "show every plugin's verdict on the best nodes, for each pod that is placed or rejected")
}

// explainNodes is how many nodes --explain keeps per pod.
const explainNodes = 10

// record returns how much of a pod's scheduling cycle to keep; nil keeps nothing.
func (i *input) record() func(cluster.Ref, *v1.Pod) *placement.Depth {
	depth := i.depth
	if i.explain {
		depth = &placement.Depth{Nodes: explainNodes}
	}
	if depth == nil {
		return nil
	}
	return func(cluster.Ref, *v1.Pod) *placement.Depth { return depth }
}

// load reads the scenario that the arguments and flags name: a scenario file or folder, objects from flags, or, without either, the kind
// walkthrough. A file of Kubernetes objects in place of a scenario is read as with -f.
func (i *input) load(cmd *cobra.Command, s streams, args []string) (*scenario.Scenario, error) {
	var problems []error
	if !slices.Contains([]string{"", "upstream", "random"}, i.ties) {
		problems = append(problems, usage(cmd, "--ties: unknown value %q: use upstream or random", i.ties))
	}
	if !slices.Contains([]string{"", "listed", "random"}, i.arrivals) {
		problems = append(problems, usage(cmd, "--arrivals: unknown value %q: use listed or random", i.arrivals))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	loaded, err := i.read(cmd, s, args)
	if err != nil {
		return nil, asInput(err)
	}
	if i.ties != "" {
		loaded.Ties.Random = i.ties == "random"
	}
	if i.arrivals != "" {
		loaded.RandomArrivals = i.arrivals == "random"
	}
	if cmd.Flags().Changed("seed") {
		if !loaded.Ties.Random && !loaded.RandomArrivals {
			return nil, usage(cmd, "--seed has no effect without random choices; give --ties random, too")
		}
		loaded.Ties.Seed = i.seed
	}
	return i.changes.apply(cmd, loaded)
}

func (i *input) read(cmd *cobra.Command, s streams, args []string) (*scenario.Scenario, error) {
	byFlags := len(i.cluster)+len(i.files) > 0
	opts := loader.Options{SchedulerConfig: i.schedulerConfig, FeatureGates: i.featureGates, Assume: i.assume, Strict: i.strict, Plain: i.plain}
	var err error
	if opts.Operators, err = i.operators.options(); err != nil {
		return nil, err
	}
	switch {
	case len(args) > 0 && byFlags:
		return nil, usage(cmd, "got both a scenario and objects; give a scenario, or objects with --cluster and -f")
	case slices.Contains(i.cluster, manifest.Stdin) && slices.Contains(i.files, manifest.Stdin):
		return nil, usage(cmd, "standard input can only be read once; give - to --cluster or to -f, not both")
	case byFlags:
		return loader.FromFiles(s.in, i.cluster, i.files, opts)
	case len(args) == 0:
		return loader.LoadFS(scenarios.FS, scenarios.Walkthrough, opts)
	}
	loaded, err := loader.Load(args[0], opts)
	var foreign *loader.ForeignError
	if errors.As(err, &foreign) && foreign.File == args[0] {
		return loader.FromFiles(s.in, nil, args, opts)
	}
	return loaded, err
}

// asInput marks an error as wrong input.
func asInput(err error) error {
	if errors.As(err, new(*inputError)) {
		return err
	}
	return &inputError{err: err}
}
