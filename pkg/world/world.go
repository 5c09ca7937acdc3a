// Package world has what a scenario is carried out on: a cluster in which controllers and the scheduler act or, in package fleet, several
// of them under a federation. A world holds no cluster. It gets a state and returns another one, and what it keeps besides is a Mark.
package world

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/scenario"
)

// World acts on clusters: it does what users do, and lets controllers and schedulers act. It is not safe for concurrent use.
type World interface {
	// Start returns the scenario's cluster before anything is applied, and notes on what was assumed. The error joins its Problems; the state
	// then has what was refused, too.
	Start(s *scenario.Scenario) (*cluster.State, []string, error)
	// Renew returns the state without the requests of users that the API server refused: users do not repeat them in the next step.
	Renew(state *cluster.State) *cluster.State
	// Do carries out a step, and describes it as a kubectl command. What happens on the way is added to the record. If some of it cannot be
	// done, the error joins its Problems, and the state has the rest.
	Do(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error)
	// Fail makes nodes fail.
	Fail(state *cluster.State, mode node.FailureMode, nodes ...string) (*cluster.State, error)
	// Nodes returns the nodes of the state, and the nodes that failures have deleted, which a restore brings back.
	Nodes(state *cluster.State) []*v1.Node
	// Settle lets controllers and schedulers act until nothing moves any more. What happens is added to the record.
	Settle(ctx context.Context, state *cluster.State, to *Record) (*cluster.State, error)
	// Conclude adds to the record how things stand after the step, in the state in which nothing moves any more.
	Conclude(state *cluster.State, step *scenario.LoadedStep, to *Record)

	// Mark returns the world's position, and Resume takes the world, or another one like it, back to one.
	Mark() Mark
	Resume(Mark) error
	// Reset makes the world forget what it has done, so that it next answers like a new one. It keeps what it knows of the cluster: another
	// failure of the same cluster changes little of it.
	Reset()
	// ResetTo is Reset with other ties, for another cluster.
	ResetTo(ties sched.Ties) error
	// Hook replaces the hooks.
	Hook(Hooks)
	// Config is the configuration of the schedulers.
	Config() *sched.Config
	// Cycles counts the scheduling cycles since the world is there.
	Cycles() sched.Cycles
	// Close releases the world's resources.
	Close()
}

// Hooks are called while a world acts.
type Hooks struct {
	// Record, if set, is called before each scheduling attempt and returns how much of the pod's cycle to keep; nil keeps nothing. The
	// owner is the pod's outermost one.
	Record func(owner cluster.Ref, pod *v1.Pod) *placement.Depth
	// Progress, if set, is called after each scheduling attempt with the number of pods of the queue that are done, and their total.
	Progress func(done, total int)
	// Moved, if set, is called with each state of a cluster in which something has changed, while it settles.
	Moved func(state *cluster.State)
}

// Hook replaces the hooks.
func (h *Hooks) Hook(with Hooks) { *h = with }
