// Package scenario reads scenarios: a cluster, what runs on it, and the steps that follow. A scenario that has been read is
// complete: every file is in, every object is defaulted and validated, every name that a step mentions is known.
//
//	bytes ─ manifest.Unmarshal ─▶ File                     (file.go)
//	      ─ read ───────────────▶ objects, scheduler       (load.go, source.go, scheduler.go)
//	      ─ check ──────────────▶ each field by itself     (shape.go)
//	      ─ walk ───────────────▶ each step in its turn    (walk.go)
//	      ──────────────────────▶ Scenario
package scenario

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// Scenario is a scenario that has been read.
type Scenario struct {
	Name        string
	Description string
	Ties        sched.Ties
	// RandomArrivals tells that the workloads that are applied together arrive in an order drawn from the seed of the ties.
	RandomArrivals bool
	// TerminationSeconds is how long kubelets take to end a pod; see cluster.State.
	TerminationSeconds int64
	Config             *sched.Config
	// FeatureGates are the gates that the scenario switches, as kube-scheduler takes them: "A=true,B=false". Gates are the
	// process's, and another scenario may have been read since: whoever runs this one hands them to sched.SetFeatureGates first.
	FeatureGates string
	// MaxPods is how many pods controllers may ask for at any time.
	MaxPods int
	// Cluster are the objects of the cluster's sources, in order; Workloads those that are applied before the first step.
	Cluster, Workloads []cluster.Object
	Steps              []LoadedStep
	Ignored            []manifest.Ignored
	// Notes are what operators warn of and what was assumed of them, a sentence each.
	Notes []string
	// Failures are which failures are looked at, as the file says it.
	Failures Failures
	// Expect is what must be so after every step; nil is nothing.
	Expect *Expect
	// Expects is where that stands, field by field; nil where no file has it.
	Expects func(field ...any) manifest.Source `json:"-"`
	// Variants are the named changes, each as the scenario that it makes of this one; Points are those of the sweep, in its order, and
	// Parameters the names of what varies in it.
	Variants   []LoadedVariant
	Points     []Point
	Parameters []string
	// LevelKeys are the label keys of the synthetic clusters' further levels, such as rack.
	LevelKeys []string

	// sources are the places of the objects that make pods, and of their budgets, by the step that applies them; "" is the cluster.
	sources map[string]map[cluster.Ref]manifest.Source
	loader  loader // reads what further variants name
	read    readings
}

// LoadedStep is a step with the objects of its files.
type LoadedStep struct {
	Step
	// Objects are what apply creates or changes, or what delete's files hold, in order.
	Objects []cluster.Object
	// Action says on the report what the step does, where it is not what it is made of: the patch of a custom resource applies what its
	// operator then makes. Empty elsewhere.
	Action string
	// Expects is where what is expected of the step stands, field by field; nil where no file has it.
	Expects func(field ...any) manifest.Source `json:"-"`
}

// Source tells where an owner of pods or a PodDisruptionBudget, as it is after the step, stands, and whether any file has it: an object can be a controller's.
func (s *Scenario) Source(step string, owner cluster.Ref) (manifest.Source, bool) {
	at := slices.IndexFunc(s.Steps, func(other LoadedStep) bool { return other.Name == step })
	for ; at >= 0; at-- {
		if source, found := s.sources[s.Steps[at].Name][owner]; found {
			return source, true
		}
	}
	for _, before := range []string{WorkloadsStep, ""} {
		if source, found := s.sources[before][owner]; found {
			return source, true
		}
	}
	return manifest.Source{}, false
}

// Nodes returns every node that the scenario ever holds.
func (s *Scenario) Nodes() []*v1.Node {
	var nodes []*v1.Node
	for _, obj := range s.objects() {
		if node, ok := obj.(*v1.Node); ok {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// objects returns everything that the scenario ever holds, in order of appearance.
func (s *Scenario) objects() []cluster.Object {
	all := append(append([]cluster.Object(nil), s.Cluster...), s.Workloads...)
	for _, step := range s.Steps {
		if step.Apply != nil {
			all = append(all, step.Objects...)
		}
	}
	return all
}
