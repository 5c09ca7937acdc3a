// Package scenario holds scenarios as plain data: the file as it is written, and the scenario that comes of it, in which every file is
// read, every object is defaulted and validated, and every name that a step mentions is known. Other packages make one of the other:
//
//	bytes ─ manifest.Unmarshal ─▶ File              each field by itself: the Validate functions here
//	      ─ load ───────────────▶ Scenario          files, dumps, operators, the scheduler's configuration
//	      ─ check ──────────────▶ each step in its turn, done where nothing acts
//	      ─ variant ────────────▶ other Scenarios   edits, variants, the points of a sweep
package scenario

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// CommandLine is the File of a scenario that was put together from flags.
const CommandLine = "command line"

// WorkloadsStep is the name that the workloads before the first step have on the report.
const WorkloadsStep = "workloads"

// Scenario is a scenario that has been read. It is a value: whoever changes one copies it first, and the objects that are the same are
// shared.
type Scenario struct {
	Name        string
	Description string
	// File is the path of the scenario's file, as it was opened, or what stands for it in errors.
	File string
	// Named are the files, folders and globs that the file and its variants name, as they name them.
	Named []string
	// Dump means that the objects are the dump of a real cluster, whatever they look like, and Strict that nothing of a dump is set aside.
	Dump, Strict bool
	// MadeUp means that the nodes are made up, since the files have none.
	MadeUp bool
	// PlaceAnew means that changes place all pods of a workload anew, instead of by a rollout. RolledOut are the workloads that a change of
	// this scenario's rolls out, and PlacedAnew those whose running pods are placed anew.
	PlaceAnew             bool
	RolledOut, PlacedAnew []cluster.Ref
	// Patched are the objects that a patch of this scenario's has changed, in any field.
	Patched []cluster.Ref
	// AsTemplate means that new pods are as their templates say, whatever the running ones of a dump look like.
	AsTemplate bool
	// APIServer is how the API server is run.
	APIServer cluster.APIServer
	// Unread are the kinds of which the cluster may have objects that could not be read.
	Unread []string
	Ties   sched.Ties
	// TerminationSeconds is how long kubelets take to end a pod; see cluster.State.
	TerminationSeconds int64
	Config             *sched.Config
	// MaxPods is how many pods controllers may ask for at any time.
	MaxPods int
	// Limits bound the scenario besides.
	Limits Limits
	// Cluster are the objects of the cluster's sources, in order; Workloads those that are applied before the first step.
	Cluster, Workloads []cluster.Object
	Steps              []LoadedStep
	// Asked is how many of the last steps are a question that a report answers first.
	Asked   int
	Ignored []manifest.Ignored
	// Notes are what operators warn of and what was assumed of them, a sentence each.
	Notes []string
	// Autoscaler adds and removes nodes; nil: nobody does.
	Autoscaler *Autoscaler
	// Failures are which failures are looked at, as the file says it.
	Failures Failures
	// Expect is what must be so after every step; nil is nothing. Expects is where that stands.
	Expect  *Expect
	Expects Places
	// Sources are the places of the objects that make pods, and of their budgets, by the step that applies them; "" is the cluster.
	Sources map[string]map[cluster.Ref]manifest.Source `json:"-"`
	// Files are the names of the files of a command line, without their folders.
	Files []string `json:"-"`
	// Variants are the named changes, each as the scenario that it makes of this one; Points are those of the sweep, in its order, and
	// Parameters the names of what varies in it.
	Variants   []LoadedVariant
	Points     []Point
	Parameters []string
	// Members are the clusters of a federation at its start; none for a single cluster, which Cluster is.
	Members []Member
	// Federation says how Karmada is run over the members, and Karmada what of its own is applied with the workloads.
	Federation Federation
	Karmada    Karmada
	// LevelKeys are the label keys of the synthetic clusters' further levels, such as rack.
	LevelKeys []string

	admitted *admitted
}

// Places are the lines of an expectation in its file. They are empty where no file has it.
type Places struct {
	File  string
	Lines map[string]int // by path; see manifest.Lines
}

// Source returns a function that finds where a field of the expectation stands, or what is nearest above it; nil where no file has it.
func (p Places) Source() func(field ...any) manifest.Source {
	if p.File == "" {
		return nil
	}
	return func(field ...any) manifest.Source {
		for ; ; field = field[:len(field)-1] {
			if line, found := p.Lines[manifest.LinePath(field...)]; found || len(field) == 0 {
				return manifest.Source{File: p.File, Line: line}
			}
		}
	}
}

// Source returns where an owner of pods or a PodDisruptionBudget, as it is after the step, stands, and whether any file has it: an
// object can be a controller's.
func (s *Scenario) Source(step string, owner cluster.Ref) (manifest.Source, bool) {
	at := slices.IndexFunc(s.Steps, func(other LoadedStep) bool { return other.Name == step })
	for ; at >= 0; at-- {
		if source, found := s.Sources[s.Steps[at].Name][owner]; found {
			return source, true
		}
	}
	for _, before := range []string{WorkloadsStep, ""} {
		if source, found := s.Sources[before][owner]; found {
			return source, true
		}
	}
	return manifest.Source{}, false
}

// Nodes returns every node that the scenario ever holds.
func (s *Scenario) Nodes() []*v1.Node { return ofType[*v1.Node](s.Objects()) }

// Pods returns every pod that the scenario is given as an object of its own.
func (s *Scenario) Pods() []*v1.Pod { return ofType[*v1.Pod](s.Objects()) }

// ofType returns the objects of one type.
func ofType[T cluster.Object](objects []cluster.Object) []T {
	var all []T
	for _, obj := range objects {
		if typed, is := obj.(T); is {
			all = append(all, typed)
		}
	}
	return all
}

// Objects returns everything that the scenario ever holds, in order of appearance. What is in a member of a federation has the name that it
// has among all.
func (s *Scenario) Objects() []cluster.Object {
	all := slices.Clone(s.Cluster)
	for _, member := range s.AllMembers() {
		all = append(all, member.Shown...)
	}
	all = append(append(all, s.Workloads...), s.Karmada.made()...)
	for _, step := range s.Steps {
		if step.Apply != nil {
			all = append(append(all, step.Objects...), step.Karmada.made()...)
		}
	}
	return all
}

// Until returns the scenario without the steps after the named one. The workloads before the first step are a step, too, named
// WorkloadsStep; that, and any name that no step has, leaves no step.
func (s *Scenario) Until(step string) *Scenario {
	next := *s
	next.Steps = slices.Clip(s.Steps[:s.Index(step)+1])
	return &next
}

// Then returns the scenario with a further step at its end.
func (s *Scenario) Then(step Step) *Scenario {
	next := *s
	next.Steps = append(slices.Clip(s.Steps), LoadedStep{Step: step})
	return &next
}

// Ask returns the scenario with further steps at its end, whose outcome is the question.
func (s *Scenario) Ask(steps ...Step) *Scenario {
	if len(s.Steps) == 0 && !s.Begins() { // the cluster as it is before
		s = s.Then(Step{Name: WorkloadsStep})
	}
	for _, step := range steps {
		s = s.Then(step)
	}
	next := *s
	next.Asked += len(steps)
	return &next
}

// AskedAfter returns the scenario in which the steps that ask follow the named one.
func (s *Scenario) AskedAfter(step string) *Scenario {
	next := s.Until(step)
	next.Steps = append(next.Steps, s.Steps[len(s.Steps)-s.Asked:]...)
	return next
}

// With returns the scenario with further objects in its cluster, there from the start.
func (s *Scenario) With(objects ...cluster.Object) *Scenario {
	next := *s
	next.Cluster = slices.Concat(s.Cluster, objects)
	return &next
}

// Index is the position of the step, -1 for the workloads before the first.
func (s *Scenario) Index(step string) int {
	return slices.IndexFunc(s.Steps, func(loaded LoadedStep) bool { return loaded.Name == step })
}

// StepPath is where a step stands in the file, or in the variant that adds it; a command line has one step, which stands nowhere.
func (s *Scenario) StepPath(i int) *field.Path {
	if given := len(s.Steps) - s.Asked; i >= given {
		return field.NewPath("steps").Index(i - given)
	}
	if s.File == CommandLine {
		return nil
	}
	return field.NewPath("steps").Index(i)
}
