// Package input reads what a command line simulates: the flags and arguments that name scenarios, objects, nodes and changes.
package input

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/input/live"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/scenarios"
)

// Flags are the flags that select what to simulate.
type Flags struct {
	Cluster, Files []string
	Connection     Connection // to a live cluster, instead of files in Cluster
	Namespace      Namespace
	Changes        Changes
	Steps          Steps
	// Federated says that the command also takes a federation of clusters.
	Federated bool
	// File has the values of flags that replace fields of the scenario file. Options are what other flags tell the loader.
	File    scenario.File
	Options loader.Options
	// Depth is how much of each pod's scheduling cycle is kept. Nil keeps nothing.
	Depth *placement.Depth

	given      *Given     // nil unless a program calls the command
	nodes      *nodeFlags // nil for a command that takes only scenarios
	operators  Operators
	deciders   deciderFlags
	autoscaler autoscalerFlags
	rows       []row // of the table of input flags
	seed       uint64
	explain    bool
}

// Register adds the flags of a command that takes a scenario or manifests.
func (i *Flags) Register(cmd *cobra.Command) {
	i.RegisterFiles(cmd)
	i.RegisterConfiguration(cmd)
}

// RegisterFiles adds the flags that name files of objects or a live cluster, and the flags that make up nodes.
func (i *Flags) RegisterFiles(cmd *cobra.Command) {
	withoutField(cmd, func() { i.registerFiles(cmd) })
	i.nodes = &nodeFlags{}
	asInput(cmd, func() { registerGroup(cmd, nodesGroup, func() { i.nodes.register(cmd) }) })
}

func (i *Flags) registerFiles(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&i.Cluster, "cluster", nil, "read nodes, and what else is there at the start, from this `FILE`, folder or glob, or - for standard input:\n"+
		"Node objects, a kind configuration, a kubectl dump, a snapshot (repeatable)")
	flags.StringArrayVarP(&i.Files, "filename", "f", nil, "read objects to apply from this `FILE`, folder or glob, or - for standard input (repeatable)")
	i.Connection.Register(cmd)
}

// RegisterConfiguration adds the flags that configure the scheduler. It suffices for a command that takes only a scenario.
func (i *Flags) RegisterConfiguration(cmd *cobra.Command) {
	asInput(cmd, func() { i.registerConfiguration(cmd) })
}

func (i *Flags) registerConfiguration(cmd *cobra.Command) {
	registerGroup(cmd, schedulerGroup, func() { i.registerScheduler(cmd) })
	RegisterStrict(cmd, &i.Options.Strict)
	i.RegisterHooks(cmd)
	cmd.Flags().StringVar(&i.Options.Prices, "prices", "", "`FILE` that says what nodes cost an hour, by instance type or other labels: a list, a catalogue, or OpenCost's\ncustom pricing as JSON or CSV (default the nodes' annotation faultline.dev/price-per-hour, or what the scenario says)")
	i.puts("prices", func(file *scenario.File, at string) error {
		file.Prices = RelativeTo(at, []string{i.Options.Prices})[0]
		return nil
	})
	i.operators.Register(cmd)
	i.operators.addRows(i)
}

// RegisterHooks adds --hooks.
func (i *Flags) RegisterHooks(cmd *cobra.Command) {
	cmd.Flags().BoolVar(overlayVar(i, "hooks", "hooks", func(f *scenario.File) *bool { return &f.Hooks }), "hooks", false,
		"also run the objects that Helm or Argo CD runs as hooks, such as the pod of a test or a migration's Job")
}

func (i *Flags) registerScheduler(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&i.Options.SchedulerConfig, "scheduler-config", "", "`FILE` of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)")
	i.puts("scheduler-config", func(file *scenario.File, at string) error {
		file.Scheduler.Config, file.Scheduler.Inline = RelativeTo(at, []string{i.Options.SchedulerConfig})[0], nil
		return nil
	})
	flags.StringVar(&i.Options.FeatureGates, "feature-gates", "", "feature `GATES` of kube-scheduler to set, as NAME=true,NAME=false")
	i.puts("feature-gates", func(file *scenario.File, _ string) error { return putGates(file, i.Options.FeatureGates) })
	i.registerChoice(cmd, "ties", "ties", func(f *scenario.File) *string { return &f.Ties }, []string{"upstream", "random"},
		"`WINNER` among equal nodes: upstream (the first in kube-scheduler's own order) or random\n(default upstream, or what the scenario says)")
	i.registerChoice(cmd, "arrivals", "arrivals", func(f *scenario.File) *string { return &f.Arrivals }, []string{"listed", "random"},
		"`ORDER` of workloads that are applied together, of evictions of a drain and of pods that wait: listed or random\n(default listed, or what the scenario says)")
	i.registerChoice(cmd, "unknown-owners", "unknownOwners", func(f *scenario.File) *string { return &f.UnknownOwners }, []string{"replace", "gone"},
		"`WHAT` becomes of pods whose controllers the input lacks: replace (they come back) or gone\n(default replace, or what the scenario says)")
	flags.BoolVar(overlayVar(i, "as-template", "asTemplate", func(f *scenario.File) *bool { return &f.AsTemplate }), "as-template", false,
		"make new pods as their templates say, without what webhooks added to the running pods of a dump")
	flags.StringSliceVar(overlayVar(i, "enable-admission-plugins", "apiServer.enableAdmissionPlugins", func(f *scenario.File) *[]string { return &f.APIServer.EnableAdmissionPlugins }),
		"enable-admission-plugins", nil, "admission `PLUGINS` to switch on, separated by commas: "+strings.Join(admission.OptionalPlugins(), ", "))
	flags.StringVar(overlayVar(i, "as", "apiServer.as", func(f *scenario.File) *string { return &f.APIServer.As }), "as", "",
		"`USER` who makes the requests, for policies that ask (default kubernetes-admin, or what the scenario says)")
	i.registerChoice(cmd, "storage", "storage", func(f *scenario.File) *string { return &f.Storage }, []string{scenario.StorageAssumed, scenario.StorageNone},
		"`WHETHER` StorageClasses that claims name are made up where the input has none: assumed or none\n(default assumed where all nodes are made up, or what the scenario says)")
	flags.Uint64Var(&i.seed, "seed", 1, "seed `NUMBER` of all random choices, for random ties or arrivals")
	i.AddOverlay("seed", "seed", func(f *scenario.File) { f.Seed = &i.seed })
	if i.Federated {
		i.registerChoice(cmd, "estimate", "federation.estimate", func(f *scenario.File) *string { return &f.Federation.Estimate }, []string{scenario.EstimateKarmada, scenario.EstimateScheduler},
			"`WHO` reckons the room in the clusters of a federation: karmada or scheduler, which asks the clusters' schedulers\n(default karmada, or what the scenario says)")
	}
	RegisterScheduler(cmd, &i.Options)
	i.puts("kubernetes", func(file *scenario.File, _ string) error {
		file.Scheduler.Kubernetes = i.Options.Kubernetes
		return nil
	})
}

// overlayVar returns the variable for a flag that replaces a field of the scenario file.
func overlayVar[T any](i *Flags, flag, path string, field func(*scenario.File) *T) *T {
	i.AddOverlay(flag, path, func(f *scenario.File) { *field(f) = *field(&i.File) })
	return field(&i.File)
}

// registerChoice adds a flag that replaces a field of the scenario file and has few legal values.
func (i *Flags) registerChoice(cmd *cobra.Command, flag, path string, field func(*scenario.File) *string, legal []string, usage string) {
	cmd.Flags().StringVar(overlayVar(i, flag, path, field), flag, "", usage)
	output.CompleteValues(cmd, flag, legal)
}

// RegisterStrict adds --strict, for commands that read dumps.
func RegisterStrict(cmd *cobra.Command, strict *bool) {
	withoutField(cmd, func() {
		cmd.Flags().BoolVar(strict, "strict", false, "reject a dump with anything that this release does not know, instead of setting it aside with a note")
	})
}

// RegisterScheduler adds --plain and the flags of RegisterRelease, for commands that run the scheduler.
func RegisterScheduler(cmd *cobra.Command, opts *loader.Options) {
	withoutField(cmd, func() {
		cmd.Flags().BoolVar(&opts.Plain, "plain", false, "ask the scheduler's plugins everything anew for each pod: the same answer, many times slower")
	})
	RegisterRelease(cmd, opts)
}

// RegisterRelease adds --kubernetes and --no-extenders, for commands that read a scheduler configuration.
func RegisterRelease(cmd *cobra.Command, opts *loader.Options) {
	cmd.Flags().StringVar(&opts.Kubernetes, "kubernetes", "", "answer as Kubernetes `RELEASE`: "+words.Or(sched.Releases())+", a preview\n(default what the scenario says, or the release of the cluster that a dump is of)")
	output.CompleteValues(cmd, "kubernetes", sched.Releases())
	cmd.Flags().BoolVar(&opts.NoExtenders, "no-extenders", false, "ask nothing of the HTTP extenders in the scheduler's configuration")
}

// RegisterExplain adds --explain, for commands that report scheduling decisions.
func (i *Flags) RegisterExplain(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&i.explain, "explain", false, "show every plugin's verdict on the best nodes, for each pod that is placed or rejected")
}

// explainNodes is the number of nodes per pod that --explain keeps.
const explainNodes = 10

// Record returns a function that says how much of a pod's scheduling cycle to keep. A nil function keeps nothing.
func (i *Flags) Record() func(cluster.Ref, *v1.Pod) *placement.Depth {
	depth := i.Depth
	if i.explain {
		depth = &placement.Depth{Nodes: explainNodes}
	}
	if depth == nil {
		return nil
	}
	return func(cluster.Ref, *v1.Pod) *placement.Depth { return depth }
}

// Load reads the scenario that arguments and flags name: a scenario file or folder, or objects from files or a live cluster. Without
// either, it is the kind walkthrough. Manifests among the arguments are read as with -f.
func (i *Flags) Load(cmd *cobra.Command, stdin io.Reader, plugins sched.Registry, bar *output.Progress, args []string) (*scenario.Scenario, error) {
	loaded, err := exit.CallInterruptibly(cmd.Context(), func() (*scenario.Scenario, error) { return i.read(cmd, stdin, plugins, bar, args) })
	if errors.As(err, new(*live.Error)) {
		return nil, err
	}
	if err != nil {
		return nil, exit.InvalidInput(err)
	}
	if err := output.CheckRead(cmd, loaded.File, loaded.Named); err != nil {
		return nil, err
	}
	if loaded.Federated() && !i.Federated {
		return nil, FederationError(cmd.CommandPath(), loaded)
	}
	if loaded, err = i.Changes.apply(cmd, loaded, &i.Namespace); err != nil {
		return nil, err
	}
	if loaded, err = i.Steps.apply(cmd, loaded, i.Namespace.Name); err != nil {
		return nil, err
	}
	if step := cmd.Flags().Lookup("step"); step != nil && step.Value.String() != "" {
		if names := stepsOf(loaded); !slices.Contains(names, step.Value.String()) {
			return nil, exit.Usage(cmd, "--step: there is no step %q; %s", step.Value, scenario.ListChoices(step.Value.String(), names))
		}
	}
	return loaded, nil
}

// FederationError returns the error of a command that takes only single clusters.
func FederationError(command string, s *scenario.Scenario) error {
	var names []string
	for _, m := range s.Members {
		names = append(names, m.Name)
	}
	return exit.InvalidInput(fmt.Errorf("%s: a federation of clusters is not something that %s can answer yet; name the files of one of its clusters (%s) with --cluster and -f",
		s.File, command, strings.Join(names, ", ")))
}

// Live reports whether the input is a live cluster. A plugin of kubectl reads one unless arguments or flags name another input.
func (i *Flags) Live(cmd *cobra.Command, args []string) bool {
	if i.nodes == nil {
		return false
	}
	return HasLiveFlag(cmd) || IsPlugin(cmd) && len(args)+len(i.Cluster)+len(i.nodes.givenFlags(cmd)) == 0
}

func (i *Flags) read(cmd *cobra.Command, stdin io.Reader, plugins sched.Registry, bar *output.Progress, args []string) (*scenario.Scenario, error) {
	defer bar.Clear()
	opts := i.Options
	opts.Plugins = plugins
	if opts.FS == nil {
		opts.FS = output.ProgressFS{Bar: bar}
	}
	opts.FS = i.withGiven(opts.FS)
	var err error
	if opts.Flags, err = i.Overlays(cmd); err != nil {
		return nil, err
	}
	if opts.Operators, err = i.operators.Options(); err != nil {
		return nil, err
	}
	if opts.Deciders, err = i.deciders.options(cmd); err != nil {
		return nil, err
	}
	var asked string
	if i.nodes != nil {
		if opts.Nodes, err = i.nodes.options(cmd); err != nil {
			return nil, err
		}
		asked = strings.Join(opts.Nodes.Flags, ", ")
	}
	files, _, err := i.objectFiles(cmd, opts.FS, args)
	if err != nil {
		return nil, err
	}
	cluster := i.Cluster
	if i.Live(cmd, args) {
		if asked != "" {
			return nil, exit.Usage(cmd, "%s: a live cluster has nodes of its own; leave out these flags, or the cluster", asked)
		}
		var name string
		if name, opts, err = i.Connection.Load(cmd, bar, opts); err != nil {
			return nil, err
		}
		cluster = slices.Concat([]string{name}, cluster)
	}
	switch {
	case len(cluster)+len(files) > 0, len(args) == 0 && asked != "" && opts.Empty:
		return loader.FromFiles(stdin, cluster, files, opts)
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
