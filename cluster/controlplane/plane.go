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
	"io"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/cluster/memory"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Plane is the control plane of one cluster. It is safe for concurrent use.
type Plane struct {
	store *memory.Store
	kinds kinds
	time  *timeline
	ages  *ages
	// settles says that the world acts until nothing moves after each change; otherwise it acts as its time passes.
	settles bool
	wake    chan struct{} // tells Run that due has changed
	fork    func(context.Context, string, io.Reader) (string, error)
	explain func(context.Context, inmemory.Target) (string, error)

	mu    sync.Mutex
	world *world.Cluster
	state *cluster.State
	at    metav1.Time // when what is published has happened
	due   time.Time   // when the world acts next although nobody changes anything; zero if it does not
	seen  int64       // the revision of the store that the state shows
	// version counts the states, and changed is closed with the next one.
	version int64
	changed chan struct{}
	known   map[string]*object // the objects that both have, by key

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

// Options are how to run a control plane.
type Options struct {
	// Clock says what time it is.
	Clock func() time.Time
	// Pace is how time passes in the cluster.
	Pace inmemory.Pace
	// Containers says what the cluster's containers do.
	Containers cluster.Containers
	// Saved, if set, is the cluster to go on with, in place of the scenario's. The store has been restored from it.
	Saved *Saved
	// Fork starts another cluster that goes on from a saved one. Explain explains a pod or the pods of a workload. Both return what the user is told.
	Fork    func(ctx context.Context, name string, saved io.Reader) (string, error)
	Explain func(ctx context.Context, target inmemory.Target) (string, error)
}

// New returns the control plane of the scenario's cluster, with its workloads. The store is that of a server that is ready.
func New(ctx context.Context, s *scenario.Scenario, store *memory.Store, storage Storage, opts Options) (*Plane, error) {
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
	p := &Plane{
		store: store, kinds: kinds, time: newTimeline(opts.Clock, opts.Pace.Rate), ages: newAges(), settles: opts.Pace.Settles, wake: make(chan struct{}, 1), world: w,
		changed: make(chan struct{}), known: map[string]*object{}, messages: map[types.UID]string{}, kubelet: newKubelet(), events: events,
	}
	p.fork, p.explain = opts.Fork, opts.Explain
	if opts.Saved != nil {
		if err = w.ResetTo(s.Ties); err == nil {
			p.time.goOn(opts.Saved.Jumps)
			err = store.Update(func(to *memory.Writer) error { return p.resume(to, opts.Saved, opts.Containers) })
		}
		if err != nil {
			w.Close()
			return nil, err
		}
		return p, nil
	}
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
	state = moveTo(state, p.time.now())
	state.Containers = &opts.Containers
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

// round is how much of the world's time a round of its controllers and its scheduler takes.
const round = time.Second

// Settle gives the world what clients have changed, and lets it act.
func (p *Plane) Settle(ctx context.Context) error {
	return p.act(ctx, func(*turn) error { return nil })
}

// Do carries out a step of a scenario, such as the failure of a zone, and lets the world act. It returns the step as a kubectl command.
func (p *Plane) Do(ctx context.Context, step *scenario.LoadedStep) (action string, err error) {
	err = p.act(ctx, func(t *turn) error {
		next, did, err := p.world.Do(ctx, p.state, step, t.record)
		if err != nil {
			return err
		}
		action = did
		t.show(next)
		return nil
	})
	return action, err
}

// Advance lets time pass, with all that happens in it.
func (p *Plane) Advance(ctx context.Context, by time.Duration) error {
	return p.act(ctx, func(t *turn) error {
		until := p.now().Add(by)
		p.jumpTo(until)
		return t.actUntil(until)
	})
}

// maxTries is how many moments a step looks at in which nothing moves although somebody waits for them.
const maxTries = 1000

// Step lets the next thing happen: the controllers and the scheduler act once or, if nothing moves, time passes until something does. It
// returns how much time has passed; 0 if nothing moves any more.
func (p *Plane) Step(ctx context.Context) (passed time.Duration, err error) {
	err = p.act(ctx, func(t *turn) error {
		began := p.now()
		t.moved = false
		for until, tries := began.Add(round), 0; tries < maxTries && !t.moved; until, tries = p.due.Add(round), tries+1 {
			if err := t.actUntil(until); err != nil || p.due.IsZero() && !t.moved {
				return err
			}
		}
		p.jumpTo(p.state.Now.Time)
		passed = p.state.Now.Sub(began)
		return nil
	})
	return passed, err
}

// Run lets the world act as its time passes, until the context ends. A world that settles needs no Run.
func (p *Plane) Run(ctx context.Context, report func(error)) {
	if p.settles || p.time.rate == 0 {
		return
	}
	for ctx.Err() == nil {
		p.mu.Lock()
		due := p.due
		p.mu.Unlock()
		var timer <-chan time.Time
		if !due.IsZero() {
			timer = time.After(p.time.until(due))
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
			continue
		case <-timer:
		}
		if err := p.Settle(ctx); err != nil && ctx.Err() == nil {
			report(err)
		}
	}
}

// turn is a time in which the world acts and nobody else writes.
type turn struct {
	*Plane
	ctx     context.Context
	to      *memory.Writer
	record  *world.Record
	moved   bool // something has changed in the world
	problem error
}

// act lets the world act after what clients have changed, and after a change of its own.
func (p *Plane) act(ctx context.Context, change func(*turn) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.store.Update(func(to *memory.Writer) error {
		t := &turn{Plane: p, ctx: ctx, to: to, record: &world.Record{}}
		p.world.SetHooks(world.Hooks{Moved: func(next *cluster.State) {
			t.moved = true
			t.show(next)
		}})
		defer p.world.SetHooks(world.Hooks{})
		before := p.state
		if err := t.receive(); err != nil { // before the world writes, which would undo what clients have written
			return err
		}
		hasReceived := p.state != before
		if !hasReceived {
			if err := t.catchUp(); err != nil {
				return err
			}
		}
		caughtUp := p.state
		if err := change(t); err != nil {
			return err
		}
		if hasReceived || p.state != caughtUp {
			if err := t.goOn(); err != nil {
				return err
			}
		}
		if err := t.publishRestarts(); err != nil {
			return err
		}
		p.seen = to.Revision()
		if p.state != before {
			p.version++
			close(p.changed)
			p.changed = make(chan struct{})
		}
		return t.problem
	})
}

// HasPods reports whether the cluster has any pod.
func (p *Plane) HasPods() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.state.Pods) > 0
}

// AwaitVersion returns the number of the cluster's state when that is not the given one any more, or when the context ends.
func (p *Plane) AwaitVersion(ctx context.Context, after int64) int64 {
	for {
		p.mu.Lock()
		version, changed := p.version, p.changed
		p.mu.Unlock()
		if version != after {
			return version
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return version
		}
	}
}

// show gives the API server the world's next state.
func (t *turn) show(next *cluster.State) {
	if t.problem == nil {
		t.problem = t.publish(t.to, t.state, next, t.record, nil)
		t.state = next
	}
}

// receive gives the world what clients have changed, and clients what kubelets say to it.
func (t *turn) receive() error {
	before := t.state
	received, err := t.Plane.receive(t.to)
	if err != nil || len(received) == 0 {
		return err
	}
	if err := t.publish(t.to, before, t.state, t.record, received); err != nil {
		return err
	}
	return t.publishObserved(t.to)
}

// catchUp lets happen what is due by now.
func (t *turn) catchUp() error {
	if t.time.rate == 0 || t.due.IsZero() || t.due.After(t.now()) {
		return nil
	}
	return t.actUntil(t.now().Add(round))
}

// goOn lets the world act after a change.
func (t *turn) goOn() error {
	switch now := t.time.now(); {
	case t.settles:
		settled, err := t.world.Settle(t.ctx, t.world.DropUserRefusals(t.state), t.record)
		if err != nil {
			return err
		}
		t.show(settled)
		t.due = time.Time{}
		t.jumpTo(settled.Now.Time)
	case t.time.rate == 0 || t.state.Now.After(now.Add(round)): // it acts when it is asked, or when its time has come
		t.setDue(t.state.Now.Time)
	default:
		return t.actUntil(t.state.Now.Add(round))
	}
	return nil
}

// actUntil lets the world act up to a time of the cluster.
func (t *turn) actUntil(until time.Time) error {
	state, due, err := t.world.SettleUntil(t.ctx, t.world.DropUserRefusals(t.state), until, t.record)
	if err != nil {
		return err
	}
	t.show(state)
	t.setDue(due)
	return t.problem
}

// jumpTo makes the cluster's time jump ahead; events end as much earlier.
func (p *Plane) jumpTo(to time.Time) { p.store.Skip(p.time.jumpTo(to)) }

// setDue notes when the world acts next although nobody changes anything.
func (t *turn) setDue(due time.Time) {
	t.due = due
	select {
	case t.wake <- struct{}{}:
	default: // Run will look
	}
}
