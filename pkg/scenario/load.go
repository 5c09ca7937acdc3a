package scenario

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/topology"
)

// WorkloadsStep is the name that the workloads before the first step have on the report.
const WorkloadsStep = "workloads"

// commandLine takes the place of the file in what is wrong with the command line.
const commandLine = "command line"

// FileName is the scenario file of a folder.
const FileName = "scenario.yaml"

// mostMaxPods is the largest legal maxPods, and far from what controllers cannot count any more.
const mostMaxPods = 10_000_000

// Options are what a command line says besides the scenario, or in place of what it says.
type Options struct {
	// SchedulerConfig is the path of a KubeSchedulerConfiguration on the machine, relative to the working directory. It takes
	// the place of any that the scenario has. Default: the scenario's.
	SchedulerConfig string
	// FeatureGates are switched besides the scenario's, or otherwise than there, as kube-scheduler takes them:
	// "A=true,B=false". Default: the scenario's.
	FeatureGates string
	// Dump says that the files are the dump of a real cluster, whatever its objects look like. That its pods are for a scheduler of
	// another name is then how it was, and no problem. Default: it is one of objects without a resourceVersion.
	Dump bool
	// Strict makes a problem of what is set aside of a dump otherwise.
	Strict bool
	// Assume puts nodes in the place of those that the files lack, and notes it: three zones of three nodes of 16 cores and 64Gi. It has
	// no effect on scenario files. Default: a cluster without nodes is a problem.
	Assume bool
	// Operators are given to those that expand custom resources, besides what the scenario says.
	Operators OperatorOptions
}

// Load reads the scenario of a file, or of a folder that holds a scenario.yaml. Every problem of it and of the files it names
// is reported at once, a line each, in one joined error. The scenario's feature gates are the process's from then on, since they
// change what the API server accepts.
func Load(path string, opts Options) (*Scenario, error) {
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
			err = manifest.Regular(path, file)
		}
		if err != nil {
			return nil, err
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file or folder; give a scenario file, or a folder that holds a %s", path, FileName)
	}
	return LoadFS(nil, path, opts)
}

// LoadFS is Load for a file of a file system other than the machine's own; nil is the machine's own.
func LoadFS(fsys fs.FS, path string, opts Options) (*Scenario, error) {
	data, err := manifest.ReadFile(fsys, nil, path)
	if err != nil {
		return nil, err
	}
	l := &loader{file: path, fsys: fsys, dir: filepath.Dir(path), opts: opts, data: data, named: map[string]bool{}}
	file := &File{}
	// A Deployment that is given for a scenario would be told that each of its fields is unknown; its head says it all.
	if file.APIVersion, file.Kind = manifest.Head(data); file.APIVersion != "" && file.Kind != "" {
		if l.head(file); len(l.problems) > 0 {
			return nil, errors.Join(l.problems...)
		}
	}
	if err := manifest.Unmarshal(path, data, file); err != nil {
		return nil, err
	}
	return l.build(file)
}

// ForeignError says that what is given for a scenario is an object of Kubernetes or of something else.
type ForeignError struct {
	// File is the file as it was given; APIVersion and Kind are those of its first document.
	File, APIVersion, Kind string
}

// Error names the file, and says what to do with it.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s: apiVersion %q and kind %q are not a scenario's; give apiVersion: %s and kind: %s, or name this file in a scenario or with -f",
		e.File, e.APIVersion, e.Kind, APIVersion, Kind)
}

// New completes a scenario that a program put together. Paths in it are relative to the working directory. The name stands in
// errors in place of a file's.
func New(name string, file *File) (*Scenario, error) {
	file.APIVersion, file.Kind = APIVersion, Kind
	l := &loader{file: name, named: map[string]bool{}}
	return l.build(file)
}

// FromFiles puts together the scenario of a command line: the nodes of the cluster files and of the others, and one step that
// applies whatever else there is. "-" is the given standard input; paths are relative to the working directory.
func FromFiles(stdin io.Reader, clusterFiles, files []string, opts Options) (*Scenario, error) {
	l := &loader{file: commandLine, stdin: stdin, commandLine: true, opts: opts, named: map[string]bool{}}
	s := &Scenario{Name: commandLine, Ties: sched.Ties{Seed: 1}, TerminationSeconds: terminationSeconds, MaxPods: controller.MaxPods}
	l.featureGates(s, nil)
	l.operators(&Operators{})
	if len(clusterFiles) > 0 {
		s.read.cluster = []reading{l.read(field.NewPath("--cluster"), clusterFiles)}
	}
	if len(files) > 0 {
		step := LoadedStep{Step: Step{Name: "apply", Apply: &Source{Files: files}}}
		l.reading = step.Name
		given := l.read(field.NewPath("-f"), files)
		isNode := func(obj cluster.Object) bool {
			_, is := obj.(*v1.Node)
			return is
		}
		nodes := reading{objects: slices.DeleteFunc(slices.Clone(given.objects), func(obj cluster.Object) bool { return !isNode(obj) })}
		given.objects = slices.Concat(l.install(), slices.DeleteFunc(given.objects, isNode))
		s.read.cluster = append(s.read.cluster, nodes)
		s.read.steps, s.Steps = []reading{given}, []LoadedStep{step}
	}
	l.assemble(s)
	if opts.Assume && len(l.problems) == 0 && len(s.Nodes()) == 0 {
		three := 3
		s.Cluster = append(s.Cluster, l.synthetic(field.NewPath("--cluster"), &topology.Spec{
			Zones: []topology.Zone{{Count: &three}}, NodeGroups: []topology.NodeGroup{{Count: &three, CPU: "16", Memory: "64Gi"}},
		})...)
		l.notes = append(l.notes, "assumed, since no nodes are given: three zones of three nodes of 16 cores and 64Gi.")
	}
	s.Config = l.scheduler(&Scheduler{})
	return l.finish(s)
}

// loader reads what a scenario file names and keeps every problem that it finds.
type loader struct {
	file        string
	dir         string
	fsys        fs.FS
	stdin       io.Reader
	opts        Options
	given       *readings // what was read, for the kinds of custom resources
	commandLine bool      // there is no file whose places errors could name
	lines       *manifest.Lines
	data        []byte          // the file's; nil where there is none
	named       map[string]bool // the files, folders and globs that the scenario and its variants name, as they name them
	problems    []error
	alike       *alike // what variants have in common
	sources     map[string]map[cluster.Ref]manifest.Source
	reading     string // the step whose objects are being read
	incomplete  bool   // some objects could not be read
	ignored     []manifest.Ignored
	flaws       []manifest.Flaw
	notes       []string // of what operators make
	levelKeys   []string
	config      *manifest.Raw // a scheduler configuration found among the objects, as snapshots hold one
}

func (l *loader) build(file *File) (*Scenario, error) {
	s := &Scenario{Name: file.Metadata.Name, Description: strings.TrimSpace(file.Description), Failures: file.Failures, Expect: file.Expect}
	if s.Name == "" {
		s.Name = l.defaultName()
	}
	s.Ties = sched.Ties{Random: file.Ties == "random", Seed: 1}
	s.RandomArrivals = file.Arrivals == "random"
	if s.MaxPods = ptr.Deref(file.MaxPods, controller.MaxPods); s.MaxPods < 1 || s.MaxPods > mostMaxPods {
		l.problem(field.NewPath("maxPods"), "%d is not between 1 and %d", s.MaxPods, mostMaxPods)
		s.MaxPods = controller.MaxPods
	}
	if file.Seed != nil {
		s.Ties.Seed = *file.Seed
	}
	s.TerminationSeconds = ptr.Deref(file.TerminationSeconds, terminationSeconds)
	s.Expects = l.expects("expect")
	l.head(file)
	l.featureGates(s, file.Scheduler.FeatureGates)
	l.operators(&file.Operators)
	l.customResources(file.CustomResources)
	s.read.cluster = l.clusterSources(file.Cluster)
	l.reading = WorkloadsStep
	s.read.workloads = []reading{{objects: l.install()}}
	for i := range file.Workloads {
		s.read.workloads = append(s.read.workloads, l.source(field.NewPath("workloads").Index(i), &file.Workloads[i], false))
	}
	for i := range file.Steps {
		path := field.NewPath("steps").Index(i)
		step := LoadedStep{Step: file.Steps[i]}
		l.reading = step.Name
		step.Expects = l.expects("steps", i, "expect")
		read := reading{patch: step.Patch}
		if step.Apply != nil {
			read = l.source(path.Child("apply"), step.Apply, false)
		}
		if step.Delete != nil && len(step.Delete.Files) > 0 {
			read = l.read(path.Child("delete", "files"), step.Delete.Files)
		}
		s.read.steps, s.Steps = append(s.read.steps, read), append(s.Steps, step)
	}
	l.assemble(s)
	s.Config = l.scheduler(&file.Scheduler)
	l.shapeOfVariants(file.Variants)
	l.shapeOfSweep(file.Sweep)
	s, err := l.finish(s)
	if err != nil {
		return nil, err
	}
	l.variants(s, file.Variants)
	if file.Sweep != nil {
		l.sweep(s, file.Sweep)
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	return s, nil
}

func (l *loader) finish(s *Scenario) (*Scenario, error) {
	l.notes = unique(l.notes, func(note string) string { return note }) // several steps can apply one resource
	s.Ignored, s.Notes, s.LevelKeys, s.sources = l.ignored, l.notes, l.levelKeys, l.sources
	l.checkShape(s)
	l.dump(s)
	if !l.incomplete {
		// Without some of the objects this would report what is not wrong.
		l.walk(s)
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	s.loader = loader{file: l.file, fsys: l.fsys, dir: l.dir, stdin: l.stdin, opts: l.opts, commandLine: l.commandLine, named: l.named,
		given: &s.read, alike: &alike{clusters: map[string]Scenario{}, configs: map[string]*sched.Config{}, changed: map[changed]cluster.Object{}}}
	return s, nil
}

// dump sets aside what a dump holds and a simulation cannot take.
func (l *loader) dump(s *Scenario) {
	if l.opts.Strict || l.incomplete {
		return
	}
	s.Notes = slices.Concat(s.Notes, notesOf(l.flaws), s.setAside())
	if s.Config != nil {
		s.Notes = append(s.Notes, s.waiting()...)
	}
}

// err returns all problems in one.
func (l *loader) err() error {
	// An object that several steps apply is wrong in each of them, and said to be so once.
	return errors.Join(unique(l.problems, error.Error)...)
}

// unique returns the list without what says the same as something before it.
func unique[T any](list []T, says func(T) string) []T {
	said := map[string]bool{}
	return slices.DeleteFunc(list, func(item T) bool {
		again := said[says(item)]
		said[says(item)] = true
		return again
	})
}

// expects tells where the fields of an expect stand; nil where there is no file.
func (l *loader) expects(path ...any) func(field ...any) manifest.Source {
	if l.data == nil {
		return nil
	}
	return func(field ...any) manifest.Source {
		return manifest.Source{File: l.file, Line: l.line(slices.Concat(path, field)...)}
	}
}

// line returns the line of a place in the scenario's file.
func (l *loader) line(path ...any) int {
	if l.lines == nil {
		l.lines = manifest.NewLines(l.data)
	}
	return l.lines.Of(path...)
}

// locate keeps where an object stands that makes pods, or is a budget of them, unless a controller owns it: a dump has thousands of those.
func (l *loader) locate(obj cluster.Object, source manifest.Source) {
	_, budget := obj.(*policyv1.PodDisruptionBudget)
	if spec, _ := cluster.PodSpec(obj); spec == nil && !budget || metav1.GetControllerOfNoCopy(obj) != nil {
		return
	}
	if l.sources == nil {
		l.sources = map[string]map[cluster.Ref]manifest.Source{}
	}
	if l.sources[l.reading] == nil {
		l.sources[l.reading] = map[cluster.Ref]manifest.Source{}
	}
	l.sources[l.reading][cluster.RefTo(obj)] = source
}

func (l *loader) head(file *File) {
	switch {
	case file.APIVersion == APIVersion && file.Kind == Kind:
	case file.Kind == Kind && strings.HasPrefix(file.APIVersion, "faultline/"):
		l.problem(nil, "apiVersion %q of a scenario is not known here; give apiVersion: %s", file.APIVersion, APIVersion)
	case file.APIVersion == "" || file.Kind == "" || file.Kind == Kind || strings.HasPrefix(file.APIVersion, "faultline/"):
		l.problem(nil, "apiVersion %q and kind %q are not a scenario's; give apiVersion: %s and kind: %s", file.APIVersion, file.Kind, APIVersion, Kind)
	default:
		l.problems = append(l.problems, &ForeignError{File: l.file, APIVersion: file.APIVersion, Kind: file.Kind})
	}
	if !slices.Contains([]string{"", "upstream", "random"}, file.Ties) {
		l.problem(field.NewPath("ties"), "%q is neither upstream nor random", file.Ties)
	}
	if !slices.Contains([]string{"", "listed", "random"}, file.Arrivals) {
		l.problem(field.NewPath("arrivals"), "%q is neither listed nor random", file.Arrivals)
	}
	if seconds := ptr.Deref(file.TerminationSeconds, 0); seconds < 0 || seconds > 3600 {
		l.problem(field.NewPath("terminationSeconds"), "%d is not between 0 and 3600", seconds)
	}
}

// terminationSeconds is how long a pod takes to end where the scenario does not say: with it the recorded cases come out as on a real
// control plane; see docs/model.md.
const terminationSeconds = 1

func (l *loader) defaultName() string {
	base := filepath.Base(l.file)
	if base == FileName {
		if dir := filepath.Base(l.dir); dir != "." && dir != ".." && dir != string(filepath.Separator) {
			return dir
		}
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// problem keeps what is wrong at a place; nil is the file as a whole.
func (l *loader) problem(path *field.Path, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if path != nil {
		message = path.String() + ": " + message
	}
	l.problems = append(l.problems, errors.New(manifest.Clean(fmt.Sprintf("%s: %s", l.file, message))))
}
