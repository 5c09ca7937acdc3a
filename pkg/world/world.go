// Package world runs the steps of a scenario: in one cluster, whose controllers and scheduler act, or, in package fleet, in several
// clusters under a federation. A World holds no state of a cluster: its methods take a state and return another one. Everything else that
// it remembers is in its Mark.
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

// World changes clusters: it does what users do, and lets controllers and schedulers act. It is not safe for concurrent use.
type World interface {
	// Start returns the scenario's cluster before any step, and notes on what was assumed. The error joins a [Problem] for each refused
	// part; the state has these parts, too.
	Start(s *scenario.Scenario) (*cluster.State, []string, error)
	// DropUserRefusals returns the state without the requests of users that the API server refused, since users do not repeat them in the next step.
	DropUserRefusals(state *cluster.State) *cluster.State
	// Do carries out a step, and describes it as a kubectl command. The record gets what happens on the way. If parts of the step cannot be
	// done, the error joins a [Problem] for each, and the state has the rest of the step.
	Do(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error)
	// Fail makes nodes fail.
	Fail(state *cluster.State, mode node.FailureMode, nodes ...string) (*cluster.State, error)
	// Nodes returns the nodes of the state, and the deleted nodes that a restore can bring back.
	Nodes(state *cluster.State) []*v1.Node
	// Settle lets controllers and schedulers act until nothing moves any more. The record gets what happens.
	Settle(ctx context.Context, state *cluster.State, to *Record) (*cluster.State, error)
	// Conclude adds to the record how things stand after the step. The state is the settled one.
	Conclude(state *cluster.State, step *scenario.LoadedStep, to *Record)

	// Mark returns the world's position. Resume takes the world, or another one like it, back to a mark.
	Mark() Mark
	Resume(Mark) error
	// Reset makes the world forget what it has done, so that its next answers are those of a new world. Caches about the cluster stay,
	// since another failure of the same cluster changes little of it.
	Reset()
	// ResetTo resets the world for another cluster and other ties.
	ResetTo(ties sched.Ties) error
	// SetHooks replaces the hooks.
	SetHooks(Hooks)
	// Config returns the configuration of the schedulers.
	Config() *sched.Config
	// Cycles counts the scheduling cycles since the world was created.
	Cycles() sched.Cycles
	// Close releases the world's resources.
	Close()
}

// Hooks are called while a world acts.
type Hooks struct {
	// Record, if set, is called before each scheduling attempt and returns how much of the pod's cycle to keep; nil keeps nothing. The
	// owner is the pod's outermost owner.
	Record func(owner cluster.Ref, pod *v1.Pod) *placement.Depth
	// Progress, if set, is called after each scheduling attempt with the number of pods of the queue that are done, and with the queue's
	// length.
	Progress func(done, total int)
	// Moved, if set, is called with each state in which something has changed while a cluster settles.
	Moved func(state *cluster.State)
}

// SetHooks replaces the hooks.
func (h *Hooks) SetHooks(with Hooks) { *h = with }
