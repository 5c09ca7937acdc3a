package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/scenarios"
)

// input are the flags that select what to simulate.
type input struct {
	cluster       []string
	files         []string
	namespace     namespace
	explain       bool
	opts          loader.Options   // what the flags say in place of the scenario
	nodes         *nodes           // nil for a command that takes only scenarios
	depth         *placement.Depth // how much of each pod's scheduling cycle to keep
	changes       changes
	asked         asked
	operators     operators
	federated     bool          // a federation of clusters is taken, too
	overlay       []loader.Flag // those of the flags that take the place of fields of the scenario
	ties          string
	arrivals      string
	unknownOwners string
	storage       string
	estimate      string
	seed          uint64
}

func (i *input) register(cmd *cobra.Command) {
	i.registerFiles(cmd)
	i.registerConfiguration(cmd)
}

// registerFiles adds the flags that name files of objects, and that make up nodes for them.
func (i *input) registerFiles(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&i.cluster, "cluster", nil, "read nodes, and what else is there at the start, from this `FILE`, folder or glob, or - for standard input:\n"+
		"Node objects, a kind configuration, a kubectl dump, a snapshot (repeatable)")
	flags.StringArrayVarP(&i.files, "filename", "f", nil, "read objects to apply from this `FILE`, folder or glob, or - for standard input (repeatable)")
	i.nodes = &nodes{}
	i.nodes.register(cmd)
}

// registerConfiguration adds the flags that configure the scheduler, for commands that only take a scenario.
func (i *input) registerConfiguration(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&i.opts.SchedulerConfig, "scheduler-config", "", "`FILE` of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)")
	flags.StringVar(&i.opts.FeatureGates, "feature-gates", "", "feature `GATES` of kube-scheduler to set, as NAME=true,NAME=false")
	i.choice(cmd, "ties", "ties", &i.ties, []string{"upstream", "random"}, "`WINNER` among equal nodes: upstream (the first in kube-scheduler's own order) or random\n(default upstream, or what the scenario says)",
		func(f *scenario.File) { f.Ties = i.ties })
	i.choice(cmd, "arrivals", "arrivals", &i.arrivals, []string{"listed", "random"}, "`ORDER` in which workloads that are applied together arrive: listed or random\n(default listed, or what the scenario says)",
		func(f *scenario.File) { f.Arrivals = i.arrivals })
	i.choice(cmd, "unknown-owners", "unknownOwners", &i.unknownOwners, []string{"replace", "gone"}, "`WHAT` becomes of pods whose controllers the input lacks: replace (they come back) or gone\n(default replace, or what the scenario says)",
		func(f *scenario.File) { f.UnknownOwners = i.unknownOwners })
	var asTemplate bool
	flags.BoolVar(&asTemplate, "as-template", false, "make new pods as their templates say, without what webhooks added to the running pods of a dump")
	i.overlays("as-template", "asTemplate", func(f *scenario.File) { f.AsTemplate = asTemplate })
	var plugins []string
	flags.StringSliceVar(&plugins, "enable-admission-plugins", nil, "admission `PLUGINS` to switch on, separated by commas: "+strings.Join(admission.Optional(), ", "))
	i.overlays("enable-admission-plugins", "apiServer.enableAdmissionPlugins", func(f *scenario.File) { f.APIServer.EnableAdmissionPlugins = plugins })
	var as string
	flags.StringVar(&as, "as", "", "`USER` who makes the requests, for policies that ask (default kubernetes-admin, or what the scenario says)")
	i.overlays("as", "apiServer.as", func(f *scenario.File) { f.APIServer.As = as })
	i.choice(cmd, "storage", "storage", &i.storage, []string{scenario.StorageAssumed, scenario.StorageNone}, "`WHETHER` StorageClasses that claims name are made up where the input has none: assumed or none\n(default assumed where all nodes are made up, or what the scenario says)",
		func(f *scenario.File) { f.Storage = i.storage })
	flags.Uint64Var(&i.seed, "seed", 1, "seed `NUMBER` of all random choices, for random ties or arrivals")
	i.overlays("seed", "seed", func(f *scenario.File) { f.Seed = &i.seed })
	if i.federated {
		i.choice(cmd, "estimate", "federation.estimate", &i.estimate, []string{scenario.EstimateKarmada, scenario.EstimateScheduler}, "`WHO` reckons the room in the clusters of a federation: karmada or scheduler, which asks the clusters' schedulers\n(default karmada, or what the scenario says)",
			func(f *scenario.File) { f.Federation.Estimate = i.estimate })
	}
	registerStrict(cmd, &i.opts.Strict)
	registerScheduler(cmd, &i.opts)
	i.operators.register(cmd)
}

// overlays says that a flag takes the place of a field of the scenario.
func (i *input) overlays(flag, path string, set func(*scenario.File)) {
	i.overlay = append(i.overlay, loader.Flag{Name: flag, Path: path, Set: set})
}

// choice adds a flag that takes the place of a field of the scenario, and has one of a few values.
func (i *input) choice(cmd *cobra.Command, flag, path string, value *string, legal []string, usage string, set func(*scenario.File)) {
	cmd.Flags().StringVar(value, flag, "", usage)
	// The only possible error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(legal, cobra.ShellCompDirectiveNoFileComp))
	i.overlays(flag, path, set)
}

// registerStrict adds --strict, for the commands that read dumps.
func registerStrict(cmd *cobra.Command, strict *bool) {
	cmd.Flags().BoolVar(strict, "strict", false, "reject a dump with anything that this release does not know, instead of setting it aside with a note")
}

// registerScheduler adds --plain and --no-extenders, for the commands that run the scheduler.
func registerScheduler(cmd *cobra.Command, opts *loader.Options) {
	cmd.Flags().BoolVar(&opts.Plain, "plain", false, "ask the scheduler's plugins everything anew for each pod: the same answer, many times slower")
	registerNoExtenders(cmd, opts)
}

// registerNoExtenders adds --no-extenders, for the commands that read a configuration of the scheduler.
func registerNoExtenders(cmd *cobra.Command, opts *loader.Options) {
	cmd.Flags().BoolVar(&opts.NoExtenders, "no-extenders", false, "ask nothing of the HTTP extenders in the scheduler's configuration")
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
// walkthrough. Manifests in place of a scenario are read as with -f.
func (i *input) load(cmd *cobra.Command, s streams, bar *output.Progress, args []string) (*scenario.Scenario, error) {
	loaded, err := exit.UnlessInterrupted(cmd.Context(), func() (*scenario.Scenario, error) { return i.read(cmd, s, bar, args) })
	if err != nil {
		return nil, exit.Input(err)
	}
	if loaded.Federated() && !i.federated {
		return nil, notFederated(cmd.CommandPath(), loaded)
	}
	i.changes.patches, i.changes.restart, i.changes.triggers = i.namespace.of(i.changes.patches...), i.namespace.of(i.changes.restart)[0], i.namespace.of(i.changes.triggers...)
	if loaded, err = i.changes.apply(cmd, loaded); err != nil {
		return nil, err
	}
	if loaded, err = i.asked.apply(cmd, loaded, i.namespace.name); err != nil {
		return nil, err
	}
	if step := cmd.Flags().Lookup("step"); step != nil {
		err = knownStep(cmd, loaded, step.Value.String())
	}
	return loaded, err
}

// notFederated is that a command takes single clusters alone.
func notFederated(command string, s *scenario.Scenario) error {
	var names []string
	for _, m := range s.Members {
		names = append(names, m.Name)
	}
	return exit.Input(fmt.Errorf("%s: a federation of clusters is not something that %s can answer yet; name the files of one of its clusters (%s) with --cluster and -f",
		s.File, command, strings.Join(names, ", ")))
}

func (i *input) read(cmd *cobra.Command, s streams, bar *output.Progress, args []string) (*scenario.Scenario, error) {
	defer bar.Clear()
	opts := i.opts
	opts.Plugins, opts.FS = s.plugins, output.Reading{Bar: bar}
	for _, flag := range i.overlay {
		if cmd.Flags().Changed(flag.Name) {
			opts.Flags = append(opts.Flags, flag)
		}
	}
	var err error
	if opts.Operators, err = i.operators.options(); err != nil {
		return nil, err
	}
	var asked string
	if i.nodes != nil {
		if opts.Nodes, err = i.nodes.options(cmd); err != nil {
			return nil, err
		}
		asked = strings.Join(opts.Nodes.Flags, ", ")
	}
	files, _, err := i.named(cmd, opts.FS, args)
	if err != nil {
		return nil, err
	}
	switch {
	case len(i.cluster)+len(files) > 0:
		return loader.FromFiles(s.in, i.cluster, files, opts)
	case len(args) == 0 && asked == "":
		return loader.LoadFS(scenarios.FS, scenarios.Walkthrough, opts)
	case len(args) == 0:
		return nil, exit.Usage(cmd, "%s: no manifests are given that need nodes; give some with -f", asked)
	}
	loaded, err := loader.Load(args[0], opts)
	if err == nil && asked != "" {
		return nil, exit.Usage(cmd, "%s: a scenario has nodes of its own; change its cluster, or give manifests in its place", asked)
	}
	return loaded, err
}

// named returns the files of objects that flags and arguments name, or that an argument is a scenario; then no objects may be named, nor any of
// the flags besides.
func (i *input) named(cmd *cobra.Command, fsys fs.FS, args []string, besides ...string) (files []string, aScenario bool, err error) {
	manifests, err := manifestsAmong(cmd, fsys, args)
	if err != nil {
		return nil, false, err
	}
	files, aScenario = slices.Concat(i.files, manifests), len(args) > len(manifests)
	switch {
	case aScenario && len(i.cluster)+len(i.files)+len(besides) > 0:
		return nil, false, exit.Usage(cmd, "got both a scenario and objects; give a scenario, or objects with --cluster and -f")
	case slices.Contains(i.cluster, manifest.Stdin) && slices.Contains(files, manifest.Stdin):
		return nil, false, exit.Usage(cmd, "standard input can only be read once; give - to --cluster or to -f, not both")
	}
	return files, aScenario, nil
}

// manifestsAmong returns the arguments that are manifests: all of them, or none if one names a scenario. A single argument of which that
// cannot be said is read as a scenario, which says what is wrong with it.
func manifestsAmong(cmd *cobra.Command, fsys fs.FS, args []string) ([]string, error) {
	var scenarios, manifests []string
	var problems []error
	for _, arg := range args {
		isScenario, isManifests := loader.Holds(fsys, arg)
		_, err := os.Stat(arg)
		switch {
		case isManifests || len(args) > 1 && !isScenario && err == nil:
			manifests = append(manifests, arg)
		case len(args) > 1 && !isScenario:
			problems = append(problems, fmt.Errorf("%s: no such file or folder; give manifests, or one scenario", arg))
		default:
			scenarios = append(scenarios, arg)
		}
	}
	switch {
	case len(problems) > 0:
		return nil, errors.Join(problems...)
	case len(scenarios) > 1:
		return nil, exit.Usage(cmd, "got %d scenarios; give at most one", len(scenarios))
	case len(scenarios) == 1 && len(manifests) > 0:
		return nil, exit.Usage(cmd, "%s is a scenario, and %s is not; give one scenario, or manifests alone", scenarios[0], manifests[0])
	}
	return manifests, nil
}

// targetsAmong separates the objects that arguments name, as TYPE/NAME, as TYPE and NAME or as NAMESPACE/TYPE/NAME, from the scenario or the manifests. What is called
// like a type is a file where no name follows, such as web.yaml; in doubt it is given as ./TYPE.
func targetsAmong(args []string) (targets, files []string) {
	for i := 0; i < len(args); i++ {
		target := args[i]
		_, _, err := scenario.ParseTarget(target)
		if err != nil && i+1 < len(args) && !isManifest(args[i+1]) {
			target += "/" + args[i+1]
			if _, _, err = scenario.ParseTarget(target); err == nil {
				i++
			}
		}
		if _, failed := os.Stat(args[i]); err != nil && failed != nil && !isManifest(args[i]) {
			if _, err = scenario.ParseWorkload(args[i]); err == nil {
				target = args[i]
			}
		}
		if err == nil {
			targets = append(targets, target)
		} else {
			files = append(files, args[i])
		}
	}
	return targets, files
}

// target is the object that a word names as kind/name, in the namespace if one is given, or as namespace/kind/name.
func (n *namespace) target(cmd *cobra.Command, target string) (cluster.Ref, error) {
	if kind, name, err := scenario.ParseTarget(target); err == nil {
		return cluster.Ref{Kind: kind, Namespace: n.name, Name: name}, nil
	}
	ref, err := scenario.ParseWorkload(target)
	if err == nil && n.name != "" && n.name != ref.Namespace {
		err = fmt.Errorf("%s is not in the namespace %s that -n gives; leave one out", target, n.name)
	}
	if err != nil {
		return ref, exit.Usage(cmd, "%s", err)
	}
	return ref, nil
}

// nothingNamed is that a command names no object that it could be about. It says which there are in what else is named.
func (c *call) nothingNamed(files []string, problem, remedy string, kinds []string) error {
	for _, file := range files {
		if _, err := os.Stat(file); err != nil && file != manifest.Stdin {
			return c.usage("%s: %q is neither a file nor the name of an object; %s", problem, file, remedy)
		}
	}
	if len(files)+len(c.in.cluster)+len(c.in.files) == 0 {
		return c.usage("%s; %s", problem, remedy)
	}
	loaded, err := c.load(files)
	if err != nil {
		return err
	}
	var names []string
	for _, obj := range loaded.Objects() {
		if ref := cluster.RefTo(obj); slices.Contains(kinds, ref.Kind) && metav1.GetControllerOfNoCopy(obj) == nil && !slices.Contains(names, ref.Qualified()) {
			names = append(names, ref.Qualified())
		}
	}
	return c.usage("%s; %s; %s", problem, remedy, scenario.Choices("", names))
}

// isManifest reports whether a word is the name of a file rather than of an object.
func isManifest(word string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(word))
}
