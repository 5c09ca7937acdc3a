package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
	"github.com/faultline/faultline/pkg/world/fleet"
)

// Options change how a scenario runs, not what the scenario is.
type Options struct {
	// Progress, if set, is called after each scheduling attempt with the number of pods of the queue that are done, and with the queue's
	// length.
	Progress func(step string, done, total int)
	// Record, if set, is called before each scheduling attempt and returns how much of the pod's cycle to keep; nil keeps nothing. The
	// owner is the pod's outermost owner.
	Record func(step string, owner cluster.Ref, pod *v1.Pod) *placement.Depth
	// Moved, if set, is called with each state in which something has changed; see [world.Hooks].
	Moved func(state *cluster.State)
	// Prefix, if set, is the result of another scenario. The run takes the steps that both scenarios begin with from it and does not repeat
	// them; see [scenario.CommonSteps]. It calls neither Record nor Progress for these steps.
	Prefix *Result
	// World, if set, is a world of the scenario's configuration, which the run uses after a reset. Otherwise the run builds one.
	World world.World
}

// Result is the result of a run: the cluster before the first step, and after each.
type Result struct {
	Scenario *scenario.Scenario
	// Initial is the cluster before the first step.
	Initial *cluster.State
	Steps   []Step
	// Partial says how far an interrupted run came; its Steps are then only the first ones. It is "" for a complete run.
	Partial string
	// Notes say what was assumed or added before the first step.
	Notes []string
	// Cycles counts the scheduling cycles of the run.
	Cycles sched.Cycles

	initial world.Mark // position before the first step
	// events are what deciders reported before the first step.
	events []world.ActEvent
}

// Step is one step and the cluster after it. It makes no judgement; package expect does.
type Step struct {
	Name string
	// Action describes what was done, as a kubectl command.
	Action string
	// State is the cluster when nothing moves any more after the step.
	State *cluster.State
	// Refused are the objects that the API server refused to create in this step. Controllers go on asking for those that are pods.
	Refused []cluster.Refusal
	// Record is what happened in the step. Its Placed are only the pods that still have a node at the end.
	world.Record

	after world.Mark
}

// StepError is the error of a step that could not be carried out. Loading a scenario finds most mistakes. The rest are names that only a
// controller could have given, and objects that cannot be patched as asked at that step.
type StepError struct {
	Step string
	Err  error
}

// Error returns the lines of the error, each with the step's name before it.
func (e *StepError) Error() string {
	where := fmt.Sprintf("step %q: ", e.Step)
	return where + strings.ReplaceAll(e.Err.Error(), "\n", "\n"+where)
}

// Unwrap returns Err.
func (e *StepError) Unwrap() error { return e.Err }

// NewWorld returns a world for the scenario: a cluster, or a fleet of clusters under a federation.
func NewWorld(s *scenario.Scenario) (world.World, error) {
	if s.Federated() {
		return fleet.New(s.Config, s.Ties), nil
	}
	one, err := NewCluster(s)
	if err != nil {
		return nil, err // a nil *Cluster would not be a nil World
	}
	return one, nil
}

// NewCluster returns a world of one cluster for the scenario, with the scenario's autoscaler.
func NewCluster(s *scenario.Scenario) (*world.Cluster, error) {
	one, err := world.NewCluster(s.Config, s.Ties)
	if err == nil {
		err = one.SetAutoscaler(s.Autoscaler)
		one.SetDeciders(list.Map(s.Deciders, func(d scenario.Decider) world.Decider { return world.Decider{Command: d.Start(), From: d.From} }))
	}
	return one, err
}

// Run runs the scenario's steps in order. If the context ends, the result has the steps that were finished by then; it is nil if none was.
func Run(ctx context.Context, s *scenario.Scenario, opts Options) (*Result, error) {
	w := opts.World
	if w == nil {
		var err error
		if w, err = NewWorld(s); err != nil {
			return nil, err
		}
		defer w.Close()
	}
	if err := w.ResetTo(s.Ties); err != nil {
		return nil, err
	}
	w.SetHooks(world.Hooks{})
	defer w.SetHooks(world.Hooks{})
	before := w.Cycles()
	r := &run{World: w, scenario: s, opts: opts}
	result, state, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	steps := StepsOf(s)
	for i := len(result.Steps); i < len(steps); i++ {
		if state, err = r.runStep(ctx, state, &steps[i], result); err != nil {
			if ctx.Err() == nil || i == 0 {
				return nil, err
			}
			result.Partial = fmt.Sprintf("interrupted after step %d of %d", i, len(steps))
			break
		}
	}
	result.Cycles = w.Cycles().Since(before)
	return result, err
}

// Begin runs a scenario in a world up to its first step: the result has no steps.
func Begin(ctx context.Context, w world.World, s *scenario.Scenario) (*Result, error) {
	if err := w.ResetTo(s.Ties); err != nil {
		return nil, err
	}
	r := &run{World: w, scenario: s}
	result, _, err := r.begin(ctx)
	return result, err
}

// Next runs the step after those of the known result, and returns the result with that step. It leaves the known result as it is, so that
// several runs can continue from it. The world must have been built for the result's scenario. Of the options, Progress, Record and Moved take
// effect.
func Next(ctx context.Context, w world.World, known *Result, opts Options) (*Result, error) {
	r := &run{World: w, scenario: known.Scenario, opts: opts}
	w.Reset()
	if err := w.Resume(known.position()); err != nil {
		return nil, err
	}
	result := *known
	result.Steps = slices.Clip(known.Steps)
	if _, err := r.runStep(ctx, known.State(), &StepsOf(known.Scenario)[len(known.Steps)], &result); err != nil {
		return nil, err
	}
	return &result, nil
}

// begin returns the result and the cluster before the first step or, with a known prefix, after the steps of the prefix.
func (r *run) begin(ctx context.Context) (*Result, *cluster.State, error) {
	s, known := r.scenario, r.opts.Prefix
	if known != nil {
		if common, ok := scenario.CommonSteps(s, known.Scenario); ok {
			return r.reuseSteps(known, common)
		}
		if scenario.Continues(s, known.Scenario) && s.Autoscaler == nil && s.Deciders == nil { // an autoscaler would add notes, and so would deciders
			settled := &known.Steps[0]
			return &Result{Scenario: s, Initial: settled.State, Notes: known.Notes, initial: settled.after}, settled.State, r.Resume(settled.after)
		}
	}
	state, notes, err := r.Start(s)
	if err != nil {
		return nil, nil, err
	}
	first := &world.Record{}
	if !s.AppliesWorkloads() && len(s.Steps) > 0 {
		if state, err = r.Settle(ctx, state, first); err != nil {
			return nil, nil, err
		}
		if did := first.Autoscaling; did != nil && did.Changed() {
			notes = append(notes, fmt.Sprintf("Before the first step the autoscaler acts: %s.", did.DescribeSizes()))
		}
		for _, did := range first.Decided(state) {
			if said := did.Describe(); said != "" {
				notes = append(notes, fmt.Sprintf("Before the first step %s.", said))
			}
		}
	}
	if !s.Federated() { // whose members are asked again
		state = r.DropUserRefusals(state)
	}
	if s.Ties.Arrivals {
		notes = append(notes, "Workloads that are applied together, evictions of a drain and pods that wait come in an order that is drawn from the seed.")
	}
	notes = append(notes, s.Config.Notes(len(state.Nodes))...)
	return &Result{Scenario: s, Initial: state, Notes: slices.Concat(s.Notes, notes), initial: r.Mark(), events: first.Events}, state, nil
}

// reuseSteps returns a result that begins with the common steps of the known one.
func (r *run) reuseSteps(known *Result, common int) (*Result, *cluster.State, error) {
	if r.scenario.AppliesWorkloads() || len(r.scenario.Steps) == 0 {
		common++ // the workloads are a step of the result
	}
	result := &Result{Scenario: r.scenario, Initial: known.Initial, Notes: known.Notes, Steps: slices.Clip(known.Steps[:common]), initial: known.initial}
	return result, result.State(), r.Resume(result.position())
}

// StepsOf returns the steps of a run of the scenario. The first one creates the workloads, if there are workloads or no other steps.
func StepsOf(s *scenario.Scenario) []scenario.LoadedStep {
	if !s.AppliesWorkloads() && len(s.Steps) > 0 {
		return s.Steps
	}
	first := scenario.LoadedStep{Step: scenario.Step{Name: scenario.WorkloadsStep}, Objects: s.Workloads, Karmada: s.Karmada}
	if s.AppliesWorkloads() {
		first.Apply = &scenario.Source{}
	}
	return slices.Insert(slices.Clone(s.Steps), 0, first)
}

// run is a run of a scenario in a world.
type run struct {
	world.World
	scenario *scenario.Scenario
	opts     Options
	brief    bool // skip the world's Conclude
}

// runStep carries out a step, lets the world settle, and appends the step to the result.
func (r *run) runStep(ctx context.Context, state *cluster.State, spec *scenario.LoadedStep, result *Result) (*cluster.State, error) {
	step := Step{Name: spec.Name}
	r.SetHooks(r.hooks(spec.Name))
	if n := len(result.Steps); n > 0 {
		step.Said = result.Steps[n-1].Pending
		state = r.DropUserRefusals(state)
	} else {
		step.Events = slices.Clone(result.events)
	}
	before := state
	state, err := r.doStep(ctx, state, spec, &step)
	if err == nil {
		err = r.scenario.CheckPods(state)
	}
	if err != nil {
		return nil, &StepError{Step: spec.Name, Err: err}
	}
	if state, err = r.Settle(ctx, state, &step.Record); err != nil {
		if errors.As(err, new(*world.InputError)) {
			err = &StepError{Step: spec.Name, Err: err}
		}
		return nil, err
	}
	if !r.brief {
		r.Conclude(state, spec, &step.Record)
	}
	step.Notes = slices.Concat(step.Notes, controller.FinishedJobs(before, state), refusedClaimNotes(state.Refused), unselectedClaimNotes(state), deferredResizeNotes(before, state))
	step.State, step.Refused = state, list.Without(state.Refused, cluster.Refusal.OfVolume)
	step.Placed = world.SurvivingPlacements(step.Placed, state)
	step.after = r.Mark()
	result.Steps = append(result.Steps, step)
	return state, nil
}

// hooks returns the options' functions as hooks of the world during the step.
func (r *run) hooks(step string) world.Hooks {
	hooks := world.Hooks{Moved: r.opts.Moved}
	if r.opts.Progress != nil {
		hooks.Progress = func(done, total int) { r.opts.Progress(step, done, total) }
	}
	if r.opts.Record != nil {
		hooks.Record = func(owner cluster.Ref, pod *v1.Pod) *placement.Depth { return r.opts.Record(step, owner, pod) }
	}
	return hooks
}

// doStep carries out the step, and describes it as a kubectl command.
func (r *run) doStep(ctx context.Context, state *cluster.State, spec *scenario.LoadedStep, step *Step) (*cluster.State, error) {
	var words []string
	if spec.Fresh {
		state = r.scenario.Fresh(state)
		words = append(words, "delete all workloads")
	}
	state, action, err := r.Do(ctx, state, r.orderArrivals(spec), &step.Record)
	if err != nil {
		return nil, err
	}
	if action != "" {
		words = append(words, action)
	}
	step.Action = cmp.Or(strings.Join(words, ", then "), "as it is")
	return state, nil
}

// refusedClaimNotes returns a note for each reason why the API server refuses claims of ephemeral volumes. Their pods exist and wait, and the
// scheduler's message does not say why.
func refusedClaimNotes(refused []cluster.Refusal) []string {
	var notes []string
	claims, first := map[string]int{}, map[string]string{}
	var reasons []string
	for _, r := range refused {
		if !r.OfVolume() {
			continue
		}
		if claims[r.Reason()]++; claims[r.Reason()] == 1 {
			reasons, first[r.Reason()] = append(reasons, r.Reason()), r.Name
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

// unselectedClaimNotes returns a note for the pods that have their nodes by spec.nodeName and wait for a claim for which only the scheduler selects a node:
// they count as running, and no kubelet starts them.
func unselectedClaimNotes(state *cluster.State) []string {
	if !slices.ContainsFunc(state.PersistentVolumeClaims, func(c *v1.PersistentVolumeClaim) bool { return c.Spec.VolumeName == "" }) {
		return nil
	}
	var names []string
	claim := ""
	for _, pod := range state.Pods {
		if claims := state.UnselectedClaims(pod); len(claims) > 0 && cluster.IsActive(pod) {
			names, claim = append(names, cluster.Qualify(pod.Namespace, pod.Name)), cmp.Or(claim, claims[0].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("No kubelet starts %s: claim %s has no volume before the scheduler selects a node for the pod (WaitForFirstConsumer), and spec.nodeName passes the scheduler by.",
		words.Pick(len(names), "pod ", "pods ")+words.Few(names), claim)}
}

// deferredResizeNotes returns a note for each running pod whose resize has become Deferred: the node lacks room for the new resources.
func deferredResizeNotes(before, after *cluster.State) []string {
	waited := map[types.UID]bool{}
	for _, pod := range before.Pods {
		if resourcehelper.IsPodResizeDeferred(pod) {
			waited[pod.UID] = true
		}
	}
	var notes []string
	for _, pod := range after.Pods {
		if resourcehelper.IsPodResizeDeferred(pod) && !waited[pod.UID] {
			_, pending := podutil.GetPodCondition(&pod.Status, v1.PodResizePending)
			notes = append(notes, fmt.Sprintf("Pod %s/%s keeps the resources that it has, as its resize is Deferred: %s. The scheduler counts the larger of what it has and what it wants.",
				pod.Namespace, pod.Name, pending.Message))
		}
	}
	return notes
}

// Last returns the last step of the run. It panics if no step was finished.
func (r *Result) Last() *Step { return &r.Steps[len(r.Steps)-1] }

// State returns the cluster after the last step, or before the first one if no step was finished.
func (r *Result) State() *cluster.State {
	if len(r.Steps) == 0 {
		return r.Initial
	}
	return r.Last().State
}

// Mark returns the position of the world after the step, from which a run can continue.
func (s *Step) Mark() *world.Mark { return &s.after }

// NextStart returns the index of the node at which the scheduler's next search for feasible nodes begins; see [sched.Engine].
func (r *Result) NextStart() int {
	at := r.position()
	return at.NextStart()
}

// position returns the position of the world after the last step, or before the first one.
func (r *Result) position() world.Mark {
	if len(r.Steps) == 0 {
		return r.initial
	}
	return r.Last().after
}

// UpTo returns the result as if the scenario ended after the step; "" is the last step.
func (r *Result) UpTo(step string) *Result {
	at := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Name == step })
	if at < 0 || at == len(r.Steps)-1 {
		return r
	}
	upTo := *r
	upTo.Scenario, upTo.Steps = r.Scenario.CutAfter(step), r.Steps[:at+1]
	return &upTo
}
