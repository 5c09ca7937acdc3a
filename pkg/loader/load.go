// Package loader reads a scenario and what it names: files, dumps, custom resources, the configuration of the scheduler. The scenario that
// it returns is complete. It reports all problems of the files at once.
package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/check"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// FileName is the name of the scenario file in a folder.
const FileName = "scenario.yaml"

// Options are the settings of a command line. They add to the scenario, or take the place of its fields.
type Options struct {
	// FS is read in place of the machine's own file system, and has the same paths. Default: the machine's own.
	FS fs.FS
	// SchedulerConfig is the path of a KubeSchedulerConfiguration on the machine, relative to the working directory. It takes
	// the place of any that the scenario has. Default: the scenario's.
	SchedulerConfig string
	// Prices is the path of a file of prices on the machine, relative to the working directory; see scenario.File. Default: the scenario's.
	Prices string
	// Kubernetes takes the place of the scenario's release; see scenario.Scheduler. Default: the scenario's, or that of the cluster.
	Kubernetes string
	// Server is the version of the API server that has the objects, such as v1.35.4. Default: the nodes' kubelets say which release it is.
	Server string
	// FeatureGates add to the scenario's feature gates, and win over them. They have kube-scheduler's form: "A=true,B=false". Default: the
	// scenario's.
	FeatureGates string
	// Dump says that the files are the dump of a real cluster, even if the objects have no resourceVersion. A pod of a dump may name a
	// scheduler that the simulation lacks; this is no problem. Default: the objects with a resourceVersion are from a dump.
	Dump bool
	// Strict reports a problem for each object of a dump that the loader would otherwise set aside.
	Strict bool
	// Empty says that the scenario may have no workload, since clients of the cluster create them later.
	Empty bool
	// Nodes are made up for files that have none. They have no effect on scenario files. Default: a cluster without nodes is a problem.
	Nodes *Nodes
	// Limits bound the scenario. A scenario that exceeds them ends the loading with a scenario.LimitError, or is a problem of the workload
	// that asks for too much. Default: none.
	Limits scenario.Limits
	// Plain makes the scheduler ask its plugins anew for each pod, without caches; see sched.Config.Plain.
	Plain bool
	// ConfigOptions apply to every configuration of a scheduler.
	sched.ConfigOptions
	// Operators adds to the options of operators in the scenario.
	Operators OperatorOptions
	// Flags take the place of fields of the scenario. Default: none.
	Flags []Flag
	// Deciders says which programs may decide beside the scheduler. Default: none.
	Deciders *Deciders
	// Unread lists the kinds whose objects could not all be read from the cluster. Default: none.
	Unread []string
	// Notes come from the reader of the files: what the files lack, and what that means for an answer. Default: none.
	Notes []string

	// dumpPodGroups lists the pod groups that objects of a dump name. It is set when the loader reads the input for the second time, with the
	// feature gate that keeps the names of groups.
	dumpPodGroups []string
	// dumpRelease is the release of the cluster. It is set when the loader reads the input for the second time, as that release.
	dumpRelease string
}

// Flag is a flag of a command line that sets a field of the scenario. The loader checks its value like that of the field.
type Flag struct {
	// Name is the name of the flag, and Path the path of the field, such as ties or federation.estimate.
	Name, Path string
	// Set puts the flag's value into the field.
	Set func(*scenario.File)
}

// Load reads the scenario of a file, or of a folder that holds a scenario.yaml. The error joins all problems of the scenario and of the
// files that it names, a line each. During the loading, the process has the scenario's feature gates, since they change what the API server
// accepts.
func Load(path string, opts Options) (*scenario.Scenario, error) {
	if path == "" {
		return nil, fmt.Errorf("the path of the scenario is empty; give a scenario file, or a folder that holds a %s", FileName)
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		file, err := os.Stat(filepath.Join(path, FileName))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: there is no %s in this folder; give a scenario file, or a folder that holds one", path, FileName)
		}
		path = filepath.Join(path, FileName)
		if err == nil {
			err = manifest.CheckRegular(path, file)
		}
		if err != nil {
			return nil, err
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file or folder; give a scenario file, or a folder that holds a %s", path, FileName)
	}
	return LoadFS(opts.FS, path, opts)
}

// LoadFS is [Load] for a file of another file system; nil is the machine's own.
func LoadFS(fsys fs.FS, path string, opts Options) (*scenario.Scenario, error) {
	return LoadContext(context.Background(), fsys, path, opts)
}

// LoadContext is [LoadFS] with a context. If the context ends first, the error is its cause.
func LoadContext(ctx context.Context, fsys fs.FS, path string, opts Options) (*scenario.Scenario, error) {
	l := newLoader(path, opts)
	l.ctx, l.stop = context.WithCancelCause(ctx)
	defer l.stop(nil)
	s, err := l.loadFile(fsys, path)
	if again, found := l.optionsToReread(); found && !l.ended() {
		return LoadContext(ctx, fsys, path, again)
	}
	if l.ended() {
		return nil, context.Cause(l.ctx)
	}
	return s, err
}

func (l *loader) loadFile(fsys fs.FS, path string) (*scenario.Scenario, error) {
	file := &scenario.File{}
	if file.APIVersion, file.Kind = manifest.ListHead(fsys, path); file.APIVersion != "" && file.Kind != "" { // a dump, which may be large
		l.checkHead(file)
		return nil, l.problems.Err()
	}
	data, err := manifest.ReadFile(fsys, nil, path)
	if err != nil {
		return nil, err
	}
	l.fsys, l.dir = fsys, filepath.Dir(path)
	return l.decodeFile(path, data)
}

// LoadStdin is [Load] for the scenario on the standard input. Its paths are relative to the working directory.
func LoadStdin(stdin io.Reader, opts Options) (*scenario.Scenario, error) {
	const name = "standard input"
	data, err := manifest.ReadFile(nil, stdin, manifest.Stdin)
	if err != nil {
		return nil, err
	}
	l := newLoader(name, opts)
	s, err := l.decodeFile(name, data)
	if again, found := l.optionsToReread(); found {
		return newLoader(name, again).decodeFile(name, data)
	}
	return s, err
}

// decodeFile builds the scenario of a file with this content.
func (l *loader) decodeFile(path string, data []byte) (*scenario.Scenario, error) {
	l.data = data
	file := &scenario.File{}
	// For a Deployment in place of a scenario, its kind is the one error worth printing, not that each of its fields is unknown.
	document, unread := manifest.Document(path, data)
	if unread != nil {
		document = data // its beginning may be readable
	}
	if file.APIVersion, file.Kind = manifest.Head(document); file.APIVersion != "" && file.Kind != "" {
		if l.checkHead(file); l.problems.Len() > 0 {
			return nil, l.problems.Err()
		}
	}
	if unread != nil {
		return nil, unread
	}
	file = &scenario.File{}
	if err := manifest.Unmarshal(path, document, file); err != nil && file.Kind == "" {
		return nil, err // nothing could be read
	} else if err != nil {
		l.problems.AddUnread(err)
		l.incomplete = true
	}
	return l.buildScenario(file)
}

// foreignError says that a file is not a scenario, but an object of Kubernetes or of something else.
type foreignError struct {
	// File is the file as it was given; APIVersion and Kind are those of its first document.
	File, APIVersion, Kind string
}

// Error names the file, and says what to do with it.
func (e *foreignError) Error() string {
	return fmt.Sprintf("%s: apiVersion %q and kind %q are not a scenario's; give apiVersion: %s and kind: %s, or name this file in a scenario or with -f",
		e.File, e.APIVersion, e.Kind, scenario.APIVersion, scenario.Kind)
}

// New completes a scenario that a program put together. Its paths are relative to the working directory. Errors show the name where they
// would show the scenario's file.
func New(name string, file *scenario.File) (*scenario.Scenario, error) {
	file.APIVersion, file.Kind = scenario.APIVersion, scenario.Kind
	l := newLoader(name, Options{})
	s, err := l.buildScenario(file)
	if again, found := l.optionsToReread(); found {
		return newLoader(name, again).buildScenario(file)
	}
	return s, err
}

// FromFiles makes a scenario from the files of a command line. Its cluster has the objects of the cluster files and the nodes of the other
// files. Its one step applies the other objects of the other files. "-" is the given standard input; paths are relative to the working
// directory.
func FromFiles(stdin io.Reader, clusterFiles, files []string, opts Options) (*scenario.Scenario, error) {
	l := newLoader(scenario.CommandLine, opts)
	var read bytes.Buffer
	if l.stdin = stdin; stdin != nil {
		l.stdin = io.TeeReader(stdin, &read)
	}
	s, err := l.loadFiles(clusterFiles, files)
	if again, found := l.optionsToReread(); found {
		return FromFiles(&read, clusterFiles, files, again)
	}
	return s, err
}

func (l *loader) loadFiles(clusterFiles, files []string) (*scenario.Scenario, error) {
	s := &scenario.Scenario{Name: scenario.CommandLine, TerminationSeconds: terminationSeconds, MaxPods: controller.MaxPods}
	for _, file := range slices.Concat(clusterFiles, files) {
		if file != "-" {
			s.Files = append(s.Files, filepath.Base(file))
		}
	}
	file := &scenario.File{}
	l.overlay(s, file)
	defer l.switchRelease(&file.Scheduler)()
	l.mergeOperatorOptions(&scenario.Operators{})
	l.readPrices("")
	var read scenarioContent
	if len(clusterFiles) > 0 {
		read.cluster = []sourceContent{l.readFiles(field.NewPath("--cluster"), clusterFiles)}
	}
	if len(files) > 0 {
		step := scenario.LoadedStep{Step: scenario.Step{Name: "apply", Apply: &scenario.Source{Files: files}}}
		l.step = step.Name
		given := l.readFiles(field.NewPath("-f"), files)
		isNode := func(obj cluster.Object) bool {
			_, is := obj.(*v1.Node)
			return is
		}
		nodes := sourceContent{objects: list.Where(given.objects, isNode)}
		given.objects = slices.Concat(l.installOperators(), slices.DeleteFunc(given.objects, isNode))
		read.cluster = append(read.cluster, nodes)
		read.steps, s.Steps = []sourceContent{given}, []scenario.LoadedStep{step}
	}
	if l.releaseToReread = l.findReleaseToReread(); l.releaseToReread != "" {
		return nil, nil // the caller reads the input again
	}
	l.assemble(s, &read)
	if !l.incomplete {
		l.makeNodes(s, len(clusterFiles) > 0)
	}
	s.Config = l.readSchedulerConfig(&scenario.Scheduler{})
	if l.finishScenario(s); l.problems.Len() > 0 {
		return nil, l.problems.Err()
	}
	return s, nil
}

// buildScenario completes the scenario of a file. It returns nil, nil if the input has to be read again as another release.
func (l *loader) buildScenario(file *scenario.File) (*scenario.Scenario, error) {
	s := &scenario.Scenario{Name: file.Metadata.Name, Description: strings.TrimSpace(file.Description), Expect: file.Expect}
	if s.Name == "" {
		s.Name = l.defaultName()
	}
	if s.MaxPods = ptr.Deref(file.MaxPods, controller.MaxPods); s.MaxPods < 1 {
		s.MaxPods = controller.MaxPods
	}
	if s.Limits = l.opts.Limits; s.Limits.Pods > 0 {
		s.MaxPods = min(s.MaxPods, s.Limits.Pods)
	}
	s.TerminationSeconds = ptr.Deref(file.TerminationSeconds, terminationSeconds)
	s.Expects = l.expectationPlaces(file.Expect, "expect")
	l.overlay(s, file)
	l.checkHead(file)
	defer l.switchRelease(&file.Scheduler)()
	l.mergeOperatorOptions(&file.Operators)
	l.addCustomResourceRules(file.CustomResources)
	l.readPrices(file.Prices)
	read := &scenarioContent{cluster: l.readClusters(s, file)}
	if l.releaseToReread = l.findReleaseToReread(); l.releaseToReread != "" {
		return nil, nil // the caller reads the input again
	}
	l.step = scenario.WorkloadsStep
	read.workloads = []sourceContent{{objects: l.installOperators()}}
	for i := 0; i < len(file.Workloads) && !l.ended(); i++ {
		read.workloads = append(read.workloads, l.readSource(field.NewPath("workloads").Index(i), &file.Workloads[i], false))
	}
	for i := 0; i < len(file.Steps) && !l.ended(); i++ {
		path := field.NewPath("steps").Index(i)
		step := scenario.LoadedStep{Step: file.Steps[i]}
		l.step = step.Name
		step.Expects = l.expectationPlaces(step.Expect, "steps", i, "expect")
		given := sourceContent{patch: step.Patch}
		if step.Apply != nil {
			given = l.readSource(path.Child("apply"), step.Apply, false)
		}
		if step.Delete != nil && len(step.Delete.Files) > 0 {
			given = l.readFiles(path.Child("delete", "files"), step.Delete.Files)
		}
		if step.Join != nil && l.federation != nil {
			joined := l.readMember(path.Child("join"), step.Join)
			step.Karmada.Joined = &joined
		}
		read.steps, s.Steps = append(read.steps, given), append(s.Steps, step)
	}
	l.assemble(s, read)
	if l.ended() {
		return nil, context.Cause(l.ctx)
	}
	s.Config = l.readSchedulerConfig(&file.Scheduler)
	before := l.problems.Len()
	scenario.ValidateVariants(l.problems, file.Variants, l.patchesResource)
	scenario.ValidateSweep(l.problems, file.Sweep)
	invalid := l.problems.Len() > before
	if l.finishScenario(s); l.incomplete || invalid || l.ended() {
		return nil, l.problems.Err()
	}
	v := newVariantReader(l, s)
	v.readVariants(file.Variants)
	v.readSweep(file.Sweep)
	if err := l.problems.Err(); err != nil {
		return nil, err
	}
	s.Named = slices.Sorted(maps.Keys(l.namedFiles))
	return s, nil
}

// finishScenario completes the scenario with notes, prices, assumed claims and owners, and checks it.
func (l *loader) finishScenario(s *scenario.Scenario) {
	l.assumeObjects(s)
	l.notes = append(l.notes, l.joinAskedPodGroups(s)...)
	s.File, s.Named, s.Dump, s.Strict, s.Empty = l.problems.File, slices.Sorted(maps.Keys(l.namedFiles)), l.opts.Dump, l.opts.Strict, l.opts.Empty
	s.Ignored, s.Notes, s.LevelKeys, s.Sources = l.ignored, slices.Concat(list.Distinct(l.notes), noteHooks(l.hooks), noteIgnoredPodGroups(list.Distinct(l.ignoredPodGroups)), noteDumpPodGroups(s, l.opts.dumpPodGroups, l.askedPodGroups)), l.levelKeys, l.sources
	s.Notes = append(s.Notes, noteUnevaluated(s)...)
	s.Notes = append(s.Notes, l.noteRelease()...)
	s.Notes = append(s.Notes, noteOlderKeys(s.Nodes())...)
	scenario.ValidateSteps(l.problems, s, func(target scenario.Target) bool { return l.ended() || l.inputContent.holdsResource(target) })
	l.checkResources(s)
	l.adoptDump(s)
	l.nodeGroups(s)
	l.reportNodesSetAside(s)
	l.reportRoomlessNodes(s)
	if l.incomplete {
		check.Nodes(l.ctx, l.problems, s)
	} else {
		check.Check(l.ctx, l.problems, s)
	}
}

// assumeObjects gives the scenario the claims and volumes that its pods use and its objects lack, and its nodes their prices.
func (l *loader) assumeObjects(s *scenario.Scenario) {
	l.assumeClaims(s)
	l.annotatePrices(s.Objects())
}

// adoptDump makes of the objects of a dump what the cluster has: pods with the times of their last attempts, the objects that a simulation can
// take, the controllers that the dump lacks, and pods that were admitted.
func (l *loader) adoptDump(s *scenario.Scenario) {
	setLastAttempts(s)
	l.adaptDump(s)
	l.addOwners(s)
	s.KeepAdmitted()
}

// optionsToReread returns the options for a second reading, if the objects prove that their cluster has another release, or pod groups.
func (l *loader) optionsToReread() (Options, bool) {
	if opts := l.opts; l.releaseToReread != "" {
		opts.dumpRelease = l.releaseToReread
		return opts, true
	}
	return l.optionsWithPodGroups()
}

// checkHead reports a file whose apiVersion and kind are not a scenario's.
func (l *loader) checkHead(file *scenario.File) {
	switch {
	case file.APIVersion == scenario.APIVersion && file.Kind == scenario.Kind:
	case file.Kind == scenario.Kind && strings.HasPrefix(file.APIVersion, "faultline/"):
		l.problems.Add(nil, "apiVersion %q of a scenario is not supported; give apiVersion: %s", file.APIVersion, scenario.APIVersion)
	case file.APIVersion == "" || file.Kind == "" || file.Kind == scenario.Kind || strings.HasPrefix(file.APIVersion, "faultline/"):
		l.problems.Add(nil, "apiVersion %q and kind %q are not a scenario's; give apiVersion: %s and kind: %s", file.APIVersion, file.Kind, scenario.APIVersion, scenario.Kind)
	default:
		l.problems.AddErrors(&foreignError{File: l.problems.File, APIVersion: file.APIVersion, Kind: file.Kind})
	}
}

// overlay puts the values of flags into the file, and copies the fields on ties, failures and the API server from the file into the
// scenario.
func (l *loader) overlay(s *scenario.Scenario, file *scenario.File) {
	for _, flag := range l.opts.Flags {
		flag.Set(file)
		l.problems.Flags[flag.Path] = flag.Name
	}
	if l.opts.Kubernetes != "" {
		file.Scheduler.Kubernetes = l.opts.Kubernetes
		l.problems.Flags["scheduler.kubernetes"] = "kubernetes"
	}
	if l.releaseGiven = file.Scheduler.Kubernetes != ""; !l.releaseGiven {
		file.Scheduler.Kubernetes = l.opts.dumpRelease
	}
	if file.Ties == "" && sched.RandomTies(file.Scheduler.Kubernetes) {
		file.Ties = "random"
	}
	s.Failures, s.Ties = file.Failures, sched.Ties{Random: file.Ties == "random", Arrivals: file.Arrivals == "random", Seed: ptr.Deref(file.Seed, 1)}
	s.Autoscaler = file.Autoscaler
	l.findDeciders(s, file.Deciders)
	l.hasDeciders = len(s.Deciders) > 0
	s.AsTemplate, s.PlaceAnew = file.AsTemplate, file.Fresh
	s.APIServer = cluster.APIServer{Plugins: file.APIServer.EnableAdmissionPlugins, User: file.APIServer.As}
	s.Unread = l.opts.Unread
	l.ownersGone, l.storageMode, l.runsHooks = file.UnknownOwners == "gone", file.Storage, file.Hooks
	scenario.ValidateFile(l.problems, file)
}

// terminationSeconds is how many seconds a pod takes to end if the scenario does not say. With this value, the recorded cases come out as
// on a real control plane; see docs/model.md.
const terminationSeconds = 1

// defaultName returns the name of a scenario without one: the name of its folder if the file is a [FileName], else the name of the file
// without its extension.
func (l *loader) defaultName() string {
	base := filepath.Base(l.problems.File)
	if base == FileName {
		if dir := filepath.Base(l.dir); dir != "." && dir != ".." && dir != string(filepath.Separator) {
			return dir
		}
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}
