package simulation

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/sched"
	"github.com/faultline/faultline/pkg/workload"
)

// Options are what a run can be given besides its scenario.
type Options struct {
	// Progress, if set, is told after each scheduling attempt how many pods of the queue are done, and of how many.
	Progress func(step string, done, total int)
	// Record, if set, is asked before each scheduling attempt how much is to be kept of the pod's cycle; nil is nothing. The owner
	// is the pod's outermost one.
	Record func(step string, owner cluster.Owner, pod *v1.Pod) *placement.Depth
}

// Result is what a run found.
type Result struct {
	Scenario *scenario.Scenario
	// Initial is the cluster before the first step.
	Initial *cluster.State
	// Steps are the steps, in order.
	Steps []Step
	// Notes are what was assumed or added before the first step.
	Notes []string
}

// Step is one step and the cluster after it.
type Step struct {
	Name string
	// Action says what was done, as kubectl would be asked to.
	Action string
	// State is the cluster once nothing moves any more.
	State *cluster.State
	// Placed are the pods that got a node in this step and still have it.
	Placed []placement.Placement
	// Pending are the pods without a node after the step, with their last refusals.
	Pending []placement.Pending
	// Preempted are the pods that made room in this step.
	Preempted []placement.Preemption
	// Rollouts tell how far each controller's pods are from its spec.
	Rollouts []workload.Rollout
	// Notes are what was assumed, added or refused in this step.
	Notes []string
	// Expectations are what the scenario expected of the step, as far as the step alone tells whether it came so; package gate
	// adds the others.
	Expectations []Expectation
}

// StepError is a step that could not be carried out. What a scenario asks for in vain is mostly found when it is loaded; what is
// left are names that a controller could have given, and objects that do not take a patch as they are by then.
type StepError struct {
	Step string
	Err  error
}

// Error names the step.
func (e *StepError) Error() string { return fmt.Sprintf("step %q: %s", e.Step, e.Err) }

// Unwrap returns the reason.
func (e *StepError) Unwrap() error { return e.Err }

// Run carries out the scenario's steps, one after the other.
func Run(ctx context.Context, s *scenario.Scenario, opts Options) (*Result, error) {
	// Also when there are none: an earlier run in this process may have left its own.
	if err := sched.SetFeatureGates(s.FeatureGates); err != nil {
		return nil, err
	}
	world, err := NewWorld(s.Config, s.Ties)
	if err != nil {
		return nil, err
	}
	defer world.Close()
	r := &run{World: world, scenario: s, opts: opts}
	state, notes, err := workload.Admit(&cluster.State{Now: cluster.Epoch}, s.Cluster...)
	if err != nil {
		return nil, err
	}
	result := &Result{Scenario: s, Notes: notes}
	if len(s.Workloads) > 0 || len(s.Steps) == 0 {
		step := scenario.LoadedStep{Step: scenario.Step{Name: scenario.WorkloadsStep}, Objects: s.Workloads}
		if len(s.Workloads) > 0 {
			step.Apply = &scenario.Source{}
		}
		result.Initial = state
		if state, err = r.step(ctx, state, &step, result); err != nil {
			return nil, err
		}
	} else if state, err = r.Settle(ctx, state, &Step{}); err != nil {
		return nil, err
	} else {
		result.Initial = state
	}
	for i := range s.Steps {
		if state, err = r.step(ctx, state, &s.Steps[i], result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// run is a scenario under way.
type run struct {
	*World
	scenario *scenario.Scenario
	opts     Options
	lost     []*v1.Node // nodes whose objects a failure has deleted
}

func (r *run) step(ctx context.Context, state *cluster.State, spec *scenario.LoadedStep, result *Result) (*cluster.State, error) {
	step := Step{Name: spec.Name}
	if r.opts.Progress != nil {
		r.engine.Progress = func(done, total int) { r.opts.Progress(spec.Name, done, total) }
	}
	if r.opts.Record != nil {
		r.Record = func(owner cluster.Owner, pod *v1.Pod) *placement.Depth { return r.opts.Record(spec.Name, owner, pod) }
	}
	state, err := r.act(ctx, state, spec, &step)
	if err != nil {
		return nil, err
	}
	if state, err = r.Settle(ctx, state, &step); err != nil {
		return nil, err
	}
	step.State = state
	step.Rollouts = workload.Rollouts(state)
	step.Placed = stillThere(step.Placed, state)
	step.Expectations = judge(spec.Expect, &step)
	for _, e := range judge(r.scenario.Expect, &step) {
		e.Always = true
		step.Expectations = append(step.Expectations, e)
	}
	result.Steps = append(result.Steps, step)
	return state, nil
}

// stillThere keeps the last placement of each pod that the state still holds.
func stillThere(placed []placement.Placement, state *cluster.State) []placement.Placement {
	bound := make(map[types.UID]bool, len(state.Pods))
	for _, pod := range state.Pods {
		bound[pod.UID] = pod.Spec.NodeName != ""
	}
	var kept []placement.Placement
	for _, p := range placed {
		if bound[p.Pod.UID] {
			kept = append(kept, p)
		}
	}
	return kept
}
