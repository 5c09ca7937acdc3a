// Package controlplane lets a world act on what an API server stores, as a scheduler, controllers and kubelets do:
//
//	a client's request ─▶ API server ─▶ memory.Store ─▶ receive: the world gets what clients have changed
//	                                                    world.Settle: the world acts until nothing moves
//	                                    memory.Store ◀─ publish: the API server gets what the world has changed
//
// A request is answered when the world has settled, so that the next request sees what came of it.
package controlplane

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/cluster/memory"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Plane is the control plane of one cluster. It is safe for concurrent use.
type Plane struct {
	store *memory.Store
	kinds kinds
	clock func() time.Time

	mu    sync.Mutex
	world *world.Cluster
	state *cluster.State
	seen  int64              // the revision of the store that the state shows
	known map[string]*object // the objects that both have, by key

	// unobserved are nodes and pods that a client has changed since their kubelets last reported what they have seen.
	unobserved []cluster.Ref

	// absent are the owners of the first objects that the input lacks. The API server is not told of them, since its garbage collector would
	// delete what nobody owns.
	absent map[types.UID]bool

	failures map[cluster.Ref]string // why controllers may not create pods, by the pods' owners
	messages map[types.UID]string   // why pods wait for a node, as far as the API server knows
	kubelet  kubelet
	events   eventLog
}

// object is an object that the world and the API server both have, as the API server has it.
type object struct {
	stored   cluster.Object
	revision int64
}

// ErrFederated is the error for a scenario with several clusters.
var ErrFederated = errors.New("the input has several clusters, each with an API server of its own: name an input with one")

// New returns the control plane of the scenario's cluster, with its workloads. The store is that of a server that is ready. The clock
// says what time it is.
func New(ctx context.Context, s *scenario.Scenario, store *memory.Store, storage Storage, clock func() time.Time) (*Plane, error) {
	if s.Federated() {
		return nil, ErrFederated
	}
	kinds, err := newKinds(storage)
	if err != nil {
		return nil, err
	}
	events, err := newEventLog(storage)
	if err != nil {
		return nil, err
	}
	w, err := simulation.NewCluster(s)
	if err != nil {
		return nil, err
	}
	p := &Plane{store: store, kinds: kinds, clock: clock, world: w, known: map[string]*object{}, messages: map[types.UID]string{}, kubelet: newKubelet(), events: events}
	result, err := simulation.Begin(ctx, w, s)
	for i := 0; i < stepsBefore(s) && err == nil; i++ {
		result, err = simulation.Next(ctx, w, result, simulation.Options{})
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	state, record := result.Initial, &world.Record{}
	if n := len(result.Steps); n > 0 {
		state, record = result.Steps[n-1].State, &result.Steps[n-1].Record
	}
	state = moveTo(state, clock())
	return p, store.Update(func(to *memory.Writer) error { return p.begin(to, state, record) })
}

// stepsBefore is how many steps of a run come before the clients: those that create what the command line names, or a scenario's workloads. The
// steps of a scenario file are the clients' to do.
func stepsBefore(s *scenario.Scenario) int {
	switch {
	case s.File == scenario.CommandLine:
		return len(simulation.StepsOf(s))
	case s.AppliesWorkloads():
		return 1
	}
	return 0
}

// Close releases the world's resources.
func (p *Plane) Close() { p.world.Close() }

// begin takes over what the API server already has, such as its namespaces, and gives it everything else.
func (p *Plane) begin(to *memory.Writer, state *cluster.State, record *world.Record) error {
	for _, kind := range p.kinds {
		for _, kv := range to.List(kind.prefix) {
			obj, err := kind.decode(kv.Value)
			if err != nil {
				return err
			}
			p.known[string(kv.Key)] = &object{obj, kv.ModRevision}
			state = state.With(obj)
		}
	}
	p.state, p.absent = state, absentOwners(state)
	if err := p.publish(to, &cluster.State{}, state, record, nil); err != nil {
		return err
	}
	p.seen = to.Revision()
	return nil
}

// absentOwners returns the owners of objects that are not objects of the state.
func absentOwners(state *cluster.State) map[types.UID]bool {
	all, absent, has := state.Objects(), map[types.UID]bool{}, map[types.UID]bool{}
	for _, obj := range all {
		if _, unknown := obj.(*cluster.UnknownOwner); !unknown {
			has[obj.GetUID()] = true
		}
	}
	for _, obj := range all {
		for _, ref := range obj.GetOwnerReferences() {
			if !has[ref.UID] {
				absent[ref.UID] = true
			}
		}
	}
	return absent
}

// Settle gives the world what clients have changed, and lets it act until nothing moves.
func (p *Plane) Settle(ctx context.Context) error {
	return p.act(ctx, func(state *cluster.State, _ *world.Record) (*cluster.State, error) { return state, nil })
}

// Do carries out a step of a scenario, such as the failure of a zone, and lets the world act until nothing moves. It returns the step as a kubectl
// command.
func (p *Plane) Do(ctx context.Context, step *scenario.LoadedStep) (action string, err error) {
	err = p.act(ctx, func(state *cluster.State, record *world.Record) (*cluster.State, error) {
		next, did, err := p.world.Do(ctx, state, step, record)
		action = did
		return next, err
	})
	return action, err
}

// Advance lets time pass, and then lets the world act until nothing moves.
func (p *Plane) Advance(ctx context.Context, by time.Duration) error {
	return p.act(ctx, func(state *cluster.State, _ *world.Record) (*cluster.State, error) {
		return world.AtTime(state, state.Now.Add(by)), nil
	})
}

// act lets the world act after what clients have changed and after a change of its own.
func (p *Plane) act(ctx context.Context, change func(*cluster.State, *world.Record) (*cluster.State, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.store.Update(func(to *memory.Writer) error {
		before, record := p.state, &world.Record{}
		received, err := p.receive(to)
		if err != nil {
			return err
		}
		after := p.state
		next, err := change(after, record)
		if err != nil || len(received) == 0 && next == before {
			return err
		}
		if err := p.publish(to, before, next, record, received); err != nil {
			return err
		}
		p.state = next
		if err := p.publishObserved(to); err != nil {
			return err
		}
		return p.settle(ctx, to, next, record)
	})
}

// settle lets the world act on a state until nothing moves, and publishes each state on the way.
func (p *Plane) settle(ctx context.Context, to *memory.Writer, state *cluster.State, record *world.Record) error {
	var problem error
	show := func(next *cluster.State) {
		if problem == nil {
			problem = p.publish(to, p.state, next, record, nil)
			p.state = next
		}
	}
	p.world.SetHooks(world.Hooks{Moved: show})
	defer p.world.SetHooks(world.Hooks{})
	settled, err := p.world.Settle(ctx, p.world.DropUserRefusals(state), record)
	if err != nil {
		return err
	}
	show(settled)
	p.seen = to.Revision()
	return problem
}
