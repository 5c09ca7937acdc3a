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
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/manifest"
	"github.com/faultline/faultline/pkg/sched"
)

// WorkloadsStep is the name that the workloads before the first step have on the report.
const WorkloadsStep = "workloads"

// FileName is the scenario file of a folder.
const FileName = "scenario.yaml"

// Load reads the scenario of a file, or of a folder that holds a scenario.yaml. Every problem of it and of the files it names
// is reported at once, a line each, in one joined error. While a scenario with feature gates is read, they are the process's.
func Load(path string) (*Scenario, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, FileName)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: there is no %s in this folder; give a scenario file, or a folder that holds one", path, FileName)
		}
		path = filepath.Join(path, FileName)
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file or folder; give a scenario file, or a folder that holds a %s", path, FileName)
	}
	return LoadFS(nil, path)
}

// LoadFS is Load for a file of a file system other than the machine's own; nil is the machine's own.
func LoadFS(fsys fs.FS, path string) (*Scenario, error) {
	data, err := manifest.ReadFile(fsys, path)
	if err != nil {
		return nil, err
	}
	l := &loader{file: path, fsys: fsys, dir: filepath.Dir(path)}
	file := &File{}
	// A Deployment that is given for a scenario would be told that each of its fields is unknown; its head says it all.
	if err := yaml.Unmarshal(data, &struct {
		APIVersion *string `json:"apiVersion"`
		Kind       *string `json:"kind"`
	}{&file.APIVersion, &file.Kind}); err == nil && file.APIVersion != "" && file.Kind != "" {
		if l.head(file); len(l.problems) > 0 {
			return nil, errors.Join(l.problems...)
		}
	}
	if err := manifest.Unmarshal(path, data, file); err != nil {
		return nil, err
	}
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
	l := &loader{file: "command line", stdin: stdin, commandLine: true}
	s := &Scenario{Name: "command line", Ties: sched.Ties{Seed: 1}}
	if len(clusterFiles) > 0 {
		s.Cluster = l.read(field.NewPath("--cluster"), clusterFiles)
	}
	if len(files) > 0 {
		step := LoadedStep{Step: Step{Name: "apply", Apply: &Source{Files: files}}}
		for _, obj := range l.read(field.NewPath("-f"), files) {
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
	file        string
	dir         string
	fsys        fs.FS
	stdin       io.Reader
	commandLine bool // there is no file whose places errors could name
	problems    []error
	incomplete  bool // some objects could not be read
	ignored     []manifest.Ignored
	levelKeys   []string
	config      *manifest.Raw // a scheduler configuration found among the objects, as snapshots hold one
}

func (l *loader) build(file *File) (*Scenario, error) {
	s := &Scenario{Name: file.Metadata.Name, Description: strings.TrimSpace(file.Description)}
	if s.Name == "" {
		s.Name = l.defaultName()
	}
	s.Ties = sched.Ties{Random: file.Ties == "random", Seed: 1}
	if file.Seed != nil {
		s.Ties.Seed = *file.Seed
	}
	s.FeatureGates = featureGates(file.Scheduler.FeatureGates)
	defer l.switchFeatureGates(file.Scheduler.FeatureGates)()
	l.head(file)
	l.clusterSources(s, file.Cluster)
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
	l.checkShape(s)
	if !l.incomplete {
		// Without some of the objects this would report what is not wrong.
		l.walk(s)
	}
	if len(l.problems) > 0 {
		return nil, errors.Join(l.problems...)
	}
	return s, nil
}

func (l *loader) head(file *File) {
	switch {
	case file.APIVersion == APIVersion && file.Kind == Kind:
	case file.APIVersion == "" || file.Kind == "":
		l.problem(nil, "apiVersion %q and kind %q are not a scenario's; give apiVersion: %s and kind: %s", file.APIVersion, file.Kind, APIVersion, Kind)
	case file.Kind == Kind && strings.HasPrefix(file.APIVersion, "faultline/"):
		l.problem(nil, "apiVersion %q of a scenario is not known here; give apiVersion: %s", file.APIVersion, APIVersion)
	default:
		l.problem(nil, "apiVersion %q and kind %q are not a scenario's; give apiVersion: %s and kind: %s, or name this file in a scenario or with -f",
			file.APIVersion, file.Kind, APIVersion, Kind)
	}
	if !slices.Contains([]string{"", "upstream", "random"}, file.Ties) {
		l.problem(field.NewPath("ties"), "%q is neither upstream nor random", file.Ties)
	}
}

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
	l.problems = append(l.problems, fmt.Errorf("%s: %s", l.file, message))
}
