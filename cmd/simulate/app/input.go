package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/sched"
	"github.com/faultline/faultline/scenarios"
)

// input are the flags that say what is simulated.
type input struct {
	cluster         []string
	files           []string
	schedulerConfig string
	featureGates    string
	ties            string
	seed            uint64
}

func (i *input) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&i.cluster, "cluster", nil, "nodes, and what is there at the start, from this `FILE`, folder or glob, or - for standard input:\n"+
		"Node objects, a kind configuration, a kubectl dump, a snapshot (repeatable)")
	flags.StringArrayVarP(&i.files, "filename", "f", nil, "objects to apply, from this `FILE`, folder or glob, or - for standard input (repeatable)")
	flags.StringVar(&i.schedulerConfig, "scheduler-config", "", "`FILE` of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)")
	flags.StringVar(&i.featureGates, "feature-gates", "", "kube-scheduler's feature `GATES` to switch, as NAME=true,NAME=false")
	flags.StringVar(&i.ties, "ties", "", "`WINNER` among equal nodes: upstream, the first in kube-scheduler's own order, or random\n(default upstream, or what the scenario says)")
	flags.Uint64Var(&i.seed, "seed", 1, "`NUMBER` from which all random choices follow; with random ties")
	// An error would say that there is no such flag.
	_ = cmd.RegisterFlagCompletionFunc("ties", cobra.FixedCompletions([]string{"upstream", "random"}, cobra.ShellCompDirectiveNoFileComp))
}

// load reads the scenario that the arguments and flags name: a scenario file or folder, objects by flags, or, without either,
// the kind walkthrough.
func (i *input) load(cmd *cobra.Command, s streams, args []string) (*scenario.Scenario, error) {
	if !slices.Contains([]string{"", "upstream", "random"}, i.ties) {
		return nil, usage(cmd, "--ties: %q is neither upstream nor random", i.ties)
	}
	// Gates change what the API server accepts, too: they come first.
	if i.featureGates != "" {
		if err := sched.SetFeatureGates(i.featureGates); err != nil {
			return nil, asInput(err)
		}
	}
	loaded, err := i.read(cmd, s, args)
	if err != nil {
		return nil, asInput(err)
	}
	if i.featureGates != "" { // The last word on a gate counts.
		loaded.FeatureGates = strings.TrimPrefix(loaded.FeatureGates+","+i.featureGates, ",")
	}
	if i.ties != "" {
		loaded.Ties.Random = i.ties == "random"
	}
	if cmd.Flags().Changed("seed") {
		if !loaded.Ties.Random {
			return nil, usage(cmd, "--seed has no effect unless equal nodes are chosen at random; give --ties random too")
		}
		loaded.Ties.Seed = i.seed
	}
	return loaded, nil
}

func (i *input) read(cmd *cobra.Command, s streams, args []string) (*scenario.Scenario, error) {
	byFlags := len(i.cluster)+len(i.files) > 0
	switch {
	case len(args) > 0 && byFlags:
		return nil, usage(cmd, "give a scenario, or objects with --cluster and -f, not both")
	case slices.Contains(i.cluster, manifest.Stdin) && slices.Contains(i.files, manifest.Stdin):
		return nil, usage(cmd, "standard input is read once; give - to --cluster or to -f, not both")
	case byFlags:
		return scenario.FromFiles(s.in, i.cluster, i.files, i.schedulerConfig)
	}
	var loaded *scenario.Scenario
	var err error
	if len(args) == 0 {
		loaded, err = scenario.LoadFS(scenarios.FS, scenarios.Walkthrough)
	} else {
		loaded, err = loadScenario(args[0])
	}
	if err != nil || i.schedulerConfig == "" {
		return loaded, err
	}
	data, err := manifest.ReadFile(nil, i.schedulerConfig)
	if err != nil {
		return nil, err
	}
	loaded.Config, err = sched.LoadConfig(i.schedulerConfig, data)
	return loaded, err
}

// loadScenario reads the scenario of a file or folder.
func loadScenario(path string) (*scenario.Scenario, error) {
	const wanted = "give a scenario file, or a folder that holds a " + scenario.FileName
	if path == "" {
		return nil, errors.New("the path of the scenario is empty; " + wanted)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: no such file or folder; %s", path, wanted)
	}
	if info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, scenario.FileName)); err != nil {
			return nil, fmt.Errorf("%s: no %s in this folder; %s", path, scenario.FileName, wanted)
		}
	}
	return scenario.Load(path)
}

// asInput marks what is wrong with a scenario as wrong input.
func asInput(err error) error {
	if errors.As(err, new(*inputError)) {
		return err
	}
	return &inputError{err: err}
}
