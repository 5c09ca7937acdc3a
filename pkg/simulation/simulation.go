package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Options are the options of a run.
type Options struct {
	// Progress, if set, is called after each scheduling attempt with the number of pods of the queue that are done, and their total.
	Progress func(step string, done, total int)
	// Record, if set, is called before each scheduling attempt and returns how much of the pod's cycle to keep; nil keeps nothing. The
	// owner is the pod's outermost one.
	Record func(step string, owner cluster.Ref, pod *v1.Pod) *placement.Depth
	// Prefix, if set, is the result of another scenario. The steps that both begin with are taken from it instead of being run again; see
	// scenario.CommonSteps. They are neither recorded nor reported to Progress again.
	Prefix *Result
}

// Result is the result of a run.
type Result struct {
	Scenario *scenario.Scenario
	// Initial is the cluster before the first step.
	Initial *cluster.State
	Steps   []Step
	// Partial says how far the run came that was interrupted, which has only its first steps; "" for a whole run.
	Partial string
	// Notes are what was assumed or added before the first step.
	Notes []string
	// Cycles counts the scheduling cycles of the run.
	Cycles sched.Cycles

	initial mark // before the first step
}

// Step is one step and the cluster after it, as they are; package expect judges them.
type Step struct {
	Name string
	// Action describes what was done, as a kubectl command.
	Action string
	// State is the cluster once nothing moves any more.
	State *cluster.State
	// Placed are the pods that got a node in this step and still have it.
	Placed []placement.Placement
	// Pending are the pods without a node after the step, each with its last rejection.
	Pending []placement.Pending
	// Preempted are the pods that made room in this step.
	Preempted []placement.Preemption
	// Rollouts describe how far each controller's pods are from its spec.
	Rollouts []controller.Rollout
	// Refused is what the API server did not create in this step, of which controllers go on asking for their pods.
	Refused []cluster.Refusal
	// Decisions are, in a federation, what became of each workload that a policy has claimed, in order of arrival.
	Decisions []Decision
	// Notes are what was assumed, added or refused in this step, and the Jobs that failed.
	Notes []string

	after mark
	// said are the pods without a node before the step, with what the scheduler had said of them.
	said []placement.Pending
	// moved is when Karmada last moved a workload away from a lost cluster.
	moved time.Time
}

// StepError is a step that could not be carried out. Most mistakes are found when the scenario is loaded. The rest are names that only a
// controller could have given, and objects that by then cannot be patched as asked.
type StepError struct {
	Step string
	Err  error
}

func (e *StepError) Error() string { return fmt.Sprintf("step %q: %s", e.Step, e.Err) }

func (e *StepError) Unwrap() error { return e.Err }

// Run runs the scenario's steps in order. If the context ends, the result has the steps that were finished by then, and is nil if none was.
func Run(ctx context.Context, s *scenario.Scenario, opts Options) (*Result, error) {
	world, err := NewWorld(s.Config, s.Ties)
	if err != nil {
		return nil, err
	}
	defer world.Close()
	return world.Run(ctx, s, opts)
}

// Run is the function Run in an existing world, built for the scenario's configuration. It forgets what the world did before.
func (w *World) Run(ctx context.Context, s *scenario.Scenario, opts Options) (*Result, error) {
	if err := w.ResetTo(s.Ties); err != nil {
		return nil, err
	}
	w.Record, w.engine.Record, w.engine.Progress = nil, nil, nil
	before := w.engine.Cycles()
	r := &run{World: w, scenario: s, opts: opts}
	result, state, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	steps := r.steps()
	for i := len(result.Steps); i < len(steps); i++ {
		if state, err = r.step(ctx, state, &steps[i], result); err != nil {
			if ctx.Err() == nil || i == 0 {
				return nil, err
			}
			result.Partial = fmt.Sprintf("interrupted after step %d of %d", i, len(steps))
			break
		}
	}
	result.Cycles = w.engine.Cycles().Since(before)
	return result, err
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

// Next runs the one step after those in the result, and returns the result with it. The given result is unchanged, so that several can
// continue from it. The world must have been built for the result's scenario.
func (w *World) Next(ctx context.Context, known *Result) (*Result, error) {
	r := &run{World: w, scenario: known.Scenario}
	state, after := known.Initial, known.initial
	if n := len(known.Steps); n > 0 {
		state, after = known.Steps[n-1].State, known.Steps[n-1].after
	}
	w.Reset()
	if err := r.resume(after); err != nil {
		return nil, err
	}
	result := *known
	result.Steps = slices.Clip(known.Steps)
	if _, err := r.step(ctx, state, &r.steps()[len(known.Steps)], &result); err != nil {
		return nil, err
	}
	return &result, nil
}

// StepsOf returns the steps of a run of the scenario: its own, preceded by the workloads if there are any or there are no other steps.
func StepsOf(s *scenario.Scenario) []scenario.LoadedStep { return (&run{scenario: s}).steps() }

// Empty is the cluster of a scenario before anything is in it. The clock of a dump starts when it was made, so that its objects are older
// than later ones; its pods may be in the first step.
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

// begin returns the cluster before the first step or, with the part of the result that is known, after the known steps.
func (r *run) begin(ctx context.Context) (*Result, *cluster.State, error) {
	s, known := r.scenario, r.opts.Prefix
	if known != nil {
		if common, ok := scenario.CommonSteps(s, known.Scenario); ok {
			return r.proceed(known, common)
		}
	}
	state, notes, err := r.start()
	if err != nil {
		return nil, nil, err
	}
	if !s.Begins() && len(s.Steps) > 0 {
		if state, err = r.Settle(ctx, state, &Step{}); err != nil {
			return nil, nil, err
		}
	}
	if s.RandomArrivals {
		notes = append(notes, "Workloads that are applied together arrive in an order that is drawn from the seed.")
	}
	notes = append(notes, s.Config.Notes(len(state.Nodes))...)
	return &Result{Scenario: s, Initial: state, Notes: slices.Concat(s.Notes, notes), initial: r.mark()}, state, nil
}

// start returns the cluster before anything is applied.
func (r *run) start() (*cluster.State, []string, error) {
	if len(r.scenario.Members) == 0 {
		return admission.Admit(Empty(r.scenario), r.scenario.Cluster...)
	}
	fed, notes, err := r.found()
	if err != nil {
		return nil, nil, err
	}
	return fed.Join(), notes, nil
}

// proceed takes over the first steps of a result.
func (r *run) proceed(known *Result, common int) (*Result, *cluster.State, error) {
	if r.scenario.Begins() || len(r.scenario.Steps) == 0 {
		common++ // the workloads are a step of the result
	}
	result := &Result{Scenario: r.scenario, Initial: known.Initial, Notes: known.Notes, Steps: slices.Clip(known.Steps[:common]), initial: known.initial}
	if common == 0 {
		return result, known.Initial, r.resume(known.initial)
	}
	last := &known.Steps[common-1]
	return result, last.State, r.resume(last.after)
}

// steps returns the scenario's steps, preceded by the workloads if there are any or there are no other steps.
func (r *run) steps() []scenario.LoadedStep {
	s := r.scenario
	if !s.Begins() && len(s.Steps) > 0 {
		return s.Steps
	}
	first := scenario.LoadedStep{Step: scenario.Step{Name: scenario.WorkloadsStep}, Objects: s.Workloads, Karmada: s.Karmada}
	if s.Begins() {
		first.Apply = &scenario.Source{}
	}
	return slices.Insert(slices.Clone(s.Steps), 0, first)
}

// run is a running scenario.
type run struct {
	*World
	scenario *scenario.Scenario
	opts     Options
	lost     []*v1.Node                  // nodes whose objects a failure deleted
	devices  []*resourcev1.ResourceSlice // their own
}

func (r *run) step(ctx context.Context, state *cluster.State, spec *scenario.LoadedStep, result *Result) (*cluster.State, error) {
	step := Step{Name: spec.Name}
	if r.opts.Progress != nil {
		r.engine.Progress = func(done, total int) { r.opts.Progress(spec.Name, done, total) }
	}
	if r.opts.Record != nil {
		r.Record = func(owner cluster.Ref, pod *v1.Pod) *placement.Depth { return r.opts.Record(spec.Name, owner, pod) }
	}
	if n := len(result.Steps); n > 0 {
		step.said = result.Steps[n-1].Pending
		state = forgetUsers(state)
	}
	before := state
	state, err := r.act(ctx, state, spec, &step)
	if err != nil {
		return nil, err
	}
	if err := r.scenario.CheckPods(state); err != nil {
		return nil, &StepError{Step: spec.Name, Err: err}
	}
	if state, err = r.Settle(ctx, state, &step); err != nil {
		return nil, err
	}
	if spec.Fail != nil && state.Federation == nil {
		step.Notes = append(step.Notes, stopped(state)...)
	}
	step.Notes = append(step.Notes, controller.FinishedJobs(before, state)...)
	step.State, step.Refused = state, slices.DeleteFunc(slices.Clone(state.Refused), cluster.Refusal.OfVolume)
	step.Notes = append(step.Notes, unclaimed(state.Refused)...)
	step.after = r.mark()
	if state.Federation != nil {
		step.Rollouts, step.Decisions = rollouts(state.Federation), decisions(&step)
	} else {
		step.Rollouts = controller.Rollouts(state)
	}
	step.Placed = stillThere(step.Placed, state)
	result.Steps = append(result.Steps, step)
	return state, nil
}

// forgetUsers is the state without what was refused to users: they do not ask again.
func forgetUsers(state *cluster.State) *cluster.State {
	if fed := state.Federation; fed != nil {
		for _, m := range fed.Members {
			m = m.In(forgetUsers(m.State))
			m.Settled = false // its Pending pods are tried again
			fed = fed.With(m)
		}
		return fed.Join()
	}
	next := *state
	next.Refused = slices.DeleteFunc(slices.Clone(state.Refused), func(r cluster.Refusal) bool { return !r.Retried })
	if len(next.Refused) == len(state.Refused) {
		return state
	}
	return &next
}

// unclaimed notes which claims of ephemeral volumes the API server refuses. Their pods are there and wait, and the scheduler does not say why.
func unclaimed(refused []cluster.Refusal) []string {
	var notes []string
	claims, first := map[string]int{}, map[string]string{}
	var reasons []string
	for _, r := range refused {
		if !r.OfVolume() {
			continue
		}
		if claims[r.Reason()]++; claims[r.Reason()] == 1 {
			reasons, first[r.Reason()] = append(reasons, r.Reason()), r.Of.Name
		}
	}
	for _, reason := range reasons {
		others := ""
		if n := claims[reason] - 1; n > 0 {
			others = fmt.Sprintf(" and %d more", n)
		}
		notes = append(notes, fmt.Sprintf("The ephemeral volume controller cannot create the %s %s%s: %s.", words.Pick(claims[reason], "claim", "claims"), first[reason], others, reason))
	}
	return notes
}

// stopped notes in which zones pods stay on failed nodes because too many are down.
func stopped(state *cluster.State) []string {
	var notes []string
	for _, d := range node.Disruptions(state) {
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

// stillThere keeps the last placement of each pod that the state still has.
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

// StartAt returns the index of the node at which the scheduler's next search for feasible nodes begins; see sched.Engine.
func (r *Result) StartAt() int {
	if n := len(r.Steps); n > 0 {
		return r.Steps[n-1].after.engine.StartAt()
	}
	return r.initial.engine.StartAt()
}
