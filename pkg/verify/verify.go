// Package verify tells how true the simulation is to a real cluster: it schedules the pods of a cluster's dump again, each on the
// cluster as it was just before, and looks where the node that the pod really has stands.
//
//	dump ─ scenario.FromFiles ─ workload.Admit ──▶ State
//	  order ─────────────────────────────────────▶ seconds, each with the pods that got their nodes in it
//	for each pod:
//	  asOf ──────────────────────────────────────▶ the cluster just before, as far as the dump tells
//	  sched.Engine.Place ────────────────────────▶ every node's score or refusal
//	  the pod's node is among the best, or why ──▶ Class: each is a check that was run
//	  the pod goes where it really is
//
// A dump tells little of the past: pods that were deleted, labels that were changed and objects that are gone are not in it. So a
// divergence is no proof that the simulation is wrong, and each class says what it could be.
package verify

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/sched"
	"github.com/faultline/faultline/pkg/workload"
)

// Options are what a verification can be given besides its dump.
type Options struct {
	// Progress, if set, is told how many pods have been looked at, and of how many.
	Progress func(done, total int)
}

// Result is how true the simulation is to the cluster.
type Result struct {
	// Scenario is the dump as it was read, State the cluster that it holds.
	Scenario *scenario.Scenario
	State    *cluster.State
	// Notes are what was assumed or added.
	Notes []string
	// Placements are the pods that were scheduled again, in the order of the replay.
	Placements []Placement
	// Pending are the dump's pods without a node.
	Pending []Pending
	// Skipped are the pods that no configured scheduler can have placed on the nodes of the dump.
	Skipped []Skipped
}

// Placement is a pod of the dump that was scheduled again.
type Placement struct {
	Pod *v1.Pod
	// At is the second in which the pod got its node, as far as the dump tells.
	At time.Time
	// Rank is 1 if the pod's node is among the best, k if k-1 nodes are better, and 0 if the node was refused.
	Rank int
	// Ties is the number of nodes among the best, where the pod's is one of them; Only tells that there was no other feasible one.
	Ties int
	Only bool
	// Reordered tells that the pod was taken before others of the same second which stand before it in the dump.
	Reordered bool
	// Divergence is what is known if the node is not among the best, or nil.
	Divergence *Divergence
}

// Divergence is a node that is not among the best.
type Divergence struct {
	// Best is the best node, by name among equals; "" if every node was refused.
	Best string
	// Behind is by how many points Best is ahead of the pod's node, and Ahead by which plugins; of a feasible node.
	Behind int64
	Ahead  []Points
	// Refusal is why the node was refused.
	Refusal *placement.Verdict
	// Class is what could be the cause, and Words what the check found.
	Class Class
	Words string
}

// Points are by how much a plugin has a node ahead of another; negative ones speak for the other.
type Points struct {
	Plugin string
	Points int64
}

// Pending is a pod of the dump that has no node.
type Pending struct {
	Pod *v1.Pod
	// Node is where the scheduler would put it, or "": it is Pending in the replay, too.
	Node string
	// Preempts tells that other pods would have to make room for it.
	Preempts bool
	// Message is why it is Pending in the replay, Recorded what the dump has; "" where it has none.
	Message, Recorded string
}

// Skipped are pods that were not scheduled again, for one reason.
type Skipped struct {
	Why  string
	Pods []types.NamespacedName
}

// Best counts the placements whose node is among the best.
func (r *Result) Best() int {
	n := 0
	for _, p := range r.Placements {
		if p.Divergence == nil {
			n++
		}
	}
	return n
}

// ErrNothing says that the dump holds no pod that could be scheduled again.
var ErrNothing = errors.New("no pod in the dump has a node that a configured scheduler gave it, so there is nothing to verify; " +
	"give a dump of nodes and running pods")

// unknown is the time of what tells none: it has always been there.
var unknown = metav1.Unix(0, 0)

// Run verifies the cluster that the scenario begins with.
func Run(ctx context.Context, s *scenario.Scenario, opts Options) (*Result, error) {
	// Also when there are none: an earlier run in this process may have left its own.
	if err := sched.SetFeatureGates(s.FeatureGates); err != nil {
		return nil, err
	}
	state, notes, err := workload.Admit(&cluster.State{Now: unknown}, s.Cluster...)
	if err != nil {
		return nil, err
	}
	r := &replay{Result: &Result{Scenario: s, State: state, Notes: notes}, ctx: ctx, opts: opts, engines: map[string]*sched.Engine{}}
	defer r.close()
	r.history = newHistory(state)
	for _, second := range r.order() {
		if err := r.replay(second); err != nil {
			return nil, err
		}
	}
	if len(r.Placements) == 0 {
		return nil, ErrNothing
	}
	return r.Result, r.pending()
}

// replay is a verification under way.
type replay struct {
	*Result
	ctx     context.Context
	opts    Options
	history *history
	engines map[string]*sched.Engine
	bound   []*v1.Pod // those that have their nodes by now, in order
	done    int
	total   int
}

func (r *replay) close() {
	for _, engine := range r.engines {
		engine.Close()
	}
}

// engine returns the scheduler of that name, which is built from a change of the configuration the first time. It looks at all
// nodes unless the change says otherwise: the question is whether a node is among the best of all.
func (r *replay) engine(name string, change func(*sched.Config) *sched.Config) (*sched.Engine, error) {
	if engine := r.engines[name]; engine != nil {
		return engine, nil
	}
	engine, err := sched.NewEngine(change(r.Scenario.Config), sched.Ties{})
	if err == nil {
		r.engines[name] = engine
	}
	return engine, err
}

func all(config *sched.Config) *sched.Config { return config.WithPercentageOfNodesToScore(100) }

// replay schedules the pods of one second, each alone.
func (r *replay) replay(second *second) error {
	search := &search{replay: r, second: second, spare: maxSpare, failed: map[string]bool{}}
	found, err := search.arrange(r.bound, second.pods)
	if err != nil {
		return err
	}
	if found == nil {
		if found, err = search.greedy(r.bound, second.pods); err != nil {
			return err
		}
	}
	for _, taken := range found {
		r.bound = append(r.bound, taken.pod)
		if taken.placement != nil {
			r.Placements = append(r.Placements, *taken.placement)
			r.progress()
		}
	}
	return nil
}

func (r *replay) progress() {
	r.done++
	if r.opts.Progress != nil {
		r.opts.Progress(r.done, r.total)
	}
}

// pending schedules the pods without a node, each alone, on the cluster as the dump has it.
func (r *replay) pending() error {
	engine, err := r.engine("all", all)
	if err != nil {
		return err
	}
	for _, pod := range r.State.Unscheduled() {
		if !slices.Contains(r.Scenario.Config.SchedulerNames(), pod.Spec.SchedulerName) {
			continue // order has counted it
		}
		result, err := engine.Place(r.ctx, r.State, []*v1.Pod{pod})
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		p := Pending{Pod: pod}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
				p.Recorded = condition.Message
			}
		}
		switch {
		case err != nil: // an object that is not there; see lookBy
			p.Message = err.Error()
		case len(result.Placed) > 0:
			p.Node, p.Preempts = result.Placed[0].Node, len(result.Preempted) > 0
		default:
			p.Message = result.Pending[0].Message
		}
		r.Pending = append(r.Pending, p)
		r.progress()
	}
	return nil
}

// skip counts a pod that is not scheduled again.
func (r *replay) skip(why string, pod *v1.Pod) {
	at := slices.IndexFunc(r.Skipped, func(s Skipped) bool { return s.Why == why })
	if at < 0 {
		at = len(r.Skipped)
		r.Skipped = append(r.Skipped, Skipped{Why: why})
	}
	r.Skipped[at].Pods = append(r.Skipped[at].Pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
}

// look is what the scheduler says of a pod's nodes.
type look struct {
	cycle   *placement.Cycle
	placed  bool
	ties    int
	failure string // why there is no answer
}

// look schedules the pod on the state, with every node looked at.
func (r *replay) look(state *cluster.State, pod *v1.Pod) (*look, error) {
	engine, err := r.engine("all", all)
	if err != nil {
		return nil, err
	}
	return r.lookBy(engine, state, pod)
}

// lookBy schedules the pod, as it was before it was bound, on the state. It may not preempt: what had to make room for it is not
// in the dump.
func (r *replay) lookBy(engine *sched.Engine, state *cluster.State, pod *v1.Pod) (*look, error) {
	waiting := *pod
	waiting.DeletionTimestamp = nil
	waiting.Spec.NodeName = ""
	waiting.Spec.PreemptionPolicy = new(v1.PreemptNever)
	waiting.Spec.SchedulingGates = nil
	waiting.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: pod.Status.QOSClass}
	with := *state
	with.Pods = slices.Concat(state.Pods, []*v1.Pod{&waiting})
	engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{} }
	defer func() { engine.Record = nil }()
	result, err := engine.Place(r.ctx, &with, []*v1.Pod{&waiting})
	if r.ctx.Err() != nil {
		return nil, r.ctx.Err()
	}
	if err != nil {
		// A plugin cannot answer where it needs an object that is not there; a real scheduler tries such a pod again later.
		return &look{failure: err.Error()}, nil
	}
	if len(result.Placed) > 0 {
		return &look{cycle: result.Placed[0].Cycle, placed: true, ties: result.Placed[0].Ties}, nil
	}
	return &look{cycle: result.Pending[0].Cycle}, nil
}

// candidate is the node among the feasible ones, or nil.
func (l *look) candidate(node string) *placement.Candidate {
	if l.cycle == nil {
		return nil
	}
	for i := range l.cycle.Candidates {
		if l.cycle.Candidates[i].Node == node {
			return &l.cycle.Candidates[i]
		}
	}
	return nil
}

// best tells whether the node is among the best. A single feasible node is not scored, and has no rank.
func (l *look) best(node string) bool {
	candidate := l.candidate(node)
	return candidate != nil && candidate.Rank <= 1
}

// placement says where the pod's node stands.
func (l *look) placement(pod *v1.Pod, at time.Time) Placement {
	p := Placement{Pod: pod, At: at}
	node := l.candidate(pod.Spec.NodeName)
	if node != nil && node.Rank <= 1 {
		p.Rank, p.Only = 1, len(l.cycle.Candidates) == 1
		if p.Ties = l.ties; p.Only {
			p.Ties = 1
		}
		return p
	}
	d := &Divergence{}
	p.Divergence = d
	if l.placed {
		d.Best = l.cycle.Candidates[0].Node
	}
	if node == nil {
		d.Refusal = l.refusal(pod.Spec.NodeName)
		return p
	}
	p.Rank = node.Rank
	best := l.cycle.Candidates[0]
	d.Behind = best.Total - node.Total
	for i, score := range best.Scores {
		if points := score.Weighted - node.Scores[i].Weighted; points != 0 {
			d.Ahead = append(d.Ahead, Points{Plugin: score.Plugin, Points: points})
		}
	}
	slices.SortStableFunc(d.Ahead, func(a, b Points) int { return int(b.Points - a.Points) })
	return p
}

// refusal is why the node was refused.
func (l *look) refusal(node string) *placement.Verdict {
	if l.failure != "" {
		return &placement.Verdict{Status: l.failure}
	}
	if l.cycle == nil {
		return &placement.Verdict{Status: "the pod was held back before any node was looked at"}
	}
	for _, refusal := range l.cycle.Refusals {
		if slices.Contains(refusal.Nodes, node) {
			return &placement.Verdict{Plugin: refusal.Plugin, Status: refusal.Message}
		}
	}
	if l.cycle.Named != nil {
		return &placement.Verdict{Plugin: l.cycle.NamedBy[0], Status: "the pod is for certain other nodes alone"}
	}
	for _, verdict := range l.cycle.PreFilter {
		if verdict.Status != "success" && verdict.Status != "skip" {
			return &verdict
		}
	}
	return &placement.Verdict{Status: "the node was not looked at"}
}
