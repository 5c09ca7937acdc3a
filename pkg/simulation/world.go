package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/admission"
)

// World is what acts on a cluster by itself: the controllers and the scheduler. It is not safe for concurrent use.
type World struct {
	// Record, if set, is called before each scheduling attempt and returns how much of the pod's cycle to keep; nil keeps nothing. The
	// owner is the pod's outermost one.
	Record func(owner cluster.Ref, pod *v1.Pod) *placement.Depth

	// Choose, if set, breaks every tie among nodes instead, on the cluster as it was when the scheduler was last called; see sched.Engine.
	Choose func(state *cluster.State, tie *sched.Tie) (int, error)

	config      *sched.Config
	ties        sched.Ties
	engine      *sched.Engine
	controllers controller.Controllers
	source      *rand.PCG // random source of the controllers; nil without random ties
	fleet       fleet     // of a federation
}

// NewWorld builds a scheduler with the configuration, and the controllers.
func NewWorld(config *sched.Config, ties sched.Ties) (*World, error) {
	engine, err := sched.NewEngine(config, ties)
	if err != nil {
		return nil, err
	}
	w := &World{config: config, ties: ties, engine: engine}
	w.Reset()
	return w, nil
}

// Config is the configuration of the world's scheduler.
func (w *World) Config() *sched.Config { return w.config }

// Reset makes the world forget what it has done, so that it next answers like a new one. The controllers keep what they know of the cluster,
// as the scheduler does: another failure of the same cluster changes little of it.
func (w *World) Reset() {
	w.engine.Reset()
	w.controllers.Rand, w.source = nil, nil
	if w.ties.Random {
		w.source = rand.NewPCG(w.ties.Seed, 1)
		w.controllers.Rand = rand.New(w.source)
	}
	for _, member := range w.fleet.members {
		member.Reset()
	}
}

// ResetTo is Reset with other ties.
func (w *World) ResetTo(ties sched.Ties) error {
	if err := w.engine.ResetTo(ties); err != nil {
		return err
	}
	w.ties = ties
	w.controllers = controller.Controllers{} // the next cluster is another
	w.fleet.close()
	w.Reset()
	return nil
}

// mark is a run's position, apart from the cluster: everything else that its next step depends on.
type mark struct {
	engine  sched.Mark
	source  rand.PCG
	lost    []*v1.Node
	devices []*resourcev1.ResourceSlice
	members map[string]mark
}

func (r *run) mark() mark {
	m := mark{engine: r.engine.Mark(), lost: r.lost, devices: r.devices}
	for name, member := range r.fleet.members {
		if m.members == nil {
			m.members = map[string]mark{}
		}
		m.members[name] = member.mark()
	}
	if r.source != nil {
		m.source = *r.source
	}
	return m
}

func (r *run) resume(m mark) error {
	for name, at := range m.members {
		member, err := r.member(name)
		if err != nil {
			return err
		}
		if err := member.resume(at); err != nil {
			return err
		}
	}
	r.engine.Return(m.engine)
	if r.source != nil {
		*r.source = m.source
	}
	r.lost, r.devices = m.lost, m.devices
	return nil
}

// Close releases the world's resources.
func (w *World) Close() {
	w.engine.Close()
	w.fleet.close()
}

// maxRounds limits how many seconds of logical time a cluster may keep moving. Rolling updates take about two rounds per batch; in a
// cluster that still moves after this many, controllers work against each other.
const maxRounds = 10000

// Settle lets controllers and scheduler act in turn until nothing moves any more. Each round takes a second of logical time. What happens
// is added to the step.
func (w *World) Settle(ctx context.Context, state *cluster.State, step *Step) (*cluster.State, error) {
	if state.Federation != nil {
		return w.settleFederation(ctx, state, step)
	}
	for rounds := 0; rounds < maxRounds; rounds++ {
		next, err := w.round(ctx, state, step)
		if err != nil {
			return nil, err
		}
		if next != state {
			state = at(next, next.Now.Add(time.Second))
			continue
		}
		due, waits := w.controllers.Next(state)
		if !waits {
			return state, nil
		}
		// Nothing moves until a toleration expires, a pod ends, or one has been ready for long enough.
		state, rounds = at(state, due.Time), 0
	}
	step.Notes = append(step.Notes, fmt.Sprintf("the cluster still moved after %d rounds; controllers seem to work against each other, and this is the state at that moment", maxRounds))
	return state, nil
}

// round lets the controllers sync and the scheduler work through its queue, without advancing time. It returns the same state if nothing
// moved.
func (w *World) round(ctx context.Context, state *cluster.State, step *Step) (*cluster.State, error) {
	next, err := w.reconcile(state)
	if err != nil {
		return nil, err
	}
	queue := w.controllers.Unscheduled(next)
	if next != state {
		queue = w.arrived(queue)
	}
	if w.Record != nil {
		owner := next.Owners()
		w.engine.Record = func(pod *v1.Pod) *placement.Depth { return w.Record(owner(pod), pod) }
	}
	w.engine.Choose = nil
	if w.Choose != nil {
		w.engine.Choose = func(tie *sched.Tie) (int, error) { return w.Choose(next, tie) }
	}
	placed, err := w.engine.Place(ctx, next, queue)
	if err != nil {
		return nil, err
	}
	step.Placed = append(step.Placed, placed.Placed...)
	step.Pending = step.stillSaid(placed.Pending)
	for _, note := range placed.Notes {
		if !slices.Contains(step.Notes, note) {
			step.Notes = append(step.Notes, note)
		}
	}
	step.Preempted = append(step.Preempted, placed.Preempted...)
	var bound []*v1.Pod
	for _, p := range placed.Placed {
		bound = append(bound, p.Pod)
	}
	return w.controllers.Bound(after(next, placed), bound), nil
}

// stillSaid gives the pods that the scheduler does not try any more what it said of them when it last did: their conditions stay.
func (s *Step) stillSaid(pending []placement.Pending) []placement.Pending {
	for i := range pending {
		p := &pending[i]
		if p.Untried == "" || p.Message != "" {
			continue
		}
		same := func(before placement.Pending) bool { return before.Pod.UID == p.Pod.UID }
		for _, before := range [][]placement.Pending{s.Pending, s.said} {
			if at := slices.IndexFunc(before, same); at >= 0 && p.Message == "" {
				p.Message, p.Failed = before[at].Message, before[at].Failed
			}
		}
	}
	return pending
}

// maxSyncs limits how often each controller syncs between two passes of the scheduler.
const maxSyncs = 20

// reconcile lets the controllers sync until they have nothing more to do, as they do while the scheduler is still busy with the first pods.
// With random ties the scheduler may be faster.
func (w *World) reconcile(state *cluster.State) (*cluster.State, error) {
	for range maxSyncs {
		next, err := w.controllers.Reconcile(state)
		if err != nil || next == state {
			return state, err
		}
		state = next
		if random := w.controllers.Rand; random != nil && random.IntN(2) == 0 {
			break
		}
	}
	return state, nil
}

// arrived returns the pods that the scheduler tries before the controllers sync again: all of them or, with random ties, perhaps only some.
func (w *World) arrived(queue []*v1.Pod) []*v1.Pod {
	random := w.controllers.Rand
	if random == nil || len(queue) < 2 || random.IntN(2) == 0 {
		return queue
	}
	return queue[:1+random.IntN(len(queue)-1)]
}

// after returns the state after the scheduler's decisions.
func after(state *cluster.State, placed *placement.Result) *cluster.State {
	var victims []*v1.Pod
	for _, preemption := range placed.Preempted {
		victims = append(victims, preemption.Victim)
	}
	// A pod can be placed and, in the same pass, make room for a later one.
	return admission.Terminate(state.With(placed.Changed()...).Without(placed.Deleted()...), v1.PodReasonPreemptionByScheduler, victims...)
}

// at returns the state at another time.
func at(state *cluster.State, now time.Time) *cluster.State {
	next := *state
	next.Now = metav1.NewTime(now)
	return &next
}
