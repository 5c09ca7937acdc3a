// Package verify checks how true the simulation is to a real cluster: it schedules the pods of a cluster's dump again, each on the cluster
// as it was just before, and finds where the pod's real node ranks.
//
//	dump ─ loader.FromFiles ─ admission.Admit ─▶ State
//	events, audit logs, earlier dumps ───────────▶ facts: what happened to which pod, and when
//	  newPast ───────────────────────────────────▶ the lives of all pods, also of those that are gone, in their order
//	  fit ───────────────────────────────────────▶ what nobody has recorded of those that are gone
//	for each pod, in stretches that are judged on all cores:
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
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/stats"
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
	// Judge has the pods whose placements are judged; nil for all. The others only take room, and the history is complete.
	Judge map[types.UID]bool
	// Progress, if set, is called with the pod at work, the number of pods examined and their total. Calls never overlap.
	Progress func(pod string, done, total int)

	stretch int // how many placements are judged in one go; 0: perStretch
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
	// Ties is the number of best nodes, if the pod's is one of them; Only means that no other node was feasible.
	Ties int
	Only bool
	// Reordered means that the pod was taken before others of the same second that come before it in the dump.
	Reordered bool
	// NotUsable means that better nodes were not usable then, as the sources prove: cordoned, tainted, not answering, or not there.
	NotUsable bool
	// Assumes means that the node is among the best only with what nobody recorded: that pods avoided nodes which were changed in an unknown
	// way, what pods that are gone were like, or which nodes the volumes of its claims reach.
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
	case p.Divergence.Contradiction:
		return Contradiction
	}
	return Open
}

// Divergence is a pod whose node is not among the best.
type Divergence struct {
	cluster.PodRef
	// At is the second in which the pod got its node, as far as the dump shows it, in the form of RFC 3339; otherwise missing.
	At string `json:"at,omitempty"`
	// Node is the pod's node, and Best the best one, by name among equals; missing if every node was rejected.
	Node string `json:"node"`
	Best string `json:"best,omitempty"`
	// Rank is k if k-1 nodes are better than the pod's; missing if the pod's was rejected.
	Rank int `json:"rank,omitempty"`
	// Behind is by how many points Best is ahead, and Ahead by which plugins, the most first.
	Behind int64    `json:"behind,omitempty"`
	Ahead  []Points `json:"ahead,omitempty"`
	// Refused says which plugin rejected the node, and why.
	Refused string `json:"refused,omitempty"`
	// Contradiction means that no possible cause was found.
	Contradiction bool `json:"contradiction"`
	// Class is the possible cause: the first check that holds. Words say what it found.
	Class Class  `json:"class" jsonschema:"enum=same second,enum=later change,enum=missing object,enum=sampling,enum=deleted pods,enum=may not have been usable,enum=configuration,enum=unexplained"`
	Words string `json:"words"`

	refusal *placement.Verdict // why the node was rejected
}

// because sets the possible cause.
func (d *Divergence) because(class Class, words string) {
	d.Class, d.Words = class, words
	d.Contradiction = class == Configuration || class == Unexplained
}

// Points are by how much a plugin puts a node ahead of another; negative ones favour the other.
type Points struct {
	Plugin string `json:"plugin"`
	Points int64  `json:"points"`
}

// Assumed is what the pods of one workload, which are gone, are assumed to have been, so that the most placements are among the best.
type Assumed struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"`
	// Pods is their number, and Endless the number without a recorded end.
	Pods    int `json:"pods"`
	Endless int `json:"endless"`
	// CPU and Memory are the requests of each pod; missing if its template is known.
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	// Until is when those without a recorded end were gone, in the form of RFC 3339; missing if they existed to the end.
	Until string `json:"until,omitempty"`
}

// Pending is a pod of the dump that has no node.
type Pending struct {
	cluster.PodRef
	// Node is where the scheduler would put the pod; missing if it is Pending in the replay, too.
	Node string `json:"node,omitempty"`
	// Preempts means that other pods would have to make room for it.
	Preempts bool `json:"preempts,omitempty"`
	// Message is why it is Pending in the replay, and Recorded the message of its PodScheduled condition in the dump.
	Message  string `json:"message,omitempty"`
	Recorded string `json:"recorded,omitempty"`
}

// Skipped are pods that were not scheduled again, for one reason.
type Skipped struct {
	// Why is the reason, as a sentence about the pods.
	Why string `json:"why"`
	// Count is the number of the pods, and Pods are their names, as namespace/name.
	Count int      `json:"count"`
	Pods  []string `json:"pods"`
}

// Count says of how many placements the node is among the best.
type Count struct {
	// Placements is the number of pods that were scheduled again. Only is the number of those for which one node alone was feasible; they
	// prove nothing about scores. Choices is the number of the others.
	Placements int `json:"placements"`
	Only       int `json:"only"`
	Choices    int `json:"choices"`
	// Explained is the number of choices whose node is among the best. Contradictions is the number of choices for which no possible cause
	// was found. Open is the number of the rest: a cause was found that nobody recorded and nothing excludes. The three add up to Choices.
	Explained      int `json:"explained"`
	Contradictions int `json:"contradictions"`
	Open           int `json:"open"`
	// Proved is the number of choices whose node is among the best on the cluster as it was recorded, and ByAssumption of those that also
	// need what was assumed about pods or nodes. The two add up to Explained.
	Proved       int `json:"proved"`
	ByAssumption int `json:"byAssumption"`
	// NotUsable is the number of choices that are proved because better nodes were not usable then. Tied is the number of nodes that share
	// the top score with others. Reordered is the number of pods that were taken before others which the records have before them. Each is
	// a part of Explained.
	NotUsable int `json:"notUsable"`
	Tied      int `json:"tied"`
	Reordered int `json:"reordered"`
	// Agreement is Explained in percent of Explained and Contradictions, which can be judged. Interval is the 95 % Wilson interval around
	// it; missing if nothing can be judged.
	Agreement float64   `json:"agreement"`
	Interval  *Interval `json:"interval,omitempty"`
}

// Interval is from Low to High percent.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Judged is the number of choices that can be judged.
func (c *Count) Judged() int { return c.Explained + c.Contradictions }

// Count counts the placements by what they show.
func (r *Result) Count() Count {
	c := Count{Placements: len(r.Placements)}
	for i := range r.Placements {
		p := &r.Placements[i]
		if p.Divergence == nil && p.Ties > 1 {
			c.Tied++
		}
		if p.Divergence == nil && p.Reordered && !p.Only {
			c.Reordered++
		}
		switch p.Verdict() {
		case NoChoice:
			c.Only++
		case Proved:
			c.Proved++
			if p.NotUsable {
				c.NotUsable++
			}
		case ByAssumption:
			c.ByAssumption++
		case Open:
			c.Open++
		case Contradiction:
			c.Contradictions++
		}
	}
	c.Choices, c.Explained = c.Placements-c.Only, c.Proved+c.ByAssumption
	if c.Judged() > 0 {
		share := stats.Proportion{Successes: c.Explained, N: c.Judged()}
		low, high := share.Wilson(0.95)
		c.Agreement, c.Interval = 100*share.Value(), &Interval{Low: 100 * low, High: 100 * high}
	}
	return c
}

// Divergences returns the pods whose node is not among the best, in the order of the replay.
func (r *Result) Divergences() []Divergence {
	var all []Divergence
	for _, p := range r.Placements {
		if p.Divergence != nil {
			all = append(all, *p.Divergence)
		}
	}
	return all
}

// In returns the result with the pods of one namespace alone.
func (r *Result) In(namespace string) *Result {
	in := *r
	in.Namespace, in.Skipped = namespace, nil
	in.Placements = slices.DeleteFunc(slices.Clone(r.Placements), func(p Placement) bool { return p.Pod.Namespace != namespace })
	in.Pending = slices.DeleteFunc(slices.Clone(r.Pending), func(p Pending) bool { return p.Namespace != namespace })
	in.Assumed = slices.DeleteFunc(slices.Clone(r.Assumed), func(a Assumed) bool { return a.Namespace != namespace })
	for _, s := range r.Skipped {
		s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(name string) bool { return !strings.HasPrefix(name, namespace+"/") })
		if s.Count = len(s.Pods); s.Count > 0 {
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
	// An earlier run in this process may have set another one.
	if err := sched.SetRelease(s.Config.Release()); err != nil {
		return nil, err
	}
	state, notes, err := admission.Admit(&cluster.State{Now: unknown}, s.Cluster...)
	if err != nil {
		return nil, err
	}
	notes = append(notes, s.Config.Notes(len(state.Nodes))...)
	r := &replay{
		Result: &Result{Scenario: s, State: state, Notes: notes, With: opts.History.sources()}, ctx: ctx, opts: opts, examined: &examined{},
		ownerOf: state.Owners(), owners: ownersIn(state), unknown: map[*life]*unknownPods{}, labelKeys: labelKeys(state), eyes: newEyes(),
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
	r.complete = history.covers(r.past.lives) || opts.Judge != nil
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
	} else if err == nil && opts.Judge == nil {
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
	*examined
	eyes
	ctx  context.Context
	opts Options
	// ownerOf finds the workload of a pod, and owners are those that the dump has; see missingOwner.
	ownerOf func(*v1.Pod) cluster.Ref
	owners  map[cluster.Ref]bool
	past    *past
	// unknown are the pods that are gone at a time, or with a form, that nobody recorded.
	unknown map[*life]*unknownPods
	// labelKeys are the labels with which workloads carry their names; complete means that no pod can have come and gone unrecorded.
	labelKeys []string
	complete  bool
	ends      []*end // the ends of pods, in order
	nominated []nomination
}

// eyes are what looks at clusters, and what it keeps. Each worker has its own.
type eyes struct {
	filled  map[*v1.Node]*v1.Node // nodes without room, by the node
	engines map[string]*sched.Engine
	// place is that of these nodes in the scheduler's order, by name.
	place   map[string]int
	orderOf []*v1.Node
	// enough is the number of feasible nodes with which a search ends; see sampling.
	enough map[sampled]int
}

func newEyes() eyes {
	return eyes{filled: map[*v1.Node]*v1.Node{}, engines: map[string]*sched.Engine{}, enough: map[sampled]int{}}
}

func (e *eyes) close() {
	for _, engine := range e.engines {
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
		r.progress(r.opts, cluster.NameOf(pod))
		result, err := engine.Place(r.ctx, r.State, []*v1.Pod{pod})
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		p := Pending{PodRef: cluster.NewPodRef(pod, r.ownerOf(pod))}
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
		r.examine()
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
	r.Skipped[at].Count++
	r.Skipped[at].Pods = append(r.Skipped[at].Pods, cluster.NameOf(pod).String())
}
