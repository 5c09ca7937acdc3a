package world

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/autoscaler"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// Cluster is the world of one cluster: its controllers, its scheduler and, if it has one, its autoscaler. Between calls the caller keeps
// the state; a Cluster keeps only what a Mark holds, and caches.
type Cluster struct {
	Hooks
	// Choose, if set, breaks every tie among nodes in place of the ties' own rule. The state is the one in which the scheduler was last
	// called; see [sched.Engine].
	Choose func(state *cluster.State, tie *sched.Tie) (int, error)

	config      *sched.Config
	ties        sched.Ties
	engine      *sched.Engine
	controllers controller.Controllers
	tieSource   *rand.PCG     // random source of the controllers; nil without random ties
	arrivals    *rand.PCG     // random source of the order of what arrives at the same time; nil without random arrivals
	removed     cluster.State // nodes that steps removed, with the objects published for them
	scaler      *scaler       // nil: nobody adds or removes nodes
	actors      []*actor
}

var _ World = (*Cluster)(nil)

// NewCluster builds the world of one cluster, with a scheduler of the configuration. Without a configuration nothing acts in the cluster:
// steps change the state, and no controller or scheduler reacts.
func NewCluster(config *sched.Config, ties sched.Ties) (*Cluster, error) {
	if config == nil {
		return &Cluster{}, nil
	}
	engine, err := sched.NewEngine(config, ties)
	if err != nil {
		return nil, err
	}
	c := &Cluster{config: config, ties: ties, engine: engine}
	c.Reset()
	return c, nil
}

// Config is the configuration of the scheduler.
func (c *Cluster) Config() *sched.Config { return c.config }

// Cycles counts the scheduler's cycles since the cluster was created.
func (c *Cluster) Cycles() sched.Cycles { return c.engine.Cycles() }

// Close releases the schedulers' resources.
func (c *Cluster) Close() {
	c.engine.Close()
	if c.scaler != nil {
		c.scaler.planner.Close()
	}
	c.closeDeciders()
}

// Reset makes controllers and scheduler forget what they have done, but keeps caches about the cluster.
func (c *Cluster) Reset() {
	c.engine.Reset()
	c.removed = cluster.State{}
	c.controllers.Rand, c.controllers.Seed, c.tieSource = nil, nil, nil
	c.controllers.Arrivals, c.arrivals = nil, nil
	if c.scaler != nil {
		c.scaler.planner.Resume(autoscaler.Mark{})
		c.scaler.cloud = cloud{}
	}
	for _, a := range c.actors {
		a.actorMark = actorMark{began: a.From == ""}
	}
	if c.ties.Random {
		c.tieSource = rand.NewPCG(c.ties.Seed, 1)
		c.controllers.Rand, c.controllers.Seed = rand.New(c.tieSource), &c.ties.Seed
	}
	if c.ties.Arrivals {
		c.arrivals = rand.NewPCG(c.ties.Seed, 3)
		c.controllers.Arrivals = rand.New(c.arrivals)
	}
}

// ResetTo resets the cluster for a scenario with another cluster and other ties.
func (c *Cluster) ResetTo(ties sched.Ties) error {
	if err := c.engine.ResetTo(ties); err != nil {
		return err
	}
	c.ties = ties
	if c.scaler != nil {
		c.scaler.planner.Ties = ties
	}
	c.Reset()
	return nil
}

// Mark is a world's position: everything beside the state that its next actions depend on.
type Mark struct {
	// Members are the marks of the members of a federation.
	Members map[string]Mark

	engine              sched.Mark
	tieSource, arrivals rand.PCG
	removed             cluster.State
	scaler              autoscaler.Mark
	cloud               cloud
	actors              []actorMark
}

// NextStart returns the index of the node at which the scheduler's next search for feasible nodes begins; see [sched.Engine].
func (m Mark) NextStart() int { return m.engine.NextStart() }

// Mark returns the cluster's position.
func (c *Cluster) Mark() Mark {
	m := Mark{engine: c.engine.Mark(), removed: c.removed}
	if c.tieSource != nil {
		m.tieSource = *c.tieSource
	}
	if c.arrivals != nil {
		m.arrivals = *c.arrivals
	}
	if c.scaler != nil {
		m.scaler, m.cloud = c.scaler.planner.Mark(), c.scaler.cloud
	}
	m.actors = list.Map(c.actors, func(a *actor) actorMark { return a.actorMark })
	return m
}

// Resume takes the cluster back to the mark.
func (c *Cluster) Resume(m Mark) error {
	c.engine.Return(m.engine)
	if c.tieSource != nil {
		*c.tieSource = m.tieSource
	}
	if c.arrivals != nil {
		*c.arrivals = m.arrivals
	}
	c.removed = m.removed
	if c.scaler != nil {
		c.scaler.planner.Resume(m.scaler)
		c.scaler.cloud = m.cloud
	}
	for i, a := range c.actors {
		if a.actorMark = (actorMark{began: a.From == ""}); i < len(m.actors) {
			a.actorMark = m.actors[i]
		}
	}
	return nil
}

// Start returns the cluster as the API server admits it.
func (c *Cluster) Start(s *scenario.Scenario) (*cluster.State, []string, error) {
	state, notes, err := s.Admit()
	if err != nil {
		return s.EmptyState().With(s.Cluster...), nil, &Problem{field.NewPath("cluster"), err}
	}
	if c.engine == nil {
		return WithoutKubelets(state), notes, nil
	}
	if len(c.actors) > 0 {
		objects, err := c.admitByDeciders(s.EmptyState(), newAtStart(state))
		if objects == nil && err != nil { // the loader has reported what is wrong with the files; what is in a dump stands
			return state, notes, &Problem{field.NewPath("cluster"), err}
		}
		state = state.With(objects...)
	}
	return controller.WithRefusedBefore(state), notes, nil
}

// WithoutKubelets returns the state of a cluster without kubelets, in which deleted pods are gone at once.
func WithoutKubelets(state *cluster.State) *cluster.State {
	next := *state
	next.TerminationSeconds = 0
	return &next
}

// DropUserRefusals forgets the requests of users that the API server refused; see [WithoutUserRefusals].
func (c *Cluster) DropUserRefusals(state *cluster.State) *cluster.State {
	return WithoutUserRefusals(state)
}

// WithoutUserRefusals returns the state without the refused requests of users, which they do not repeat. Requests that controllers retry stay; from now
// on a controller asks again only when its back-off is over. The state is one in which nothing moves.
func WithoutUserRefusals(state *cluster.State) *cluster.State {
	next := *state
	next.Refused = list.Map(list.Where(state.Refused, cluster.Refusal.IsRetried), func(r cluster.Refusal) cluster.Refusal { return r.WithBackoff(state.Now) })
	if slices.Equal(next.Refused, state.Refused) {
		return state
	}
	return &next
}

// Conclude adds to the record how far rollouts are. After a failure it also notes where so many nodes are down that evictions stop.
func (c *Cluster) Conclude(state *cluster.State, step *scenario.LoadedStep, to *Record) {
	if step.Fail != nil {
		to.Notes = append(to.Notes, stoppedEvictionNotes(state)...)
	}
	to.Rollouts = c.controllers.Rollouts(state)
}

// MaxRounds limits the rounds, of a second of logical time each, in which a cluster keeps moving. A rolling update takes about two rounds
// per batch. If a cluster still moves after MaxRounds, controllers work against each other.
const MaxRounds = 10000

// maxLoops limits how often the autoscaler is asked in a step. An autoscaler that still acts after maxLoops adds and removes the same
// nodes.
const maxLoops = 1000

// maxEvictions limits the moments in a step at which taints evict pods that got their nodes in the same step. A pod that tolerates the taint
// of its node for 60 s is evicted after 60 s; if its replacement lands on such a node again, this never ends.
const maxEvictions = 1000

// Settle lets controllers and scheduler act in turn until nothing moves any more, and appends to the record what happens. Each round takes
// a second of logical time.
func (c *Cluster) Settle(ctx context.Context, state *cluster.State, to *Record) (*cluster.State, error) {
	state, _, err := c.SettleUntil(ctx, state, time.Time{}, to)
	return state, err
}

// SettleUntil does what Settle does, and stops at the time until unless it is zero. It returns the state of the last change, and when something
// happens next although nobody changes anything; zero if nothing moves any more.
func (c *Cluster) SettleUntil(ctx context.Context, state *cluster.State, until time.Time, to *Record) (_ *cluster.State, next time.Time, err error) {
	if c.engine == nil {
		return state, next, nil
	}
	var again time.Time // when to ask the autoscaler and the deciders
	began, loops, evictions := state.Now.Time, 0, 0
	for rounds := 0; rounds < MaxRounds; rounds++ {
		if !until.IsZero() && !state.Now.Time.Before(until) {
			return state, state.Now.Time, nil
		}
		moved, behind, err := c.runRound(ctx, state, to)
		if err != nil {
			return nil, next, err
		}
		if moved != state {
			if state = c.showChange(moved); behind {
				state = AtTime(state, moved.Now.Time) // the controllers do the rest at the same moment
			}
			continue
		}
		if loops++; loops <= maxLoops {
			if moved, again, err = c.runAutoscaler(ctx, state, to); err != nil {
				return nil, next, err
			}
			if moved == state {
				var later time.Time
				if moved, later, err = c.askDeciders(ctx, state, to); err != nil {
					return nil, next, err
				}
				again = earlier(again, later)
			}
			if moved != state {
				state = c.showChange(moved)
				continue
			}
		} else if loops == maxLoops+1 && c.scaler != nil {
			to.Notes = append(to.Notes, fmt.Sprintf("the autoscaler still acted when it had been asked %d times; it seems to add nodes that do not help, or to add and remove the same ones, and is not asked again in this step", maxLoops))
		}
		due, waits := c.controllers.Next(state)
		if !again.IsZero() && (!waits || again.Before(due.Time)) {
			due, waits = metav1.NewTime(again), true
		}
		switch {
		case !waits:
			return state, next, nil
		case !until.IsZero() && due.After(until):
			return state, due.Time, nil
		}
		if c.controllers.EvictsBoundSince(began, due.Time) {
			if evictions++; evictions > maxEvictions {
				to.Notes = append(to.Notes, fmt.Sprintf("taints still evicted new pods after %d evictions; the pods tolerate the taints only for some time, and their replacements land on such nodes again; this is the state at that moment", maxEvictions))
				return state, next, nil
			}
		}
		// Nothing moves until a toleration expires, a pod ends, a pod has been ready for long enough, or the autoscaler acts.
		state, rounds, again = AtTime(state, due.Time), 0, time.Time{}
	}
	to.Notes = append(to.Notes, fmt.Sprintf("the cluster still moved after %d rounds; controllers seem to work against each other, and this is the state at that moment", MaxRounds))
	return state, next, nil
}

// showChange calls the hook Moved with a state that has changed, and returns the state a second later.
func (c *Cluster) showChange(state *cluster.State) *cluster.State {
	if c.Moved != nil {
		c.Moved(state)
	}
	return AtTime(state, state.Now.Add(time.Second))
}

// runRound lets the controllers sync and the scheduler work through its queue, at one moment of logical time. It returns the same state if
// nothing moved. With random ties the controllers may be behind: they then have more to do at this moment. round checks the context itself,
// since the scheduler checks it only if a pod is in its queue.
func (c *Cluster) runRound(ctx context.Context, state *cluster.State, to *Record) (_ *cluster.State, behind bool, err error) {
	if c.engine == nil {
		return state, false, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	next, behind, err := c.reconcile(state)
	if err != nil {
		return nil, false, err
	}
	queue := c.shuffleWaitingPods(state, sortQueue(c.controllers.Unscheduled(next)))
	if next != state {
		queue = c.cutQueueAtRandom(state, queue)
	}
	c.engine.Progress, c.engine.Record = c.Progress, nil
	if c.Record != nil {
		owner := next.Owners()
		c.engine.Record = func(pod *v1.Pod) *placement.Depth { return c.Record(owner(pod), pod) }
	}
	c.engine.Choose = nil
	if c.Choose != nil {
		c.engine.Choose = func(tie *sched.Tie) (int, error) { return c.Choose(next, tie) }
	}
	placed, err := c.engine.Place(ctx, next, queue)
	if err != nil {
		return nil, false, err
	}
	to.Placed = append(to.Placed, placed.Placed...)
	if len(to.Acts) > 0 {
		to.followEvicted(next.Owners(), placed.Placed)
	}
	to.Pending = to.keepMessages(placed.Pending)
	for _, note := range placed.Notes {
		if !slices.Contains(to.Notes, note) {
			to.Notes = append(to.Notes, note)
		}
	}
	to.Preempted = append(to.Preempted, placed.Preempted...)
	pods := list.Map(placed.Placed, func(p placement.Placement) *v1.Pod { return p.Pod })
	return c.controllers.StartBoundPods(applyDecisions(next, placed), pods), behind, nil
}

// maxSyncs limits how often each controller syncs between two passes of the scheduler.
const maxSyncs = 20

// reconcile lets the controllers sync until they have nothing more to do. Usually they are done while the scheduler is still busy with the
// first pods. With random ties the scheduler may be faster, and the controllers are behind.
func (c *Cluster) reconcile(state *cluster.State) (_ *cluster.State, behind bool, err error) {
	for range maxSyncs {
		next, err := c.controllers.Reconcile(state)
		if err != nil || next == state {
			return state, false, err
		}
		state = next
		if random := c.controllers.Rand; random != nil && random.IntN(2) == 0 {
			return state, true, nil
		}
	}
	return state, false, nil
}

// cutQueueAtRandom returns the pods that the scheduler tries before the controllers sync again. These are all pods or, with random ties, perhaps
// only the first few. Of the pods that waited in the state before, those of a higher priority are the first: all of them are in the queue already, while new
// pods come one after the other.
func (c *Cluster) cutQueueAtRandom(before *cluster.State, queue []*v1.Pod) []*v1.Pod {
	random := c.controllers.Rand
	if random == nil || len(queue) < 2 || random.IntN(2) == 0 {
		return queue
	}
	old, fresh := splitQueue(before, queue)
	higher := func(a, b *v1.Pod) int { return cmp.Compare(corev1.PodPriority(b), corev1.PodPriority(a)) }
	if !slices.IsSortedFunc(old, higher) {
		slices.SortStableFunc(old, higher)
		queue = slices.Concat(old, fresh)
	}
	return queue[:1+random.IntN(len(queue)-1)]
}

// applyDecisions returns the state after the scheduler's decisions.
func applyDecisions(state *cluster.State, placed *placement.Result) *cluster.State {
	victims := list.Map(placed.Preempted, func(preemption placement.Preemption) *v1.Pod { return preemption.Victim })
	// A pod can be placed and, in the same pass, make room for a later one.
	return admission.Terminate(state.With(placed.Changed()...).Without(placed.Deleted()...), v1.PodReasonPreemptionByScheduler, victims...)
}

// AtTime returns a copy of the state with its clock set to now.
func AtTime(state *cluster.State, now time.Time) *cluster.State {
	next := *state
	next.Now = metav1.NewTime(now)
	return &next
}
