// Package verify checks how well the simulation agrees with a real cluster. It schedules the pods of a cluster's dump again, each on the
// cluster as it was just before the pod came, and finds the rank of the pod's real node.
//
//	dump ─ loader.FromFiles ─ admission.Admit ─▶ State
//	events, audit logs, earlier dumps ───────────▶ facts: what happened to which pod, and when
//	  newPast ───────────────────────────────────▶ the lives of all pods in order, with the pods that are gone
//	  fitUnknownPods ────────────────────────────▶ what no source records about the pods that are gone
//	for each pod, in stretches that are judged on all cores:
//	  timeline.stateAt ──────────────────────────▶ the cluster just before the pod came, as far as it is known
//	  sched.Engine.Place ────────────────────────▶ every node's score or refusal
//	  the pod's node is among the best, or why ──▶ Class: each is a check that was run
//	  the pod goes to its real node
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
	// Judge has the UIDs of the pods whose placements are judged; nil for all pods. The other pods only take room, and the history counts as
	// complete.
	Judge map[types.UID]bool
	// Progress, if set, is called with the name of the current pod, the number of pods examined and their total. Calls never overlap.
	Progress func(pod string, done, total int)

	stretchSize int // number of placements in a stretch; 0 means [defaultStretchSize]
}

// Result says how well the simulation agrees with the cluster.
type Result struct {
	// Scenario is the dump as it was read; State is the cluster in it.
	Scenario *scenario.Scenario
	State    *cluster.State
	Notes    []string
	// Placements are the pods that were scheduled again, in the order of the replay.
	Placements []Placement
	// With names the sources that were read besides the dump.
	With []string
	// Assumed has what was inferred about pods that are gone and that no source fully records.
	Assumed []Assumed
	// Pending are the dump's pods without a node.
	Pending []Pending
	// Skipped are the pods that no configured scheduler can have placed on the nodes of the dump, by reason.
	Skipped []Skipped
	// Partial says how far an interrupted verification came; "" means that it is complete.
	Partial string
	// Namespace is the only namespace whose pods the result has; "" means all namespaces.
	Namespace string
}

// Placement is a pod of the dump that was scheduled again.
type Placement struct {
	Pod *v1.Pod
	// At is the second in which the pod got its node, according to the dump.
	At time.Time
	// Ties is the number of best nodes if the pod's node is one of them. Only means that no other node was feasible.
	Ties int
	Only bool
	// Reordered means that the replay placed the pod before pods of the same second that precede it in the dump.
	Reordered bool
	// NotUsable means that better nodes were not usable at that time, as the sources prove: they were cordoned, tainted, not answering, or not
	// there.
	NotUsable bool
	// Assumes means that the node is among the best only with an assumption about what no source records: that pods avoided nodes which were
	// changed in an unknown way, what pods that are gone requested, or which nodes the volumes of the pod's claims reach.
	Assumes bool
	// Divergence describes why the node is not among the best; nil if it is.
	Divergence *Divergence
}

// Verdict is what a placement shows.
type Verdict int

const (
	// NoChoice: only one node was feasible.
	NoChoice Verdict = iota
	// Proved: the node is among the best on the cluster as it was recorded.
	Proved
	// ByAssumption: the node is among the best with the assumptions of Result.Assumed and Placement.Assumes.
	ByAssumption
	// Open: the node is not among the best, but would be after a change that may have happened and that no source excludes.
	Open
	// Contradiction: no possible change explains the node.
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
	// At is the second in which the pod got its node, in the form of RFC 3339; missing if the dump does not show it.
	At string `json:"at,omitempty"`
	// Node is the pod's node. Best is the best node, the first by name among equals; missing if every node was rejected.
	Node string `json:"node"`
	Best string `json:"best,omitempty"`
	// Rank is k if k-1 nodes are better than the pod's node; missing if the pod's node was rejected.
	Rank int `json:"rank,omitempty"`
	// Behind is the number of points by which Best is ahead. Ahead has the points of each plugin, the most first.
	Behind int64    `json:"behind,omitempty"`
	Ahead  []Points `json:"ahead,omitempty"`
	// Refused says which plugin rejected the node, and why.
	Refused string `json:"refused,omitempty"`
	// Contradiction means that no possible cause was found.
	Contradiction bool `json:"contradiction"`
	// Class is the possible cause: the class of the first check that holds. Words say what the check found.
	Class Class  `json:"class" jsonschema:"enum=same second,enum=later change,enum=missing object,enum=sampling,enum=deleted pods,enum=may not have been usable,enum=configuration,enum=unexplained"`
	Words string `json:"words"`

	refusal *placement.Verdict // why the node was rejected
}

// setCause sets the possible cause and says whether it is a contradiction.
func (d *Divergence) setCause(class Class, words string) {
	d.Class, d.Words = class, words
	d.Contradiction = class == Configuration || class == Unexplained
}

// Points is the lead in points that a plugin gives one node over another; a negative lead favours the other node.
type Points struct {
	Plugin string `json:"plugin"`
	Points int64  `json:"points"`
}

// Assumed is what the pods of one workload, which are gone, are assumed to have been. The assumption is the one with the most placements
// among the best.
type Assumed struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"`
	// Pods is the number of these pods, and Endless the number of them without a recorded end.
	Pods    int `json:"pods"`
	Endless int `json:"endless"`
	// CPU and Memory are the requests of each pod; missing if the pods' template is known.
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	// Until is when the pods without a recorded end were gone, in the form of RFC 3339; missing if they existed until the dump.
	Until string `json:"until,omitempty"`
}

// Pending is a pod of the dump that has no node.
type Pending struct {
	cluster.PodRef
	// Node is where the scheduler would put the pod; missing if the pod is Pending in the replay, too.
	Node string `json:"node,omitempty"`
	// Preempts means that the scheduler would preempt other pods for it.
	Preempts bool `json:"preempts,omitempty"`
	// Message says why the pod is Pending in the replay. Recorded is the message of its PodScheduled condition in the dump.
	Message  string `json:"message,omitempty"`
	Recorded string `json:"recorded,omitempty"`
}

// Skipped has the pods that were not scheduled again for one reason.
type Skipped struct {
	// Why is the reason, as a sentence about the pods.
	Why string `json:"why"`
	// Count is the number of the pods, and Pods are their names, as namespace/name.
	Count int      `json:"count"`
	Pods  []string `json:"pods"`
}

// Count has the numbers of placements by verdict.
type Count struct {
	// Placements is the number of pods that were scheduled again. Only is the number of placements for which a single node was feasible; they
	// prove nothing about scores. Choices is the number of the other placements.
	Placements int `json:"placements"`
	Only       int `json:"only"`
	Choices    int `json:"choices"`
	// Explained is the number of choices whose node is among the best. Contradictions is the number of choices without any possible cause.
	// Open is the number of choices with a possible cause that no source records and none excludes. The three add up to Choices.
	Explained      int `json:"explained"`
	Contradictions int `json:"contradictions"`
	Open           int `json:"open"`
	// Proved is the number of choices whose node is among the best on the cluster as it was recorded. ByAssumption is the number of choices
	// that also need an assumption about pods or nodes. The two add up to Explained.
	Proved       int `json:"proved"`
	ByAssumption int `json:"byAssumption"`
	// NotUsable is the number of choices that are proved because better nodes were not usable at that time. Tied is the number of placements
	// whose node shares the top score with other nodes. Reordered is the number of choices whose pod was placed before pods that precede it in
	// the records. Each is a part of Explained.
	NotUsable int `json:"notUsable"`
	Tied      int `json:"tied"`
	Reordered int `json:"reordered"`
	// Agreement is Explained in percent of Explained and Contradictions, the choices that can be judged. Interval is the 95 % Wilson interval
	// around it; missing if no choice can be judged.
	Agreement float64   `json:"agreement"`
	Interval  *Interval `json:"interval,omitempty"`
}

// Interval is a range from Low to High percent.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Judged returns the number of choices that can be judged.
func (c *Count) Judged() int { return c.Explained + c.Contradictions }

// Count counts the placements by verdict.
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

// In returns the result with the pods of one namespace only.
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

// unknownTime is the creation time of an object that has none: the object has always existed.
var unknownTime = metav1.Unix(0, 0)

// Run verifies the cluster that the scenario starts with. If the context ends, Run returns the result for the pods examined by then, or nil
// if there is none.
func Run(ctx context.Context, s *scenario.Scenario, opts Options) (*Result, error) {
	// An earlier run in this process may have set another release.
	if err := sched.SetRelease(s.Config.Release()); err != nil {
		return nil, err
	}
	state, notes, err := admission.Admit(&cluster.State{Now: unknownTime}, s.Cluster...)
	if err != nil {
		return nil, err
	}
	notes = append(notes, s.Config.Notes(len(state.Nodes))...)
	r := &replay{
		Result: &Result{Scenario: s, State: state, Notes: notes, With: opts.History.sources()}, ctx: ctx, opts: opts, progressCounter: &progressCounter{},
		ownerOf: state.Owners(), owners: selectorOwners(state), unknownByLife: map[*podLife]*unknownPods{}, labelKeys: workloadLabelKeys(state), workerCache: newWorkerCache(),
	}
	defer r.close()
	history := opts.History
	if history == nil {
		history = &History{}
	}
	if err := history.checkCluster(state); err != nil {
		return nil, err
	}
	r.past = newPast(state, history.facts)
	r.historyComplete = history.covers(r.past.lives) || opts.Judge != nil
	r.skipExempt()
	r.reconstructPods(history)
	r.timeline = newTimeline(state, r.past.lives, history.facts)
	r.ends, r.nominations = r.past.completeEnds(), r.past.nominations()
	if err := r.fitUnknownPods(); err != nil {
		return nil, err
	}
	r.ends = r.past.completeEnds()
	if err = r.judgeAll(); err == nil && len(r.Placements) == 0 {
		err = ErrNothing
	} else if err == nil && opts.Judge == nil {
		err = r.schedulePending()
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
	*progressCounter
	workerCache
	ctx  context.Context
	opts Options
	// ownerOf finds the workload of a pod. owners are the workloads in the dump; see [causeSearch.makeUpOwner].
	ownerOf func(*v1.Pod) cluster.Ref
	owners  map[cluster.Ref]bool
	past    *past
	// unknownByLife groups the pods that are gone and for which no source records the end, or the spec.
	unknownByLife map[*podLife]*unknownPods
	// labelKeys are the labels with which workloads carry their names. historyComplete means that no pod can have come and gone unrecorded.
	labelKeys       []string
	historyComplete bool
	ends            []*podEnd // the ends of all pods, in order
	nominations     []nomination
}

// workerCache is what a worker keeps between placements: its schedulers and its caches.
type workerCache struct {
	fullNodes map[*v1.Node]*v1.Node // each node's copy without room; see [replay.fillNode]
	engines   map[string]*sched.Engine
	lists     map[*sched.Engine]*podLists
	// nodePlaces has the position of each node of nodePlacesOf in the scheduler's order, by the node's name.
	nodePlaces   map[string]int
	nodePlacesOf []*v1.Node
	// sampleSizes is the number of feasible nodes at which a search stops; see [causeSearch.checkSampling].
	sampleSizes map[sampleKey]int
}

func newWorkerCache() workerCache {
	return workerCache{fullNodes: map[*v1.Node]*v1.Node{}, engines: map[string]*sched.Engine{}, lists: map[*sched.Engine]*podLists{}, sampleSizes: map[sampleKey]int{}}
}

func (e *workerCache) close() {
	for _, engine := range e.engines {
		engine.Close()
	}
}

// engine returns the scheduler with that name. Its first call builds the scheduler from the changed configuration. A configuration without
// a change samples nodes; [examineAllNodes] makes the scheduler examine every node, to find out whether a node is among the best of all.
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

func examineAllNodes(config *sched.Config) *sched.Config {
	return config.WithPercentageOfNodesToScore(100)
}

// schedulePending schedules the dump's pods without a node, each alone, on the cluster in the dump.
func (r *replay) schedulePending() error {
	engine, err := r.engine("all", examineAllNodes)
	if err != nil {
		return err
	}
	for _, pod := range r.State.Unscheduled() {
		if !slices.Contains(r.Scenario.Config.SchedulerNames(), pod.Spec.SchedulerName) {
			continue // [replay.skipExempt] has counted it
		}
		r.reportProgress(r.opts, cluster.NameOf(pod))
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
		case err != nil: // for example, an extender that does not answer
			p.Message = err.Error()
		default: // the result also has the other pods of its pod group
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
		r.countPod()
	}
	return nil
}

// appendSkipped appends a pod that is not scheduled again to Skipped.
func (r *replay) appendSkipped(why string, pod *v1.Pod) {
	at := slices.IndexFunc(r.Skipped, func(s Skipped) bool { return s.Why == why })
	if at < 0 {
		at = len(r.Skipped)
		r.Skipped = append(r.Skipped, Skipped{Why: why})
	}
	r.Skipped[at].Count++
	r.Skipped[at].Pods = append(r.Skipped[at].Pods, cluster.NameOf(pod).String())
}
