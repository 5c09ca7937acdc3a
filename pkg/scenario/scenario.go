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
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/manifest"
	"github.com/faultline/faultline/pkg/sched"
)

// Scenario is a scenario that has been read.
type Scenario struct {
	Name        string
	Description string
	Ties        sched.Ties
	Config      *sched.Config
	// FeatureGates are the gates that the scenario switches, as kube-scheduler takes them: "A=true,B=false". Gates are the
	// process's, and another scenario may have been read since: whoever runs this one hands them to sched.SetFeatureGates first.
	FeatureGates string
	// Cluster are the objects of the cluster's sources, in order; Workloads those that are applied before the first step.
	Cluster, Workloads []cluster.Object
	Steps              []LoadedStep
	Ignored            []manifest.Ignored
	// Failures are which failures are looked at, as the file says it.
	Failures Failures
	// LevelKeys are the label keys of the synthetic clusters' further levels, such as rack.
	LevelKeys []string
}

// LoadedStep is a step with the objects of its files.
type LoadedStep struct {
	Step
	// Objects are what apply creates or changes, or what delete's files hold, in order.
	Objects []cluster.Object
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
