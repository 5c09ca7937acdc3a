package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/recording"
	"github.com/faultline/faultline/pkg/scenario"
)

// Follower judges placements as they happen. It knows every object as it was before a placement, so it needs no assumptions.
//
// It collects events in a window until nothing has happened for a while, and then replays the window as [Run] does: the records of
// decisions that were made at almost the same time can have any order.
type Follower struct {
	scenario *scenario.Scenario
	objects  map[cluster.Ref]*followedObject
	order    []*followedObject
	// The following fields are about the current window: when it began, its last event, its facts, and the pods that got a node.
	windowStart, lastEvent time.Time
	facts                  []fact
	bound                  map[types.UID]bool
	ended                  []*v1.Pod // pods that had a node and are gone
	sawChange              bool      // an event has come after the initial objects
	result                 Result
}

// followedObject is an object: atStart is its state when the window began, or when the object came, and current is its state now; nil if it is
// gone.
type followedObject struct {
	atStart, current cluster.Object
}

// NewFollower returns a follower of a cluster, which has no objects yet. The scenario has the configuration of the scheduler; source names the
// recording in the result.
func NewFollower(s *scenario.Scenario, source string) *Follower {
	return &Follower{scenario: s, objects: map[cluster.Ref]*followedObject{}, bound: map[types.UID]bool{}, result: Result{Scenario: s, With: []string{source}}}
}

// Observe applies an event. Events of kinds that no answer depends on have no effect.
func (f *Follower) Observe(file string, e recording.Event) error {
	kind, namespace, name := e.Object()
	ref := cluster.Ref{Kind: kind, Namespace: namespace, Name: name}
	known := f.objects[ref]
	var obj cluster.Object // nil if the event deletes the object
	if e.Event != recording.Delete {
		set, err := manifest.Decode(file, e.Resource)
		if err != nil {
			return fmt.Errorf("%w (line %d)", err, max(e.Line, 1))
		}
		if len(set.Objects) != 1 {
			return nil // of a kind that plays no part or that this release does not know
		}
		obj = set.Objects[0].Object
	}
	if known == nil && obj == nil {
		return nil
	}
	if !e.Time.After(f.lastEvent) { // where times are in whole seconds, the order of the lines counts
		e.Time = f.lastEvent.Add(time.Microsecond)
	}
	f.lastEvent = e.Time
	if !f.sawChange && e.Event != recording.Add { // all objects up to now existed before
		f.sawChange = true
		f.endWindow()
	}
	if f.windowStart.IsZero() {
		f.windowStart = e.Time
	}
	if known == nil {
		known = &followedObject{atStart: obj}
		f.objects[ref], f.order = known, append(f.order, known)
	}
	before, after := known.current, obj
	if before == nil {
		known.atStart = obj // the object came, or came again
	}
	known.current = obj
	switch kind {
	case "Pod":
		f.notePod(e.Time, objectAs[*v1.Pod](before), objectAs[*v1.Pod](after))
	case "Node":
		f.noteNode(e.Time, objectAs[*v1.Node](before), objectAs[*v1.Node](after))
	}
	return nil
}

// objectAs returns the object with its type, and nil if it is gone.
func objectAs[T cluster.Object](obj cluster.Object) T {
	typed, _ := obj.(T)
	return typed
}

// notePod appends the facts about a change of a pod.
func (f *Follower) notePod(at time.Time, before, after *v1.Pod) {
	pod := after
	if pod == nil {
		pod = before
	}
	if pod == nil {
		return
	}
	note := func(what factKind) *fact {
		f.facts = append(f.facts, fact{kind: what, at: at, audit: true, exact: true, pod: cluster.NameOf(pod), uid: pod.UID, object: pod})
		return &f.facts[len(f.facts)-1]
	}
	running := func(pod *v1.Pod) bool { return pod != nil && pod.Spec.NodeName != "" && !cluster.IsTerminal(pod) }
	switch {
	case before == nil:
		if after.Spec.NodeName == "" {
			note(podCreated)
		}
	case before != nil && before.Spec.NodeName == "" && running(after):
		note(podScheduled).node = after.Spec.NodeName
		f.bound[pod.UID] = true
	case before != nil && before.Spec.NodeName == "" && after != nil && isRefused(after) && !isRefused(before):
		note(podRefused)
	}
	if running(before) && before.DeletionTimestamp == nil && after != nil && after.DeletionTimestamp != nil {
		note(podDeletionRequested).preempted = slices.ContainsFunc(after.Status.Conditions, func(c v1.PodCondition) bool {
			return c.Type == v1.DisruptionTarget && c.Reason == v1.PodReasonPreemptionByScheduler
		})
	}
	if running(before) && !running(after) {
		f.ended = append(f.ended, before)
		note(podGone)
	}
}

func isRefused(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse
	})
}

// noteNode appends the facts about a change of a node.
func (f *Follower) noteNode(at time.Time, before, after *v1.Node) {
	is := func(what factKind, at time.Time, node *v1.Node) {
		f.facts = append(f.facts, fact{kind: what, at: at, audit: true, exact: true, node: node.Name, cordoned: &node.Spec.Unschedulable, taints: node.Spec.Taints})
	}
	switch {
	case before == nil && after == nil:
	case before == nil:
		is(nodeAdded, at, after)
		is(nodeTaintsSet, at, after)
	case after == nil:
		is(nodeRemoved, at, before)
	case before.Spec.Unschedulable != after.Spec.Unschedulable || !apiequality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints):
		if !slices.ContainsFunc(f.facts, func(f fact) bool { return f.kind == nodeTaintsSet && f.node == before.Name }) {
			is(nodeTaintsSet, f.windowStart.Add(-time.Millisecond), before) // the node when the window began
		}
		is(nodeTaintsSet, at, after)
	}
}

const (
	// A window ends when nothing was decided or ended for quietPeriod. A window that has lasted for longWindow ends after briefQuietPeriod,
	// and a window that has lasted for longestWindow ends at once. A window without placements ends after longWindow.
	quietPeriod, briefQuietPeriod = time.Second, 100 * time.Millisecond
	longWindow, longestWindow     = 15 * time.Second, time.Minute
)

// Due reports whether the window ends before an event at that time.
func (f *Follower) Due(at time.Time) bool {
	switch {
	case f.windowStart.IsZero():
		return false
	case len(f.bound) == 0:
		return at.Sub(f.windowStart) >= longWindow
	}
	last := f.facts[len(f.facts)-1].at
	since := at.Sub(last)
	return since >= quietPeriod || at.Sub(f.windowStart) >= longWindow && since >= briefQuietPeriod || at.Sub(f.windowStart) >= longestWindow
}

// Judge ends the window and returns its placements, which it also appends to the follower's result.
func (f *Follower) Judge(ctx context.Context) ([]Placement, error) {
	var found []Placement
	if len(f.bound) > 0 {
		s := *f.scenario
		s.Cluster, s.Workloads, s.Steps = f.dumpWindow(), nil, nil
		facts := slices.Clone(f.facts)
		for _, pod := range f.ended {
			if !f.bound[pod.UID] { // the pod had its node before the window
				facts = append(facts, fact{kind: podScheduled, at: f.windowStart.Add(-time.Millisecond), audit: true, exact: true, pod: cluster.NameOf(pod), uid: pod.UID, node: pod.Spec.NodeName, object: pod})
			}
		}
		result, err := Run(ctx, &s, Options{History: &History{facts: facts}, Judge: f.bound})
		switch {
		case errors.Is(err, ErrNothing): // the pods are for other schedulers, or gone
		case err != nil:
			return nil, err
		default:
			found = result.Placements
			f.result.State = result.State
		}
	}
	f.result.Placements = append(f.result.Placements, found...)
	f.endWindow()
	return found, nil
}

// endWindow starts the next window with the objects as they are now.
func (f *Follower) endWindow() {
	f.windowStart, f.facts, f.bound, f.ended = time.Time{}, nil, map[types.UID]bool{}, nil
	kept := f.order[:0]
	for _, o := range f.order {
		if o.atStart = o.current; o.current != nil {
			kept = append(kept, o)
		}
	}
	clear(f.order[len(kept):])
	f.order = kept
	for ref, o := range f.objects {
		if o.current == nil {
			delete(f.objects, ref)
		}
	}
}

// Result returns the result of all windows. It is an error if no pod got a node.
func (f *Follower) Result() (*Result, error) {
	if f.result.State == nil {
		return nil, errors.New("no pod got a node in that time, so there is nothing to verify; watch or record for longer")
	}
	return &f.result, nil
}

// dumpWindow returns the objects of the window as the scheduler saw them: pods as they are now; nodes as they were when the window began, with
// their taints and cordons of now, whose history is known; and other objects as they were, for example a claim that was bound only after
// its pod was placed.
func (f *Follower) dumpWindow() []cluster.Object {
	var objects []cluster.Object
	nodes := map[string]bool{}
	for _, o := range f.order {
		node, is := o.current.(*v1.Node)
		if !is {
			continue
		}
		then := *o.atStart.(*v1.Node)
		then.Spec.Taints, then.Spec.Unschedulable = node.Spec.Taints, node.Spec.Unschedulable
		nodes[then.Name] = true
		objects = append(objects, &then)
	}
	for _, o := range f.order {
		switch pod := o.current.(type) {
		case *v1.Node:
		case *v1.Pod:
			if pod.Spec.NodeName == "" || nodes[pod.Spec.NodeName] {
				objects = append(objects, f.backdate(pod))
			}
		default:
			if _, of := o.atStart.(*v1.Pod); !of && o.atStart != nil {
				if _, node := o.atStart.(*v1.Node); !node {
					objects = append(objects, o.atStart)
				}
			}
		}
	}
	return objects
}

// backdate returns a pod that had its node before the window began, with times before the window: the clocks of the cluster and of this
// machine may differ.
func (f *Follower) backdate(pod *v1.Pod) *v1.Pod {
	if pod.Spec.NodeName == "" || f.bound[pod.UID] || scheduledAt(pod).Before(f.windowStart) {
		return pod
	}
	then := *pod
	before := metav1.NewTime(f.windowStart.Add(-time.Second))
	then.CreationTimestamp, then.Status.StartTime = before, &before
	then.Status.Conditions = slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c v1.PodCondition) bool { return c.Type == v1.PodScheduled })
	return &then
}

// Line describes the placement in a line: when the pod came to which node, and whether the simulation would have chosen that node.
func (p *Placement) Line() string {
	what := fmt.Sprintf("%s %s to %s: ", p.At.UTC().Format(time.TimeOnly), cluster.NameOf(p.Pod), p.Pod.Spec.NodeName)
	switch {
	case p.Only:
		return what + "expected, the only node that is feasible"
	case p.Divergence == nil && p.Ties > 1:
		return what + fmt.Sprintf("among equals, one of %d best nodes", p.Ties)
	case p.Divergence == nil:
		return what + "expected, the best node"
	case p.Divergence.Contradiction:
		return what + fmt.Sprintf("contradiction (%s), %s", p.Divergence.Class, p.Divergence.Words)
	}
	return what + fmt.Sprintf("open (%s), %s", p.Divergence.Class, p.Divergence.Words)
}
