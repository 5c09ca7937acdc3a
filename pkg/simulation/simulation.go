package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/scenario"
)

// Options are what a run can be given besides its scenario.
type Options struct {
	// Progress, if set, is told after each scheduling attempt how many pods of the queue are done, and of how many.
	Progress func(step string, done, total int)
	// Record, if set, is asked before each scheduling attempt how much is to be kept of the pod's cycle; nil is nothing. The owner
	// is the pod's outermost one.
	Record func(step string, owner cluster.Ref, pod *v1.Pod) *placement.Depth
	// Prefix, if set, is what was found of another scenario. The steps that both begin with are taken from it instead of being
	// carried out again; see scenario.CommonSteps. Nothing is told or recorded of them a second time.
	Prefix *Result
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

	initial mark // before the first step
}

// Step is one step and the cluster after it, as they are; package expect judges them.
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
	Rollouts []controller.Rollout
	// Notes are what was assumed, added or refused in this step, and the Jobs that have failed.
	Notes []string

	after mark
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
	// Also when there are none: an earlier run in this process may have left its own. They decide how the scheduler is built.
	if err := sched.SetFeatureGates(s.FeatureGates); err != nil {
		return nil, err
	}
	world, err := NewWorld(s.Config, s.Ties)
	if err != nil {
		return nil, err
	}
	defer world.Close()
	return world.Run(ctx, s, opts)
}

// Run is the function Run in a world that has been built before, for the scenario's configuration. It forgets what it has done.
func (w *World) Run(ctx context.Context, s *scenario.Scenario, opts Options) (*Result, error) {
	if err := w.ResetTo(s.Ties); err != nil {
		return nil, err
	}
	w.Record, w.engine.Record, w.engine.Progress = nil, nil, nil
	r := &run{World: w, scenario: s, opts: opts}
	result, state, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	steps := r.steps()
	for i := len(result.Steps); i < len(steps); i++ {
		if state, err = r.step(ctx, state, &steps[i], result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// Begin is Run up to the first step.
func (w *World) Begin(ctx context.Context, s *scenario.Scenario) (*Result, error) {
	if err := w.ResetTo(s.Ties); err != nil {
		return nil, err
	}
	r := &run{World: w, scenario: s}
	result, _, err := r.begin(ctx)
	return result, err
}

// Next carries out the one step after those that a result has, and returns the result with it; the given one stays as it is, so that
// several can go on from it. The world is one of the result's scenario.
func (w *World) Next(ctx context.Context, known *Result) (*Result, error) {
	r := &run{World: w, scenario: known.Scenario}
	state, after := known.Initial, known.initial
	if n := len(known.Steps); n > 0 {
		state, after = known.Steps[n-1].State, known.Steps[n-1].after
	}
	w.Reset()
	r.resume(after)
	result := *known
	result.Steps = slices.Clip(known.Steps)
	if _, err := r.step(ctx, state, &r.steps()[len(known.Steps)], &result); err != nil {
		return nil, err
	}
	return &result, nil
}

// StepsOf returns the steps that a run of the scenario has: its own, with the workloads as the first if there are any, or nothing
// else is.
func StepsOf(s *scenario.Scenario) []scenario.LoadedStep { return (&run{scenario: s}).steps() }

// Empty is the cluster of a scenario before anything is in it. A dump goes on from when it was made, so that what it holds is older than
// what comes; its pods may be in the first step.
func Empty(s *scenario.Scenario) *cluster.State {
	objects := slices.Concat(s.Cluster, s.Workloads)
	if len(s.Steps) > 0 {
		objects = append(objects, s.Steps[0].Objects...)
	}
	now := cluster.Epoch
	if latest := cluster.Latest(objects); now.Before(&latest) {
		now = latest
	}
	return &cluster.State{Now: now, TerminationSeconds: s.TerminationSeconds}
}

// begin returns the cluster before the first step, or, with as much of the result, after those that are known.
func (r *run) begin(ctx context.Context) (*Result, *cluster.State, error) {
	s, known := r.scenario, r.opts.Prefix
	if known != nil {
		if common, ok := scenario.CommonSteps(s, known.Scenario); ok {
			return r.proceed(known, common)
		}
	}
	state, notes, err := controller.Admit(Empty(s), s.Cluster...)
	if err != nil {
		return nil, nil, err
	}
	if len(s.Workloads) == 0 && len(s.Steps) > 0 {
		if state, err = r.Settle(ctx, state, &Step{}); err != nil {
			return nil, nil, err
		}
	}
	if s.RandomArrivals {
		notes = append(notes, "Workloads that are applied together arrive in an order that is drawn from the seed.")
	}
	return &Result{Scenario: s, Initial: state, Notes: slices.Concat(s.Notes, notes), initial: r.mark()}, state, nil
}

// proceed takes over the first steps of a result.
func (r *run) proceed(known *Result, common int) (*Result, *cluster.State, error) {
	if len(r.scenario.Workloads) > 0 || len(r.scenario.Steps) == 0 {
		common++ // the workloads are a step of the result
	}
	result := &Result{Scenario: r.scenario, Initial: known.Initial, Notes: known.Notes, Steps: slices.Clip(known.Steps[:common]), initial: known.initial}
	if common == 0 {
		r.resume(known.initial)
		return result, known.Initial, nil
	}
	last := &known.Steps[common-1]
	r.resume(last.after)
	return result, last.State, nil
}

// steps are the scenario's, with the workloads as the first if there are any, or nothing else is.
func (r *run) steps() []scenario.LoadedStep {
	s := r.scenario
	if len(s.Workloads) == 0 && len(s.Steps) > 0 {
		return s.Steps
	}
	first := scenario.LoadedStep{Step: scenario.Step{Name: scenario.WorkloadsStep}, Objects: s.Workloads}
	if len(s.Workloads) > 0 {
		first.Apply = &scenario.Source{}
	}
	return slices.Insert(slices.Clone(s.Steps), 0, first)
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
		r.Record = func(owner cluster.Ref, pod *v1.Pod) *placement.Depth { return r.opts.Record(spec.Name, owner, pod) }
	}
	before := state
	state, err := r.act(ctx, state, spec, &step)
	if err != nil {
		return nil, err
	}
	if err := controller.CheckPods(state, cmp.Or(r.scenario.MaxPods, controller.MaxPods)); err != nil {
		return nil, &StepError{Step: spec.Name, Err: err}
	}
	if state, err = r.Settle(ctx, state, &step); err != nil {
		return nil, err
	}
	if spec.Fail != nil {
		step.Notes = append(step.Notes, stopped(state)...)
	}
	step.Notes = append(step.Notes, controller.FailedJobs(before, state)...)
	step.State = state
	step.after = r.mark()
	step.Rollouts = controller.Rollouts(state)
	step.Placed = stillThere(step.Placed, state)
	result.Steps = append(result.Steps, step)
	return state, nil
}

// stopped says in which zones pods stay on failed nodes since too many of these are down.
func stopped(state *cluster.State) []string {
	var notes []string
	for _, d := range controller.Disruptions(state) {
		of := "nodes without a zone"
		switch {
		case d.All:
			of = "nodes of all zones"
		case d.Zone != "" || d.Region != "":
			of = "nodes of zone " + strings.TrimPrefix(d.Region+"/"+d.Zone, "/")
		}
		notes = append(notes, fmt.Sprintf("So many %s are down that the node lifecycle controller evicts no more pods: those on %s stay bound, and not ready.", of, list(d.Nodes)))
	}
	return notes
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

// StartAt is the position of the node at which the scheduler's next search for feasible nodes begins; see sched.Engine.
func (r *Result) StartAt() int {
	if n := len(r.Steps); n > 0 {
		return r.Steps[n-1].after.engine.StartAt()
	}
	return r.initial.engine.StartAt()
}
