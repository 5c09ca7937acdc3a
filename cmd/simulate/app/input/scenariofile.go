package input

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// ScenarioFile returns the input of the command line as a scenario file for that path: the scenario or manifests of the arguments, with the
// values of flags in place of its fields. s is the loaded scenario, up to the requested step. The error lists everything that a scenario
// file cannot express.
func (i *Flags) ScenarioFile(cmd *cobra.Command, s *scenario.Scenario, args []string, at string) (*scenario.File, error) {
	cannot := i.scenarioFileProblems(cmd, s, args)
	files, aScenario, err := i.objectFiles(cmd, nil, args)
	if err = errors.Join(append(cannot, err)...); err != nil {
		return nil, err
	}
	var file *scenario.File
	if aScenario {
		file, err = i.readScenario(args, at)
	} else {
		file, err = i.newManifestScenario(cmd, s, files, at)
	}
	if err != nil {
		return nil, err
	}
	file.APIVersion, file.Kind = scenario.APIVersion, scenario.Kind
	if err := i.putFlags(cmd, file, at); err != nil {
		return nil, err
	}
	if s.Autoscaler == nil { // the question is about a cluster without an autoscaler
		file.Autoscaler = nil
	}
	file.TerminationSeconds = ptr.To(s.TerminationSeconds)
	given := len(file.Steps)
	for n, step := range s.Steps {
		if at := slices.IndexFunc(file.Steps[:given], func(of scenario.Step) bool { return of.Name == step.Name }); at < 0 && (step.Apply == nil || len(step.Objects) == 0) && step.Name != scenario.WorkloadsStep {
			file.Steps = append(file.Steps, s.Steps[n].Step)
		}
	}
	file.Steps = slices.DeleteFunc(file.Steps, func(step scenario.Step) bool {
		return s.StepIndex(step.Name) < 0 || len(step.Actions()) == 0 && !step.Fresh
	})
	return file, nil
}

// scenarioFileProblems returns an error for each part of the command line that a scenario file cannot express.
func (i *Flags) scenarioFileProblems(cmd *cobra.Command, s *scenario.Scenario, args []string) []error {
	var cannot []error
	wrong := func(text string) { cannot = append(cannot, errors.New(text)) }
	switch {
	case s.Federated():
		wrong("a federation of clusters cannot be put into it yet; leave it out")
	case i.Live(cmd, args) && i.given == nil:
		wrong("a live cluster cannot be put into a file; write it to one with simulate snapshot, and name that")
	case slices.Contains(slices.Concat(i.Cluster, i.Files, args), manifest.Stdin):
		wrong("standard input cannot be named in a file; write it to a file, and name that")
	case len(i.Cluster)+len(i.Files)+len(args) == 0 && i.given == nil:
		wrong("the built-in walkthrough is in no file; name a scenario or manifests")
	}
	if len(i.operators.kafscale.values) > 1 {
		wrong("--kafscale-values: a scenario file names one file of values; merge them")
	}
	return append(cannot, i.withoutRow(cmd)...)
}

// newManifestScenario returns a scenario file that names these files. They are its cluster if no other cluster is given and they have nodes.
func (i *Flags) newManifestScenario(cmd *cobra.Command, s *scenario.Scenario, files []string, at string) (*scenario.File, error) {
	file := &scenario.File{}
	applied, err := i.source(files, at)
	if err != nil {
		return nil, err
	}
	apply := scenario.Step{Name: "apply", Apply: applied}
	cluster := i.Cluster
	if i.Live(cmd, nil) { // somebody receives the file, and takes the snapshot
		cluster = slices.Concat([]string{SnapshotFile(i.given.Dump.Name)}, cluster)
	}
	switch {
	case len(cluster) > 0:
		file.Cluster = []scenario.Source{{Files: RelativeTo(at, cluster)}}
	case s.MadeUp:
		made, err := i.nodes.options(cmd)
		if err != nil {
			return nil, err
		}
		file.Cluster = []scenario.Source{{Synthetic: &made.Spec}}
	default:
		file.Cluster, files = []scenario.Source{{Files: RelativeTo(at, files)}}, nil
	}
	if len(files) > 0 {
		file.Steps = []scenario.Step{apply}
	}
	return file, nil
}

// readScenario reads a scenario file as it is written, without its expectations, questions, variants and sweep. Its paths become relative
// to the folder of the file at.
func (i *Flags) readScenario(args []string, at string) (*scenario.File, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("give one scenario, got %d", len(args))
	}
	path := args[0]
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, loader.FileName)
	}
	data, err := manifest.ReadFile(i.withGiven(output.ProgressFS{Bar: output.NewProgress(io.Discard)}), nil, path)
	if err != nil {
		return nil, err
	}
	document, err := manifest.Document(path, data)
	if err != nil {
		return nil, err
	}
	file := &scenario.File{}
	if err := manifest.Unmarshal(path, document, file); err != nil {
		return nil, err
	}
	beside := func(names []string) []string {
		var all []string
		for _, name := range names {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(path), name)
			}
			all = append(all, name)
		}
		return RelativeTo(at, all)
	}
	one := func(name *string) {
		if *name != "" {
			*name = beside([]string{*name})[0]
		}
	}
	one(&file.Prices)
	for _, sources := range [][]scenario.Source{file.Cluster, file.Workloads} {
		for n := range sources {
			sources[n].Files = beside(sources[n].Files)
		}
	}
	for n := range file.Steps {
		step := &file.Steps[n]
		if step.Apply != nil {
			step.Apply.Files = beside(step.Apply.Files)
		}
		if step.Delete != nil {
			step.Delete.Files = beside(step.Delete.Files)
		}
		step.Expect, step.Questions = nil, nil
	}
	file.Expect, file.Variants, file.Sweep = nil, nil, nil
	one(&file.Scheduler.Config)
	if file.Operators.KafScale != nil {
		one(&file.Operators.KafScale.Values)
	}
	if file.Operators.Hydrolix != nil {
		one(&file.Operators.Hydrolix.Profile)
	}
	return file, nil
}

// putGates sets feature gates, which have kube-scheduler's form: "A=true,B=false".
func putGates(file *scenario.File, gates string) error {
	for _, gate := range strings.FieldsFunc(gates, func(r rune) bool { return r == ',' }) {
		name, value, _ := strings.Cut(gate, "=")
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("--feature-gates %q: %w", gate, err)
		}
		if file.Scheduler.FeatureGates == nil {
			file.Scheduler.FeatureGates = map[string]bool{}
		}
		file.Scheduler.FeatureGates[strings.TrimSpace(name)] = on
	}
	return nil
}

// RelativeTo returns the paths relative to the folder of a file, as a scenario names them.
func RelativeTo(file string, paths []string) []string {
	var all []string
	for _, path := range paths {
		if from, err := filepath.Abs(filepath.Dir(file)); err == nil {
			if to, err := filepath.Abs(path); err == nil {
				if relative, err := filepath.Rel(from, to); err == nil {
					path = filepath.ToSlash(relative)
				}
			}
		}
		all = append(all, path)
	}
	return all
}
