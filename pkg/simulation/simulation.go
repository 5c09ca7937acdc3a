package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// Options are what a run can be given besides its scenario.
type Options struct {
	// Progress, if set, is told after each scheduling attempt how many pods of the queue are done, and of how many.
	Progress func(step string, done, total int)
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
	// Expectations are what the scenario expected of the step.
	Expectations []Expectation
}

// StepError is a step that could not be carried out because the scenario asks for something that is not there.
type StepError struct {
	Step string
	Err  error
}

// Error names the step.
func (e *StepError) Error() string { return fmt.Sprintf("step %q: %s", e.Step, e.Err) }

// Unwrap returns the reason.
func (e *StepError) Unwrap() error { return e.Err }

// maxRounds bounds how long a step may take to settle, in seconds of logical time. Rolling updates take about two rounds a
// batch; a cluster that still moves after so many is one in which controllers work against each other.
const maxRounds = 10000

// Run carries out the scenario's steps, one after the other.
func Run(ctx context.Context, s *scenario.Scenario, opts Options) (*Result, error) {
	if s.FeatureGates != "" {
		if err := sched.SetFeatureGates(s.FeatureGates); err != nil {
			return nil, err
		}
	}
	engine, err := sched.NewEngine(s.Config, s.Ties)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	r := &run{scenario: s, engine: engine, opts: opts}
	if s.Ties.Random {
		r.controllers.Rand = rand.New(rand.NewPCG(s.Ties.Seed, 1))
	}
	state, notes, err := workload.Admit(&cluster.State{Now: cluster.Epoch}, s.Cluster...)
	if err != nil {
		return nil, err
	}
	result := &Result{Scenario: s, Notes: notes}
	if len(s.Workloads) > 0 || len(s.Steps) == 0 {
		step := scenario.LoadedStep{Step: scenario.Step{Name: scenario.WorkloadsStep, Apply: &scenario.Source{}}, Objects: s.Workloads}
		result.Initial = state
		if state, err = r.step(ctx, state, &step, result); err != nil {
			return nil, err
		}
	} else if state, err = r.settle(ctx, state, &Step{}); err != nil {
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
	scenario    *scenario.Scenario
	engine      *sched.Engine
	controllers workload.Controllers
	opts        Options
	lost        []*v1.Node // nodes whose objects a failure has deleted
}

func (r *run) step(ctx context.Context, state *cluster.State, spec *scenario.LoadedStep, result *Result) (*cluster.State, error) {
	step := Step{Name: spec.Name}
	if r.opts.Progress != nil {
		r.engine.Progress = func(done, total int) { r.opts.Progress(spec.Name, done, total) }
	}
	state, err := r.act(ctx, state, spec, &step)
	if err != nil {
		return nil, err
	}
	if state, err = r.settle(ctx, state, &step); err != nil {
		return nil, err
	}
	step.State = state
	step.Rollouts = workload.Rollouts(state)
	step.Placed = stillThere(step.Placed, state)
	step.Expectations = judge(spec.Expect, &step)
	result.Steps = append(result.Steps, step)
	return state, nil
}

// settle lets controllers and scheduler act in turn until nothing moves any more. Each round takes a second of logical time.
func (r *run) settle(ctx context.Context, state *cluster.State, step *Step) (*cluster.State, error) {
	for range maxRounds {
		next, err := r.controllers.Reconcile(state)
		if err != nil {
			return nil, err
		}
		queue := next.Unscheduled()
		placed, err := r.engine.Place(ctx, next, queue)
		if err != nil {
			return nil, err
		}
		step.Placed = append(step.Placed, placed.Placed...)
		step.Pending = placed.Pending
		step.Preempted = append(step.Preempted, placed.Preempted...)
		if next = after(next, placed); next != state {
			state = at(next, next.Now.Add(time.Second))
			continue
		}
		due, waits := workload.Next(state)
		if !waits {
			return state, nil
		}
		// Nothing moves until a toleration runs out or a pod has been ready for long enough.
		state = at(state, due.Time)
	}
	step.Notes = append(step.Notes, fmt.Sprintf("the cluster still moved after %d rounds; controllers seem to work against each other, and this is the state at that moment", maxRounds))
	return state, nil
}

// after returns the state with what the scheduler decided.
func after(state *cluster.State, placed *placement.Result) *cluster.State {
	var gone, changed []cluster.Object
	for _, preemption := range placed.Preempted {
		gone = append(gone, preemption.Victim)
	}
	for _, p := range placed.Placed {
		changed = append(changed, p.Pod)
	}
	for _, volume := range placed.Volumes.PersistentVolumes {
		changed = append(changed, volume)
	}
	for _, claim := range placed.Volumes.PersistentVolumeClaims {
		changed = append(changed, claim)
	}
	// A pod can be placed and, in the same pass, make room for a later one: it is gone.
	return state.With(changed...).Without(gone...)
}

// at returns the state at another moment.
func at(state *cluster.State, now time.Time) *cluster.State {
	next := *state
	next.Now = metav1.NewTime(now)
	return &next
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
