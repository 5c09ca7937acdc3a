// Package drain finds what lets a drain of nodes end that does not end by itself, or that leaves pods without a node.
//
//	a drain that does not end ─ kubectl refuses pods ─▶ the flags that it names
//	                          ─ a budget refuses ─────▶ one more replica, a wider budget, the pod deleted by hand
//	a drain that leaves pods Pending ─────────────────▶ spread constraints that leave out tainted nodes, more nodes like the drained one
//
// Every change is made in the cluster as it is before the drain, as a user would make it, and the same drain follows.
package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Fix is a change before the drain with which it ends and leaves no pod without a node that had one.
type Fix struct {
	// Change describes the change, and Price what it costs; missing if it costs nothing.
	Change string   `json:"change"`
	Price  []string `json:"price,omitempty"`
	// Flags are further flags of kubectl drain, and Commands the commands of kubectl before it. Both are missing for a new node.
	Flags    []string `json:"flags,omitempty"`
	Commands []string `json:"commands,omitempty"`
	// Steps make the change as further steps of the scenario, before the drain.
	Steps []scenario.Step `json:"steps,omitempty"`
	// After are steps after the drain.
	After []scenario.Step `json:"after,omitempty"`
	// Pending is the number of pods that have no node then, because of the drain or the change.
	Pending int `json:"pending"`
}

// Pending says why a pod has no node after the drain.
type Pending struct {
	// Pod is namespace/name.
	Pod    string        `json:"pod"`
	Causes []cause.Cause `json:"causes"`
}

// Explain returns why the pods have no node in the state after a drain, with the values of both sides: of pods of one workload with the same
// message only the first.
func Explain(ctx context.Context, config *sched.Config, end *cluster.State, drained []world.DrainedNode) ([]Pending, error) {
	finder, err := cause.NewFinder(config)
	if err != nil {
		return nil, err
	}
	defer finder.Close()
	var all []Pending
	waits := newlyPending(drained)
	for _, alike := range list.GroupBy(waits, func(p world.PendingPod) [2]string { return [2]string{p.Namespace + "/" + p.Workload, p.Why()} }) {
		at := slices.IndexFunc(end.Pods, func(pod *v1.Pod) bool { return pod.Namespace == alike[0].Namespace && pod.Name == alike[0].Name })
		if at < 0 || end.Pods[at].Spec.NodeName != "" {
			continue
		}
		causes, err := finder.Causes(ctx, end, end.Pods[at])
		if err != nil {
			return nil, err
		}
		if len(causes) > 0 {
			all = append(all, Pending{alike[0].Namespace + "/" + alike[0].Name, causes})
		}
	}
	return all, nil
}

// newlyPending returns the pods that have no node because of the drain.
func newlyPending(drained []world.DrainedNode) []world.PendingPod {
	if len(drained) == 0 {
		return nil
	}
	return list.Without(drained[len(drained)-1].Pending, func(p world.PendingPod) bool { return p.Before || p.Node != "" })
}

// Fixes returns the changes with which the drain of the nodes after the last step of the result ends, and descriptions of changes with which it does
// not. There are none if it ends by itself and leaves no pod without a node. Changes that leave no pod without a node come
// first; then the order is:
//
//  1. The flags of kubectl drain that its messages name.
//  2. Run one more replica of each workload whose budget refuses an eviction.
//  3. Let the pods that use up a budget become ready. Let these budgets allow one more pod to be missing, or pods that are not ready to be evicted.
//     Delete one of two budgets for the same pods.
//  4. Let spread constraints leave out tainted nodes, as the drained ones are.
//  5. Add nodes like the first one.
//  6. Cordon the nodes, and delete the pods by hand.
//  7. Say that a machine is off whose kubelet does not answer.
//  8. If nothing else helps, uncordon the nodes once the work on them is done, for pods that can run nowhere else, such as those of local volumes.
func Fixes(ctx context.Context, result *simulation.Result, nodes []string, options world.DrainOptions) (fixes []Fix, tried []string, err error) {
	if result.Scenario.Federated() {
		return nil, nil, nil
	}
	course, err := simulation.NewCourse(result)
	if err != nil {
		return nil, nil, err
	}
	defer course.Close()
	d := &stuckDrain{course: course, nodes: nodes, options: options, crews: course.State().PodsByWorkload()}
	if err := d.drainAsAsked(ctx); err != nil || d.fine(d.drained) {
		return nil, nil, err
	}
	for flags := d.flagAttempt(); flags != nil && len(d.fixes) == 0; flags = d.flagAttempt() {
		if err := d.try(ctx, flags); err != nil {
			return nil, nil, err
		}
		d.options, d.flags, d.flagPrice = flags.options, flags.flags, flags.price
		if len(d.fixes) == 0 { // budgets keep pods, too, or kubectl asks for another flag
			if err := d.drainAsAsked(ctx); err != nil {
				return nil, nil, err
			}
		}
	}
	if len(d.fixes) == 0 {
		enough := false // of nodes: more of them help, too
		for _, a := range d.attempts() {
			if a.newNodes && enough || len(a.after) > 0 && len(d.fixes) > 0 {
				continue
			}
			found := len(d.fixes)
			if err := d.try(ctx, &a); err != nil {
				return nil, nil, err
			}
			enough = enough || a.newNodes && len(d.fixes) > found
		}
	}
	slices.SortStableFunc(d.fixes, func(a, b Fix) int { return min(a.Pending, 1) - min(b.Pending, 1) })
	return d.fixes, d.tried, nil
}

// stuckDrain is a drain that does not end, or that leaves pods without a node, and the course on which changes are tried.
type stuckDrain struct {
	course  *simulation.Course
	nodes   []string
	options world.DrainOptions
	// flags are the flags that kubectl asks for, and flagPrice what these cost.
	flags, flagPrice []string

	// drained and end are the result of the drain without a change, and ownerOf finds the owners of its pods.
	drained []world.DrainedNode
	end     *cluster.State
	ownerOf func(*v1.Pod) cluster.Ref
	crews   map[cluster.Ref]cluster.WorkloadPods // before any change

	fixes []Fix
	tried []string
}

// attempt is a change, and the drain after it.
type attempt struct {
	change  string
	price   []string
	options world.DrainOptions
	flags   []string
	steps   []scenario.Step
	// after are steps after the drain.
	after []scenario.Step
	// byHand means that no command of kubectl makes the change, and newNodes that it adds nodes.
	byHand, newNodes bool
}

func (d *stuckDrain) drainAsAsked(ctx context.Context) error {
	step, err := d.drain(ctx, &attempt{options: d.options})
	if step != nil {
		d.drained, d.end, d.ownerOf = step.Drained, step.State, step.State.Owners()
	}
	return err
}

// drain makes the change and drains the nodes; it returns nil if the change is not possible.
func (d *stuckDrain) drain(ctx context.Context, a *attempt) (*simulation.Step, error) {
	if err := d.course.Rewind(0); err != nil {
		return nil, err
	}
	last := scenario.Step{Drain: &scenario.Drain{Nodes: scenario.Nodes{Names: d.nodes}, Force: a.options.Force, DeleteEmptyDirData: a.options.DeleteEmptyDirData}}
	for i, step := range slices.Concat(a.steps, []scenario.Step{last}, a.after) {
		step.Name = d.stepName(i)
		if _, err := d.course.Do(ctx, step); errors.As(err, new(*simulation.StepError)) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	return d.course.Last(), nil
}

// stepName returns the name of the i-th step of a change, which no other step has.
func (d *stuckDrain) stepName(i int) string {
	name := fmt.Sprintf("fix %d", i+1)
	for slices.ContainsFunc(d.course.Steps, func(s simulation.Step) bool { return s.Name == name }) {
		name += "'"
	}
	return name
}

// fine reports whether the drains end and leave no pod without a node.
func (d *stuckDrain) fine(drained []world.DrainedNode) bool {
	return ends(drained) && len(newlyPending(drained)) == 0
}

func ends(drained []world.DrainedNode) bool {
	return !slices.ContainsFunc(drained, func(n world.DrainedNode) bool { return !n.Ends })
}

// try tries a change. It is a fix if the drain then ends, and if no more pods than without it have no node: none if the drain ends by itself.
func (d *stuckDrain) try(ctx context.Context, a *attempt) error {
	step, err := d.drain(ctx, a)
	if err != nil {
		return fmt.Errorf("%s: %w", a.change, err)
	}
	waits := 0
	if step != nil {
		waits = len(cluster.NewlyPending(d.crews, step.State))
	}
	if step == nil || len(a.after) == 0 && !ends(step.Drained) || ends(d.drained) && waits > 0 {
		d.tried = append(d.tried, a.change)
		return nil
	}
	fix := Fix{Change: a.change, Price: a.price, Flags: a.flags, Steps: a.steps, After: a.after, Pending: waits}
	if !a.byHand {
		fix.Commands = action.Commands(slices.Concat(a.steps, a.after))
	}
	d.fixes = append(d.fixes, fix)
	return nil
}

// flagAttempt returns the drain with the flags that kubectl asks for, besides those that it has asked for before: of each pod kubectl names one obstacle.
// It returns nil if kubectl asks for none.
func (d *stuckDrain) flagAttempt() *attempt {
	a := &attempt{options: d.options, flags: slices.Clone(d.flags), price: slices.Clone(d.flagPrice)}
	var alone, local int
	for i := range d.drained {
		for _, pod := range d.drained[i].Blocked {
			if strings.Contains(pod.Reason, "--force") {
				alone++
			}
			if strings.Contains(pod.Reason, "--delete-emptydir-data") {
				local++
			}
		}
	}
	if alone > 0 {
		a.options.Force, a.flags = true, append(a.flags, "--force")
		a.price = append(a.price, fmt.Sprintf("%s without a controller %s deleted, and nobody replaces %s", words.Count(alone, "pod"), words.Pick(alone, "is", "are"), words.Pick(alone, "it", "them")))
	}
	if local > 0 {
		a.options.DeleteEmptyDirData, a.flags = true, append(a.flags, "--delete-emptydir-data")
		a.price = append(a.price, fmt.Sprintf("%s %s what is in %s emptyDir volumes", words.Count(local, "pod"), words.Pick(local, "loses", "lose"), words.Pick(local, "its", "their")))
	}
	if len(a.flags) == len(d.flags) {
		return nil
	}
	a.change = "kubectl drain with " + words.And(a.flags)
	return a
}
