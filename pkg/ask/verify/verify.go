// Package verify checks how true the simulation is to a real cluster: it schedules the pods of a cluster's dump again, each on the cluster
// as it was just before, and finds where the pod's real node ranks.
//
//	dump ─ loader.FromFiles ─ admission.Admit ─▶ State
//	events, audit logs, earlier dumps ───────────▶ facts: what happened to which pod, and when
//	  newPast ───────────────────────────────────▶ the lives of all pods, also of those that are gone, in their order
//	  fit ───────────────────────────────────────▶ what nobody has recorded of those that are gone
//	for each pod:
//	  timeline.before ───────────────────────────▶ the cluster just before, as far as is known
//	  sched.Engine.Place ────────────────────────▶ every node's score or refusal
//	  the pod's node is among the best, or why ──▶ Class: each is a check that was run
//	  the pod goes where it really is
//
// A dump says little about the past: it lacks deleted pods, earlier labels and objects that are gone. So a divergence does not prove that
// the simulation is wrong, and each class says what the cause could be.
package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Options are the options of a verification.
type Options struct {
	History *History
	// Progress, if set, is called with the pod at work, the number of pods examined and their total.
	Progress func(pod string, done, total int)
}

// Result is how true the simulation is to the cluster.
type Result struct {
	// Scenario is the dump as it was read, State the cluster in it.
	Scenario *scenario.Scenario
	State    *cluster.State
	Notes    []string
	// Placements are the pods that were scheduled again, in the order of the replay.
	Placements []Placement
	// With names the sources besides the dump.
	With []string
	// Assumed is what was inferred about unrecorded pods that are gone.
	Assumed []Assumed
	// Pending are the dump's pods without a node.
	Pending []Pending
	// Skipped are the pods that no configured scheduler can have placed on the nodes of the dump.
	Skipped []Skipped
	// Partial says how far a verification came that was interrupted; "" for a whole one.
	Partial string
	// Namespace is the only one whose pods the result has; "" for all.
	Namespace string
}

// Placement is a pod of the dump that was scheduled again.
type Placement struct {
	Pod *v1.Pod
	// At is the second in which the pod got its node, according to the dump.
	At time.Time
	// Rank is 1 if the pod's node is among the best, k if k-1 nodes are better, and 0 if the node was rejected.
	Rank int
	// Ties is the number of best nodes, if the pod's is one of them; Only means that no other node was feasible.
	Ties int
	Only bool
	// Reordered means that the pod was taken before others of the same second that come before it in the dump.
	Reordered bool
	// NotUsable means that better nodes were not usable then, as the sources prove: cordoned, tainted, not answering, or not there.
	NotUsable bool
	// Assumes means that the node is among the best only with what nobody recorded: that pods avoided nodes which were changed in an unknown
	// way, or what pods that are gone were like.
	Assumes bool
	// Divergence describes a node that is not among the best; otherwise nil.
	Divergence *Divergence
}

// Verdict is what a placement shows.
type Verdict int

const (
	// NoChoice: only one node was feasible.
	NoChoice Verdict = iota
	// Proved: the node is among the best on the cluster as it was recorded.
	Proved
	// ByAssumption: it is with what was assumed of what nobody recorded; see Result.Assumed and Placement.Assumes.
	ByAssumption
	// Open: it is not, but it would be with something that can have been, and that nothing excludes.
	Open
	// Contradiction: nothing that can have been explains it.
	Contradiction
)

// Verdict returns what the placement shows.
func (p *Placement) Verdict() Verdict {
	switch {
	case p.Only:
		return NoChoice
	case p.Divergence == nil && p.Assumes:
		return ByAssumption
	case p.Divergence == nil:
		return Proved
	case p.Divergence.Class == Configuration || p.Divergence.Class == Unexplained:
		return Contradiction
	}
	return Open
}

// Divergence is a node that is not among the best.
type Divergence struct {
	// Best is the best node, by name among equals; "" if every node was rejected.
	Best string
	// Behind is by how many points Best is ahead of the pod's node, and Ahead by which plugins, if the node is feasible.
	Behind int64
	Ahead  []Points
	// Refusal is why the node was rejected.
	Refusal *placement.Verdict
	// Class is the possible cause, and Words what the check found.
	Class Class
	Words string
}

// Assumed is what the pods of one workload, which are gone, are assumed to have been, so that the most placements are among the best.
type Assumed struct {
	Workload types.NamespacedName
	// Pods is their number, and Endless the number without a recorded end.
	Pods, Endless int
	// Requests are the requests of each pod; nil if its template is known.
	Requests v1.ResourceList
	// Until is when those without a recorded end were gone; zero if they existed to the end.
	Until time.Time
}

// Points are by how much a plugin puts a node ahead of another; negative ones favour the other.
type Points struct {
	Plugin string
	Points int64
}

// Pending is a pod of the dump that has no node.
type Pending struct {
	Pod *v1.Pod
	// Node is where the scheduler would put it; "" if it is Pending in the replay, too.
	Node string
	// Preempts means that other pods would have to make room for it.
	Preempts bool
	// Message is why it is Pending in the replay, and Recorded the message in the dump, or "".
	Message, Recorded string
}

// Skipped are pods that were not scheduled again, for one reason.
type Skipped struct {
	Why  string
	Pods []types.NamespacedName
}

// Choices counts the placements of pods that had a choice, and those among them whose node is among the best. A pod with only one feasible
// node proves nothing about scores.
func (r *Result) Choices() (explained, choices int) {
	for _, p := range r.Placements {
		if p.Only {
			continue
		}
		choices++
		if p.Divergence == nil {
			explained++
		}
	}
	return explained, choices
}

// In returns the result with the pods of one namespace alone.
func (r *Result) In(namespace string) *Result {
	in := *r
	in.Namespace, in.Skipped = namespace, nil
	other := func(pod *v1.Pod) bool { return pod.Namespace != namespace }
	in.Placements = slices.DeleteFunc(slices.Clone(r.Placements), func(p Placement) bool { return other(p.Pod) })
	in.Pending = slices.DeleteFunc(slices.Clone(r.Pending), func(p Pending) bool { return other(p.Pod) })
	in.Assumed = slices.DeleteFunc(slices.Clone(r.Assumed), func(a Assumed) bool { return a.Workload.Namespace != namespace })
	for _, s := range r.Skipped {
		s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(name types.NamespacedName) bool { return name.Namespace != namespace })
		if len(s.Pods) > 0 {
			in.Skipped = append(in.Skipped, s)
		}
	}
	return &in
}

// ErrNothing means that no pod in the dump can be scheduled again.
var ErrNothing = errors.New("no pod in the dump has a node that a configured scheduler gave it, so there is nothing to verify; " +
	"give a dump of nodes and running pods")

// unknown is the time of what has none: it has always existed.
var unknown = metav1.Unix(0, 0)

// Run verifies the cluster that the scenario starts with. If the context ends, the result is that of the pods examined by then, and nil if
// there is none.
func Run(ctx context.Context, s *scenario.Scenario, opts Options) (*Result, error) {
	// Also if there are none: an earlier run in this process may have set others.
	if err := sched.SetFeatureGates(s.Config.FeatureGates()); err != nil {
		return nil, err
	}
	state, notes, err := admission.Admit(&cluster.State{Now: unknown}, s.Cluster...)
	if err != nil {
		return nil, err
	}
	r := &replay{
		Result: &Result{Scenario: s, State: state, Notes: append(notes, s.Config.Notes(len(state.Nodes))...), With: opts.History.sources()}, ctx: ctx, opts: opts, engines: map[string]*sched.Engine{},
		filled: map[*v1.Node]*v1.Node{}, unknown: map[*life]*unknownPods{}, labelKeys: labelKeys(state),
	}
	defer r.close()
	history := opts.History
	if history == nil {
		history = &History{}
	}
	if err := history.check(state); err != nil {
		return nil, err
	}
	r.past = newPast(state, history.facts)
	r.complete = history.covers(r.past.lives)
	r.choose()
	r.stand(history)
	r.timeline = newTimeline(state, r.past.lives, history.facts)
	r.ends, r.nominated = r.past.ends(), r.past.nominations()
	if err := r.fit(); err != nil {
		return nil, err
	}
	r.ends = r.past.ends()
	if err = r.replay(); err == nil && len(r.Placements) == 0 {
		err = ErrNothing
	} else if err == nil {
		err = r.pending()
	}
	switch {
	case err == nil:
	case ctx.Err() == nil || len(r.Placements) == 0:
		return nil, err
	default:
		r.Partial = fmt.Sprintf("interrupted after %d of %s", r.done, words.Count(r.total, "pod"))
	}
	return r.Result, err
}

// replay is a running verification.
type replay struct {
	*Result
	*timeline
	ctx  context.Context
	opts Options
	past *past
	// unknown are the pods that are gone at a time, or with a form, that nobody recorded.
	unknown map[*life]*unknownPods
	// labelKeys are the labels with which workloads carry their names; complete means that no pod can have come and gone unrecorded.
	labelKeys []string
	complete  bool
	ends      []*end // the ends of pods, in order
	nominated []nomination
	filled    map[*v1.Node]*v1.Node // nodes without room, by the node
	engines   map[string]*sched.Engine
	// ordered are the names of these nodes in the scheduler's order.
	ordered []string
	orderOf []*v1.Node
	done    int
	total   int
}

func (r *replay) close() {
	for _, engine := range r.engines {
		engine.Close()
	}
}

// engine returns the scheduler with that name, built from a changed configuration on first use. It examines all nodes unless the change
// says otherwise: the question is whether a node is among the best of all.
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

// replay schedules the pods, group by group.
func (r *replay) replay() error {
	var bound []*life
	ends := 0
	for _, group := range groups(r.past.lives) {
		r.progress(group[0].name)
		search := &search{replay: r, spare: maxSpare, failed: map[string]bool{}}
		found, err := search.arrange(bound, group, ends)
		if found == nil && err == nil {
			found, err = search.greedy(bound, group, ends)
		}
		if err != nil {
			return err
		}
		for _, taken := range found {
			if err := r.weigh(taken, bound); err != nil {
				return err
			}
			bound, ends = append(bound, taken.life), max(ends, taken.ends)
			if taken.placement != nil {
				r.Placements = append(r.Placements, *taken.placement)
				r.done++
			}
		}
		bound = slices.DeleteFunc(slices.Clone(bound), func(l *life) bool { return l.ends < ends })
	}
	return nil
}

func (r *replay) progress(pod types.NamespacedName) {
	if r.opts.Progress != nil {
		r.opts.Progress(pod.String(), r.done, r.total)
	}
}

// pending schedules the pods without a node, each alone, on the cluster in the dump.
func (r *replay) pending() error {
	engine, err := r.engine("all", all)
	if err != nil {
		return err
	}
	for _, pod := range r.State.Unscheduled() {
		if !slices.Contains(r.Scenario.Config.SchedulerNames(), pod.Spec.SchedulerName) {
			continue // order has counted it
		}
		r.progress(cluster.NameOf(pod))
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
		case err != nil: // as an extender that does not answer
			p.Message = err.Error()
		default: // the others of its pod group are tried with it
			for _, placed := range result.Placed {
				if placed.Pod.UID == pod.UID {
					p.Node, p.Preempts = placed.Node, len(result.Preempted) > 0
				}
			}
			for _, pending := range result.Pending {
				if pending.Pod.UID == pod.UID {
					p.Message = pending.Message
					if pending.Untried != "" && p.Recorded == "" {
						p.Message = pending.Why()
					}
				}
			}
		}
		r.Pending = append(r.Pending, p)
		r.done++
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
	r.Skipped[at].Pods = append(r.Skipped[at].Pods, cluster.NameOf(pod))
}
