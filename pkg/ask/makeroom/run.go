package makeroom

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// plan has the pods to move, in order, by stage: the nodes of a stage's pods are cordoned while these move.
type plan [][]*candidate

func (p plan) pods() []*candidate { return slices.Concat(p...) }

// found are moves that were made.
type found struct {
	stages []stageDone
	steps  []scenario.Step
	placed []Placed
	end    *cluster.State
}

// stageDone is a stage with its moves.
type stageDone struct {
	cordoned []string
	pods     []*candidate
	moves    []world.Move
}

func (f *found) moves() int {
	n := 0
	for i := range f.stages {
		n += len(f.stages[i].moves)
	}
	return n
}

// outcome is the result of a plan.
type outcome struct {
	found
	// stuck is the pod that could not move; nil if all moved. why says why, and unplaced that its replacement got no node.
	stuck    *candidate
	why      string
	unplaced bool
	// waiting is the number of pods that still ask for room, and worse what is worse than before; "" if nothing is.
	waiting int
	worse   string
}

// makesRoom reports whether every pod that asks has a node, and nothing is worse.
func (o *outcome) makesRoom() bool { return o.stuck == nil && o.waiting == 0 && o.worse == "" }

// run carries out the plan after the steps that the course did.
func (f *finder) run(ctx context.Context, p plan) (*outcome, error) {
	f.tried++
	if f.Progress != nil {
		f.Progress("make room", f.tried, max(f.tried, f.Tries))
	}
	o := &outcome{}
	first := len(f.course.Did)
	for _, pods := range p {
		step := f.step(len(f.course.Did)+1, pods)
		before := f.course.State()
		did, err := f.course.Do(ctx, step)
		if err != nil {
			return nil, err
		}
		o.stages = append(o.stages, stageDone{cordonedNodes(before, pods), pods[:len(did.Moved.Moves)], did.Moved.Moves})
		if stuck := did.Moved.Stuck; stuck != nil {
			o.stuck, o.why, o.unplaced = pods[len(did.Moved.Moves)], stuck.Reason, did.Moved.Evicted
			return o, nil
		}
		if o.worse = f.explainWorse(did); o.worse != "" {
			return o, nil
		}
	}
	state := f.course.State()
	o.waiting, o.steps = f.countWaiting(state), slices.Clone(f.course.Did[first:])
	o.placed, o.end = f.newlyPlaced(state), state
	if o.waiting > 0 && o.worse == "" && f.taken == nil {
		f.taken = f.placedOthers(state)
	}
	return o, nil
}

// try carries out the plan, and takes it back.
func (f *finder) try(ctx context.Context, p plan) (*outcome, error) {
	did := len(f.course.Did)
	o, err := f.run(ctx, p)
	return o, cmp.Or(err, f.course.Rewind(did))
}

// cordonedNodes returns the nodes of the pods that are not cordoned in the state.
func cordonedNodes(state *cluster.State, pods []*candidate) []string {
	var names []string
	for _, name := range nodesOf(pods) {
		if n := state.Node(name); n != nil && !n.Spec.Unschedulable {
			names = append(names, name)
		}
	}
	return names
}

// nodesOf returns the nodes of the pods, sorted.
func nodesOf(pods []*candidate) []string {
	names := list.Map(pods, func(c *candidate) string { return c.Spec.NodeName })
	slices.Sort(names)
	return slices.Compact(names)
}

// placedOthers returns the pods that waited before, have a node in the state, and ask for no room.
func (f *finder) placedOthers(state *cluster.State) []Placed {
	waited := map[types.UID]bool{}
	for _, pod := range f.start.Unscheduled() {
		waited[pod.UID] = true
	}
	owners := state.Owners()
	var all []Placed
	for _, pod := range state.Pods {
		if owner := owners(pod); waited[pod.UID] && pod.Spec.NodeName != "" && !f.asksFor(owner, pod) {
			all = append(all, Placed{cluster.NewPodRef(pod, owner), pod.Spec.NodeName})
		}
	}
	return all
}

// newlyPlaced returns the pods that asked for room and have a node now. Their controllers may have replaced the pods that waited before.
func (f *finder) newlyPlaced(state *cluster.State) []Placed {
	had := map[string]bool{}
	for _, pod := range f.start.Pods {
		if pod.Spec.NodeName != "" {
			had[pod.Namespace+"/"+pod.Name] = true
		}
	}
	owners := state.Owners()
	var all []Placed
	for _, pod := range state.Pods {
		if owner := owners(pod); pod.Spec.NodeName != "" && !had[pod.Namespace+"/"+pod.Name] && f.asksFor(owner, pod) {
			all = append(all, Placed{cluster.NewPodRef(pod, owner), pod.Spec.NodeName})
		}
	}
	return all
}
