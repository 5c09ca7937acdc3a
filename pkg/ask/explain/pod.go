package explain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Pod explains why a pod got its node, or none.
type Pod struct {
	// Step is the step in which the scheduler considered the pod.
	Step  string
	Owner cluster.Ref
	// Runs is the node that the pod came with, as in a dump. Such a pod was placed again, to get the scheduler's present verdict. Runs is
	// "" for a pod that the scheduler considered in the step.
	Runs string
	// Placed says how the pod got its node, with its full cycle; Pending says why it got none. One of them is nil.
	Placed  *placement.Placement
	Pending *placement.Pending
	// Halted says why the pod does not run after the last step though it has a node; "" for a pod that runs.
	Halted string
	// Warnings are the latest Events of a dump about the pod and its claims, which say what the simulation cannot know.
	Warnings []string
	// Causes say why the scheduler refuses a Pending pod, with the values of both sides.
	Causes []cause.Cause
	// Flips are the changes that would have sent the pod elsewhere, and Effects say what each of its rules changes in the step.
	Flips   []Flip
	Effects []Effect
	// Fixes are the changes that would place the pod, and Tried describes the changes that would not. If several pods of a workload are
	// refused for the same reason and are interchangeable, only the first has them.
	Fixes []Fix
	Tried []string
	// Notes say what could not be answered, and why.
	Notes []string
}

// Question says which pods to explain, in which step.
type Question struct {
	// Ref names a pod, an outermost owner, or a custom resource. An owner stands for its pods, and a custom resource for the pods of its
	// workloads. If Ref has no namespace, it is the one that has such pods, or "default" if several have them.
	cluster.Ref
	// Step is the step in which the scheduler considered the pods. Default: the last such step.
	Step string
	// Most is the largest number of pods to explain; 0 means no limit. If not all are explained, the first with a node is among them.
	Most int
}

// step returns the step of the question, or the last step; nil if there is no such step.
func (of Question) step(result *simulation.Result) *simulation.Step {
	if of.Step == "" {
		return result.Last()
	}
	step, err := findStep(result, of.Step)
	if err != nil {
		return nil
	}
	return step
}

// NotMade is a refusal of the API server: of pods, or of an object from which pods would have been made.
type NotMade struct {
	// Step is the step after which the refusal stands.
	Step string `json:"step"`
	cluster.Refusal
	// Causes are the objects because of which the API server refuses, with the values of both sides; missing if there is no such object,
	// for example because a class does not exist.
	Causes []cause.Cause `json:"causes,omitempty"`
	// Fixes are the changes with which the API server takes the pods, and Tried those that do not help.
	Fixes []Fix    `json:"fixes,omitempty"`
	Tried []string `json:"tried,omitempty"`
}

// FindNotMade returns what the API server refused of the pods in question, after the step of the question or the last step.
func FindNotMade(result *simulation.Result, of Question) []NotMade {
	var all []NotMade
	step := of.step(result)
	if step == nil {
		return nil
	}
	owns := of.ownerFilter(step.State)
	for _, r := range step.Refused {
		if of.names(r.Ref) || owns(r.Ref) {
			all = append(all, NotMade{Step: step.Name, Refusal: r, Causes: cause.ExplainDenial(step.State, r)})
		}
	}
	return all
}

// Preempted is a preemption in which the pods in question made room or got room.
type Preempted struct {
	Step string
	placement.Preemption
}

// Preemptions returns the preemptions of the pods in question and the preemptions for them, in the step of the question or in all steps.
func Preemptions(result *simulation.Result, of Question) []Preempted {
	var all []Preempted
	for i := range result.Steps {
		step := &result.Steps[i]
		if of.Step != "" && step.Name != of.Step {
			continue
		}
		asked := of.podFilter(step)
		for _, p := range step.Preempted {
			if asked(p.Victim) || asked(p.For) {
				all = append(all, Preempted{step.Name, p})
			}
		}
	}
	return all
}

// NotFoundError reports that there is nothing to explain.
type NotFoundError struct {
	Question Question
	// Workloads are the outermost owners of the pods that the scheduler considered in the step of the question, or in any step. A bare pod
	// is its own owner.
	Workloads []cluster.Ref
	// Like are the pods, or the workloads of the kind, whose names begin with the name in the question, in any namespace.
	Like []cluster.Ref
	// Why says why the workload, which exists, has no pods: such as "it has 0 replicas". "" if nothing says so.
	Why string
}

func (e *NotFoundError) Error() string {
	where := "in any step"
	if e.Question.Step != "" {
		where = fmt.Sprintf("in step %q", e.Question.Step)
	}
	what := "no pod of " + strings.ToLower(e.Question.Kind) + "/" + e.Question.Name
	if e.Question.Kind == "Pod" {
		what = "no pod " + e.Question.Name
	}
	says := fmt.Sprintf("the scheduler considered %s in namespace %s %s", what, e.Question.Namespace, where)
	if e.Why != "" {
		says += ": " + e.Why
	}
	return says
}

// Pods runs the scenario and explains why the pods in question got their nodes, or none: the Pending pods first, and of these the ones that wait for old
// pods of their rollout, each kind in the order in which the scheduler considered them. It also returns the result of the run, even with a NotFoundError, and the number of further pods beyond
// Most. In a federation, [FindDecision] says why the pods are in their cluster. If the context ends while changes are tried, Pods returns its error
// and the pods as far as they are explained; the result's Partial then says so.
func Pods(ctx context.Context, s *scenario.Scenario, of Question, opts Options) (result *simulation.Result, pods []Pod, more int, err error) {
	kept := keptCycles{}
	if result, err = simulation.Run(ctx, s, simulation.Options{Record: kept.recordNamed(of)}); err != nil {
		return nil, nil, 0, err
	}
	if of.Namespace == "" {
		of.Namespace = of.onlyNamespace(result)
	}
	step, placed, pending := of.findConsidered(result)
	if step == nil {
		step, running := of.findRunning(result)
		if len(running) == 0 {
			return result, nil, 0, of.notFound(ctx, result)
		}
		if of.Most > 0 && len(running) > of.Most {
			more = len(running) - of.Most
			running = running[:of.Most]
		}
		if pods, err = placeAgain(ctx, result, step, running); err == nil {
			err = addHalted(ctx, result.UpTo(step.Name), pods, opts)
		}
		return result, pods, more, err
	}
	names := slices.Concat(pending, placed)
	if of.Most > 0 && len(names) > of.Most {
		more = len(names) - of.Most
		if names = names[:of.Most]; len(pending) >= of.Most && len(placed) > 0 {
			names[of.Most-1] = placed[0]
		}
	}
	wanted := map[types.NamespacedName]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	if !kept.hasAll(step.Name, names) {
		// Run the scenario again, since the pods and the step are known only now: keeping all cycles would take too much memory.
		again, err := simulation.Run(ctx, s.CutAfter(step.Name), simulation.Options{
			Record: func(in string, _ cluster.Ref, pod *v1.Pod) *placement.Depth {
				if in != step.Name || !wanted[cluster.NameOf(pod)] {
					return nil
				}
				return &placement.Depth{Before: true}
			},
		})
		if err != nil {
			return nil, nil, 0, err
		}
		step = again.Last()
	}
	pods = collectPods(step, wanted)
	slices.SortStableFunc(pods, func(a, b Pod) int {
		return slices.Index(names, cluster.NameOf(a.pod())) - slices.Index(names, cluster.NameOf(b.pod()))
	})
	if err = addCauses(ctx, result, pods); err != nil {
		return nil, nil, 0, err
	}
	slices.SortStableFunc(pods, compareRollouts)
	if err = addFlipsAndFixes(ctx, result, pods, opts); err == nil {
		err = addHalted(ctx, result.UpTo(of.Step), pods, opts)
	}
	if err != nil && ctx.Err() != nil {
		result.Partial = "interrupted before every change was tried: what every plugin said is whole, and what would send a pod elsewhere is not"
	}
	return result, pods, more, err
}

// compareRollouts orders the pods that wait for old pods of their rollout before the others, which they explain: the old pods' replacements wait, too.
func compareRollouts(a, b Pod) int {
	rank := func(pod Pod) int {
		if slices.ContainsFunc(pod.Causes, func(c cause.Cause) bool { return c.Rollout != nil }) {
			return 0
		}
		return 1
	}
	return rank(a) - rank(b)
}

// maxKept is the largest number of cycles that the first run keeps. With 1,000 nodes, each takes about a megabyte.
const maxKept = 20

// keptCycles are the pods whose cycles the first run keeps, by step.
type keptCycles map[string]map[types.NamespacedName]bool

// recordNamed keeps the cycles of pods that the question names, themselves or by their outermost owner, so that most questions need one run.
func (kept keptCycles) recordNamed(of Question) func(string, cluster.Ref, *v1.Pod) *placement.Depth {
	total := 0
	return func(step string, owner cluster.Ref, pod *v1.Pod) *placement.Depth {
		if of.Step != "" && step != of.Step || !of.names(cluster.RefTo(pod)) && !of.names(owner) {
			return nil
		}
		name := cluster.NameOf(pod)
		if !kept[step][name] {
			if total == maxKept {
				return nil
			}
			if kept[step] == nil {
				kept[step] = map[types.NamespacedName]bool{}
			}
			kept[step][name] = true
			total++
		}
		return &placement.Depth{Before: true}
	}
}

func (kept keptCycles) hasAll(step string, names []types.NamespacedName) bool {
	return !slices.ContainsFunc(names, func(name types.NamespacedName) bool { return !kept[step][name] })
}

// findConsidered returns the last step in which the scheduler considered pods in question, and the names of the pods that it placed and of the pods
// that stayed Pending; nil if there is no such step.
func (of Question) findConsidered(result *simulation.Result) (in *simulation.Step, placed, pending []types.NamespacedName) {
	for i := range slices.Backward(result.Steps) {
		step := &result.Steps[i]
		if of.Step != "" && step.Name != of.Step {
			continue
		}
		asked := of.podFilter(step)
		for _, p := range step.Placed {
			if asked(p.Pod) {
				placed = append(placed, cluster.NameOf(p.Pod))
			}
		}
		for _, p := range step.Pending {
			if asked(p.Pod) {
				pending = append(pending, cluster.NameOf(p.Pod))
			}
		}
		if len(placed)+len(pending) > 0 {
			return step, placed, pending
		}
	}
	return nil, nil, nil
}

// podFilter returns a function that reports whether a pod of the step is one in question.
func (of Question) podFilter(step *simulation.Step) func(*v1.Pod) bool {
	owner, owns := step.State.Owners(), of.ownerFilter(step.State)
	return func(pod *v1.Pod) bool { return of.names(cluster.RefTo(pod)) || owns(owner(pod)) }
}

// onlyNamespace returns the namespace of the pods in question if all are in one namespace, and "default" otherwise.
func (of Question) onlyNamespace(result *simulation.Result) string {
	found := map[string]bool{}
	for i := range result.Steps {
		step := &result.Steps[i]
		asked := of.podFilter(step)
		for _, pod := range step.State.Pods {
			if asked(pod) {
				found[pod.Namespace] = true
			}
		}
		for _, refused := range FindNotMade(result, Question{Ref: of.Ref, Step: step.Name}) {
			found[refused.Namespace] = true
		}
	}
	if only := slices.Collect(maps.Keys(found)); len(only) == 1 {
		return only[0]
	}
	return v1.NamespaceDefault
}

func (of Question) notFound(ctx context.Context, result *simulation.Result) error {
	e := &NotFoundError{Question: of}
	if step := of.step(result); step != nil {
		e.Why = whyNoPods(ctx, result, step.State, of.Ref)
	}
	for i := range result.Steps {
		step := &result.Steps[i]
		if of.Step != "" && step.Name != of.Step {
			continue
		}
		owner := step.State.Owners()
		add := func(pod *v1.Pod) {
			if o := owner(pod); !slices.Contains(e.Workloads, o) {
				e.Workloads = append(e.Workloads, o)
			}
		}
		for _, pod := range step.State.Pods {
			like := owner(pod)
			if of.Kind == "Pod" {
				like = cluster.RefTo(pod)
			}
			if like.Kind == of.Kind && strings.HasPrefix(like.Name, of.Name) && !slices.Contains(e.Like, like) {
				e.Like = append(e.Like, like)
			}
		}
		for _, placed := range step.Placed {
			add(placed.Pod)
		}
		for _, pending := range step.Pending {
			add(pending.Pod)
		}
	}
	return e
}

// collectPods returns the wanted pods of a step, with their placements or refusals.
func collectPods(step *simulation.Step, wanted map[types.NamespacedName]bool) []Pod {
	owner := step.State.Owners()
	var pods []Pod
	for i := range step.Placed {
		if placed := &step.Placed[i]; wanted[cluster.NameOf(placed.Pod)] {
			pods = append(pods, Pod{Step: step.Name, Owner: owner(placed.Pod), Placed: placed})
		}
	}
	for i := range step.Pending {
		if pending := &step.Pending[i]; wanted[cluster.NameOf(pending.Pod)] {
			pods = append(pods, Pod{Step: step.Name, Owner: owner(pending.Pod), Pending: pending})
		}
	}
	return pods
}

// addCauses adds to each Pending pod why the scheduler refuses it.
func addCauses(ctx context.Context, result *simulation.Result, pods []Pod) error {
	f, err := cause.NewFinder(result.Scenario.Config)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range pods {
		if pods[i].Pending == nil {
			continue
		}
		step, err := findStep(result, pods[i].Step)
		if err != nil {
			return err
		}
		if pods[i].Causes, err = f.ExplainPending(ctx, step.State, pods[i].Pending); err != nil {
			return err
		}
	}
	return nil
}

// addFlipsAndFixes adds to each pod what would have changed its placement: effects, and flips or fixes.
func addFlipsAndFixes(ctx context.Context, result *simulation.Result, pods []Pod, opts Options) error {
	effects, notes := map[cluster.Ref][]Effect{}, map[cluster.Ref][]string{}
	fixed := map[refusal]bool{}
	for i := range pods {
		pod := &pods[i]
		if _, known := effects[pod.Owner]; !known {
			found, err := Effects(ctx, result, pod.Step, pod.Owner, opts)
			var failed *simulation.StepError
			if errors.As(err, &failed) { // a step depends on the rule
				notes[pod.Owner] = []string{"the effects of the rules are not known: " + err.Error()}
			} else if err != nil {
				return err
			}
			effects[pod.Owner] = found
		}
		pod.Effects, pod.Notes = effects[pod.Owner], notes[pod.Owner]
		in, err := findStep(result, pod.Step)
		if err != nil {
			return err
		}
		switch {
		case pod.Placed != nil:
			pod.Notes = append(slices.Clip(pod.Notes), endingNotes(result.Scenario, pod)...)
			pod.Flips, err = flipsIn(ctx, result.Scenario.Config, memberOf(in.State, pod.Placed.Pod), pod.Placed)
		case !fixed[refusalOf(in, pod)]:
			fixed[refusalOf(in, pod)] = true
			pod.Fixes, pod.Tried, err = Fixes(ctx, result, pod.Step, pod.Pending.Pod, opts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refusal is the reason why a pod is Pending, and what distinguishes the pod for that reason. Two pods with equal refusals need the same
// changes.
type refusal struct {
	owner                 cluster.Ref
	controller            types.UID
	message, node, volume string
	revision              string
}

func refusalOf(step *simulation.Step, pod *Pod) refusal {
	waits := pod.Pending.Pod
	r := refusal{owner: pod.Owner, controller: controllerOf(waits), message: pod.Pending.Message, revision: waits.Labels[appsv1.ControllerRevisionHashLabelKey]}
	if id, lasts := cluster.Identity(pod.Owner, waits); lasts && pod.Owner.Kind == "DaemonSet" {
		r.node = id
	}
	if group := pod.Pending.Group; group != nil { // its pods wait for the same thing
		r.message = "pod group " + group.Name
	}
	for _, v := range boundVolumesOf(step.State, waits) {
		r.volume += v.volume.Name + " "
	}
	return r
}

func (p *Pod) pod() *v1.Pod {
	if p.Placed != nil {
		return p.Placed.Pod
	}
	return p.Pending.Pod
}
