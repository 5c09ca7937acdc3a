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
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/manifest"
	"github.com/faultline/faultline/pkg/sched"
	"github.com/faultline/faultline/pkg/topology"
)

// FileName is the scenario file of a folder.
const FileName = "scenario.yaml"

// Load reads the scenario of a file, or of a folder that holds a scenario.yaml. Every problem of it and of the files it names
// is reported at once, a line each, in one joined error.
func Load(path string) (*Scenario, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	return LoadFS(nil, path)
}

// LoadFS is Load for a file system other than the machine's own; nil is the machine's own.
func LoadFS(fsys fs.FS, path string) (*Scenario, error) {
	data, err := manifest.ReadFile(fsys, path)
	if err != nil {
		return nil, err
	}
	file := &File{}
	if err := manifest.Unmarshal(path, data, file); err != nil {
		return nil, err
	}
	l := &loader{file: path, fsys: fsys, dir: filepath.Dir(path)}
	return l.build(file)
}

// New completes a scenario that a program put together. Paths in it are relative to the working directory. The name stands in
// errors in place of a file's.
func New(name string, file *File) (*Scenario, error) {
	file.APIVersion, file.Kind = APIVersion, Kind
	l := &loader{file: name}
	return l.build(file)
}

// FromFiles puts together the scenario of a command line: the nodes of the cluster files and of the others, and one step that
// applies whatever else there is. "-" is the given standard input; paths are relative to the working directory.
func FromFiles(stdin io.Reader, clusterFiles, files []string, schedulerConfig string) (*Scenario, error) {
	l := &loader{file: "command line", stdin: stdin}
	path := field.NewPath("files")
	s := &Scenario{Name: "command line", Ties: sched.Ties{Seed: 1}}
	if len(clusterFiles) > 0 {
		s.Cluster = l.read(path, clusterFiles)
	}
	step := LoadedStep{Step: Step{Name: "apply", Apply: &Source{Files: files}}}
	if len(files) > 0 {
		for _, obj := range l.read(path, files) {
			if _, isNode := obj.(*v1.Node); isNode {
				s.Cluster = append(s.Cluster, obj)
			} else {
				step.Objects = append(step.Objects, obj)
			}
		}
		s.Steps = []LoadedStep{step}
	}
	s.Config = l.scheduler(&Scheduler{Config: schedulerConfig})
	return l.finish(s)
}

// loader reads what a scenario file names and keeps every problem that it finds.
type loader struct {
	file      string
	dir       string
	fsys      fs.FS
	stdin     io.Reader
	problems  []error
	ignored   []manifest.Ignored
	levelKeys []string
	config    *manifest.Raw // a scheduler configuration found among the objects, as snapshots hold one
}

func (l *loader) build(file *File) (*Scenario, error) {
	s := &Scenario{Name: file.Metadata.Name, Description: strings.TrimSpace(file.Description)}
	l.head(file)
	if s.Name == "" {
		s.Name = l.defaultName()
	}
	s.Ties = sched.Ties{Random: file.Ties == "random", Seed: 1}
	if file.Seed != nil {
		s.Ties.Seed = *file.Seed
	}
	for i := range file.Cluster {
		s.Cluster = append(s.Cluster, l.source(field.NewPath("cluster").Index(i), &file.Cluster[i], true)...)
	}
	for i := range file.Workloads {
		s.Workloads = append(s.Workloads, l.source(field.NewPath("workloads").Index(i), &file.Workloads[i], false)...)
	}
	for i := range file.Steps {
		path := field.NewPath("steps").Index(i)
		step := LoadedStep{Step: file.Steps[i]}
		if step.Apply != nil {
			step.Objects = l.source(path.Child("apply"), step.Apply, false)
		}
		if step.Delete != nil && len(step.Delete.Files) > 0 {
			step.Objects = l.read(path.Child("delete", "files"), step.Delete.Files)
		}
		s.Steps = append(s.Steps, step)
	}
	s.Config = l.scheduler(&file.Scheduler)
	return l.finish(s)
}

func (l *loader) finish(s *Scenario) (*Scenario, error) {
	s.Ignored, s.LevelKeys = l.ignored, l.levelKeys
	if len(l.problems) == 0 {
		// What follows needs every object; with one missing it would report what is not wrong.
		l.check(s)
	}
	if len(l.problems) > 0 {
		return nil, errors.Join(l.problems...)
	}
	return s, nil
}

func (l *loader) head(file *File) {
	if file.Kind != Kind || file.APIVersion != APIVersion {
		l.problem(nil, "apiVersion %q and kind %q are not a scenario's; give apiVersion: %s and kind: %s", file.APIVersion, file.Kind, APIVersion, Kind)
	}
	if !slices.Contains([]string{"", "upstream", "random"}, file.Ties) {
		l.problem(field.NewPath("ties"), "%q is neither upstream nor random", file.Ties)
	}
}

func (l *loader) defaultName() string {
	base := filepath.Base(l.file)
	if base == FileName {
		if dir := filepath.Base(l.dir); dir != "." && dir != string(filepath.Separator) {
			return dir
		}
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// source returns the objects of a source. Nodes may be described by regions and zones only where there is a cluster to build.
func (l *loader) source(path *field.Path, source *Source, nodes bool) []cluster.Object {
	given := 0
	for _, is := range []bool{len(source.Files) > 0, len(source.Objects) > 0, source.Synthetic != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1 && nodes:
		l.problem(path, "give exactly one of files, objects and synthetic")
		return nil
	case given != 1, source.Synthetic != nil && !nodes:
		l.problem(path, "give exactly one of files and objects")
		return nil
	case len(source.Files) > 0:
		return l.read(path.Child("files"), source.Files)
	case source.Synthetic != nil:
		return l.synthetic(path.Child("synthetic"), source.Synthetic)
	}
	var objects []cluster.Object
	for i := range source.Objects {
		obj, err := manifest.DecodeObject(fmt.Sprintf("%s: %s", l.file, path.Child("objects").Index(i)), source.Objects[i].Raw)
		if err != nil {
			l.problems = append(l.problems, err)
			continue
		}
		objects = append(objects, obj.Object)
	}
	return objects
}

func (l *loader) read(path *field.Path, files []string) []cluster.Object {
	resolved := make([]string, len(files))
	for i, file := range files {
		switch {
		case file == "":
			l.problem(path.Index(i), "is empty; give a file, a folder or a glob")
			return nil
		case file == "-" && l.stdin == nil:
			l.problem(path.Index(i), "standard input has no place in a scenario file; give a file")
			return nil
		case file == "-" || filepath.IsAbs(file):
			resolved[i] = file
		default:
			resolved[i] = filepath.Join(l.dir, file)
		}
	}
	return l.take(manifest.ReadFS(l.fsys, l.stdin, resolved...))
}

func (l *loader) synthetic(path *field.Path, spec *topology.Spec) []cluster.Object {
	if invalid := spec.Validate(path); len(invalid) > 0 {
		for _, err := range invalid {
			l.problem(nil, "%s", err)
		}
		return nil
	}
	l.levelKeys = append(l.levelKeys, spec.LevelKeys()...)
	nodes, err := topology.Build(*spec)
	if err != nil {
		l.problem(path, "%s", err)
	}
	objects := make([]cluster.Object, len(nodes))
	for i, node := range nodes {
		objects[i] = node
	}
	return objects
}

// take keeps what was read besides objects, and returns the objects.
func (l *loader) take(set *manifest.Set, err error) []cluster.Object {
	if err != nil {
		l.problems = append(l.problems, err)
		return nil
	}
	l.ignored = append(l.ignored, set.Ignored...)
	for i := range set.SchedulerConfigs {
		if l.config != nil {
			l.problem(nil, "both %s and %s configure the scheduler; keep one", l.config.Source, set.SchedulerConfigs[i].Source)
		}
		l.config = &set.SchedulerConfigs[i]
	}
	objects := make([]cluster.Object, len(set.Objects))
	for i := range set.Objects {
		objects[i] = set.Objects[i].Object
	}
	return objects
}

// scheduler returns the scheduler's configuration: the scenario's own, or one found among the objects, or the default.
func (l *loader) scheduler(given *Scheduler) *sched.Config {
	path := field.NewPath("scheduler")
	if given.Config != "" && given.Inline != nil {
		l.problem(path, "give config or inline, not both")
		return nil
	}
	var config *sched.Config
	var err error
	switch {
	case given.Config != "":
		name := given.Config
		if !filepath.IsAbs(name) {
			name = filepath.Join(l.dir, name)
		}
		var data []byte
		if data, err = manifest.ReadFile(l.fsys, name); err == nil {
			config, err = sched.LoadConfig(name, data)
		}
	case given.Inline != nil:
		config, err = sched.LoadConfig(fmt.Sprintf("%s: %s", l.file, path.Child("inline")), given.Inline.Raw)
	case l.config != nil:
		config, err = sched.LoadConfig(l.config.Source.String(), l.config.Data)
	default:
		config, err = sched.DefaultConfig()
	}
	if err != nil {
		l.problems = append(l.problems, err)
		return nil
	}
	if len(given.FeatureGates) > 0 {
		var gates []string
		for name, on := range given.FeatureGates {
			gates = append(gates, fmt.Sprintf("%s=%t", name, on))
		}
		slices.Sort(gates)
		if err := sched.SetFeatureGates(strings.Join(gates, ",")); err != nil {
			l.problem(path.Child("featureGates"), "%s", err)
		}
	}
	return config
}

func (l *loader) problem(path *field.Path, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if path != nil {
		message = path.String() + ": " + message
	}
	l.problems = append(l.problems, fmt.Errorf("%s: %s", l.file, message))
}
