// Package scenario holds scenarios as plain data: the file as it is written, and the scenario that is made of it, in which every file is
// read, every object is defaulted and validated, and every name in a step is known. Other packages turn one into the other:
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

// Scenario is a scenario that has been read. It is a value: code that changes a scenario copies it first, and the copies share the objects
// that are equal.
type Scenario struct {
	Name        string
	Description string
	// File is the path of the scenario's file, as it was opened, or what stands for it in errors.
	File string
	// Named lists the files, folders and globs that the file and its variants name, as they name them.
	Named []string
	// Dump means that the objects are the dump of a real cluster, whatever they look like. Strict means that no object of a dump may be set
	// aside.
	Dump, Strict bool
	// Empty means that the scenario may have no workload, since clients of the cluster create them later.
	Empty bool
	// MadeUp means that the nodes are generated, since the files have none.
	MadeUp bool
	// PlaceAnew means that changes place all pods of a workload anew, and not by a rollout. RolledOut lists the workloads that a change of
	// this scenario rolls out, and PlacedAnew the workloads whose running pods a change places anew.
	PlaceAnew             bool
	RolledOut, PlacedAnew []cluster.Ref
	// Patched lists the objects that a patch of this scenario has changed, in any field.
	Patched []cluster.Ref
	// AsTemplate means that new pods are as their templates say, even if the running pods of a dump look different.
	AsTemplate bool
	// APIServer is how the API server is run.
	APIServer cluster.APIServer
	// Unread lists the kinds of which the cluster may have objects that could not be read.
	Unread []string
	Ties   sched.Ties
	// TerminationSeconds is how long kubelets take to end a pod; see cluster.State.
	TerminationSeconds int64
	Config             *sched.Config
	// MaxPods is the number of pods that controllers may ask for at any time.
	MaxPods int
	// Limits bound the scenario further.
	Limits Limits
	// Cluster has the objects of the cluster's sources, in order. Workloads has the objects that are applied before the first step.
	Cluster, Workloads []cluster.Object
	Steps              []LoadedStep
	// Asked is the number of last steps that make up a question, which a report answers first.
	Asked   int
	Ignored []manifest.Ignored
	// Notes has warnings of operators, and what was assumed about them, one sentence each.
	Notes []string
	// Autoscaler adds and removes nodes; nil means that nobody does.
	Autoscaler *Autoscaler
	// Deciders are the programs that decide beside the scheduler.
	Deciders []Decider
	// Failures says which failures to simulate, as in the file.
	Failures Failures
	// Expect is what must hold after every step; nil means nothing. Expects has its lines in the file.
	Expect  *Expect
	Expects ExpectLines
	// Sources has the places of the objects that make pods, and of their budgets, by the step that applies them; "" stands for the cluster.
	Sources map[string]map[cluster.Ref]manifest.Source `json:"-"`
	// Files has the names of the files of a command line, without their folders.
	Files []string `json:"-"`
	// Variants are the named changes, each as the changed scenario. Points are those of the sweep, in its order, and Parameters the names
	// of what varies in it.
	Variants   []LoadedVariant
	Points     []Point
	Parameters []string
	// Members are the clusters of a federation at its start. There are none for a single cluster, whose objects are in Cluster.
	Members []Member
	// Federation has the options of Karmada, and Karmada the objects of Karmada that are applied with the workloads.
	Federation Federation
	Karmada    Karmada
	// LevelKeys are the label keys of additional levels of synthetic clusters, such as rack.
	LevelKeys []string

	admittedCluster *admittedCluster
}

// ExpectLines are the lines of an expectation in its file. They are empty if no file has the expectation.
type ExpectLines struct {
	File  string
	Lines map[string]int // by path; see manifest.Lines
}

// Source returns a function that finds the line of a field of the expectation, or of the nearest field above it. It returns nil if no file
// has the expectation.
func (p ExpectLines) Source() func(field ...any) manifest.Source {
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

// Source returns the place of an owner of pods, or of a PodDisruptionBudget, in the version that is current after the step. It reports
// false if no file has the object, such as an object that a controller made.
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

// Nodes returns every node that the scenario has at any step.
func (s *Scenario) Nodes() []*v1.Node { return objectsOfType[*v1.Node](s.Objects()) }

// Pods returns every pod that the scenario has as an object of its own at any step.
func (s *Scenario) Pods() []*v1.Pod { return objectsOfType[*v1.Pod](s.Objects()) }

// objectsOfType returns the objects of one type.
func objectsOfType[T cluster.Object](objects []cluster.Object) []T {
	var all []T
	for _, obj := range objects {
		if typed, is := obj.(T); is {
			all = append(all, typed)
		}
	}
	return all
}

// Objects returns every object that the scenario has at any step, in order of appearance. Objects of a member of a federation are named as
// in the joined state.
func (s *Scenario) Objects() []cluster.Object {
	all := slices.Clone(s.Cluster)
	for _, member := range s.AllMembers() {
		all = append(all, member.Shown...)
	}
	all = append(append(all, s.Workloads...), s.Karmada.operatorObjects()...)
	for _, step := range s.Steps {
		if step.Apply != nil {
			all = append(append(all, step.Objects...), step.Karmada.operatorObjects()...)
		}
	}
	return all
}

// CutAfter returns the scenario without the steps after the named one. The workloads before the first step are a step, too, named
// WorkloadsStep. For that name, and for an unknown name, no step is left.
func (s *Scenario) CutAfter(step string) *Scenario {
	next := *s
	next.Steps = slices.Clip(s.Steps[:s.StepIndex(step)+1])
	return &next
}

// AppendStep returns the scenario with the step added at its end.
func (s *Scenario) AppendStep(step Step) *Scenario {
	next := *s
	next.Steps = append(slices.Clip(s.Steps), LoadedStep{Step: step})
	return &next
}

// AppendQuestion returns the scenario with the steps added at its end. They make up the question: the report begins with their outcome.
func (s *Scenario) AppendQuestion(steps ...Step) *Scenario {
	if len(s.Steps) == 0 && !s.AppliesWorkloads() { // the report needs the cluster as it is before the question
		s = s.AppendStep(Step{Name: WorkloadsStep})
	}
	for _, step := range steps {
		s = s.AppendStep(step)
	}
	next := *s
	next.Asked += len(steps)
	return &next
}

// QuestionAfter returns the scenario in which the steps of the question follow the named step.
func (s *Scenario) QuestionAfter(step string) *Scenario {
	next := s.CutAfter(step)
	next.Steps = append(next.Steps, s.Steps[len(s.Steps)-s.Asked:]...)
	return next
}

// WithObjects returns the scenario with the objects added to its cluster.
func (s *Scenario) WithObjects(objects ...cluster.Object) *Scenario {
	next := *s
	next.Cluster = slices.Concat(s.Cluster, objects)
	return &next
}

// StepIndex returns the index of the step, or -1 for the workloads before the first step.
func (s *Scenario) StepIndex(step string) int {
	return slices.IndexFunc(s.Steps, func(loaded LoadedStep) bool { return loaded.Name == step })
}

// StepPath returns the path of a step in the file, or in the variant that adds the step. It is nil for the step of a command line, which is
// in no file.
func (s *Scenario) StepPath(i int) *field.Path {
	if given := len(s.Steps) - s.Asked; i >= given {
		return field.NewPath("steps").Index(i - given)
	}
	if s.File == CommandLine {
		return nil
	}
	return field.NewPath("steps").Index(i)
}
