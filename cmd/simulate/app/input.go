package app

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

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
	flags.StringArrayVar(&i.cluster, "cluster", nil, "file, folder or glob with the nodes: Node objects, a kind configuration, a kubectl dump (repeatable)")
	flags.StringArrayVarP(&i.files, "filename", "f", nil, "file, folder or glob with Kubernetes objects to apply, or - for standard input (repeatable)")
	flags.StringVar(&i.schedulerConfig, "scheduler-config", "", "KubeSchedulerConfiguration file (kubescheduler.config.k8s.io/v1)")
	flags.StringVar(&i.featureGates, "feature-gates", "", "kube-scheduler feature gates, as Name=true,Name=false")
	flags.StringVar(&i.ties, "ties", "", "who wins among equal nodes: upstream (the first in kube-scheduler's own order) or random (default upstream)")
	flags.Uint64Var(&i.seed, "seed", 1, "seed of the random choices; with --ties random")
}

// load reads the scenario that the arguments and flags name: a scenario file or folder, objects by flags, or, without either,
// the kind walkthrough.
func (i *input) load(cmd *cobra.Command, s streams, args []string) (*scenario.Scenario, error) {
	// Gates change what the API server accepts, too: they come first.
	if i.featureGates != "" {
		if err := sched.SetFeatureGates(i.featureGates); err != nil {
			return nil, &inputError{err: err}
		}
	}
	loaded, err := i.read(cmd, s, args)
	if err != nil {
		return nil, err
	}
	switch i.ties {
	case "":
	case "upstream":
		loaded.Ties.Random = false
	case "random":
		loaded.Ties.Random = true
	default:
		return nil, usage(cmd, "--ties: %q is neither upstream nor random", i.ties)
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
	case len(args) == 0 && !byFlags && i.schedulerConfig == "":
		return asInput(scenario.LoadFS(scenarios.FS, scenarios.Walkthrough))
	case len(args) == 0 && !byFlags:
		return nil, usage(cmd, "--scheduler-config needs a scenario or objects; give a scenario, or --cluster and -f")
	case len(args) > 0:
		if _, err := os.Stat(args[0]); err != nil {
			return nil, &inputError{err: fmt.Errorf("%s: no such file or folder", args[0]), hint: "give a scenario file, or a folder that holds a " + scenario.FileName}
		}
		loaded, err := asInput(scenario.Load(args[0]))
		if err != nil || i.schedulerConfig == "" {
			return loaded, err
		}
		data, err := os.ReadFile(i.schedulerConfig)
		if err != nil {
			return nil, &inputError{err: err}
		}
		if loaded.Config, err = sched.LoadConfig(i.schedulerConfig, data); err != nil {
			return nil, &inputError{err: err}
		}
		return loaded, nil
	}
	return asInput(scenario.FromFiles(s.in, i.cluster, i.files, i.schedulerConfig))
}

// asInput marks what is wrong with a scenario as wrong input.
func asInput(s *scenario.Scenario, err error) (*scenario.Scenario, error) {
	if err != nil && !errors.As(err, new(*inputError)) {
		return nil, &inputError{err: err}
	}
	return s, err
}
