// Package check walks the steps of a scenario without a scheduler, to find what would stop it on its way.
package check

import (
	"context"
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Checker checks scenarios. Those that it checks one after the other and that have the same cluster share what is admitted of it.
type Checker struct {
	cluster  []cluster.Object
	admitted *cluster.State
}

// walk goes through a scenario step by step without a scheduler, to find what would stop it on its way: names that nothing has by
// then, objects that are refused, patches that do not fit. It knows what the files bring, and not what controllers make of it.
type walk struct {
	*scenario.Problems
	ctx      context.Context // ends the walk
	scenario *scenario.Scenario
	state    *cluster.State
	lost     []*v1.Node // deleted by a failure, until a restore
	known    *names

	templates map[cluster.Ref]bool // what Karmada has at some time, in a federation
	clusters  []string             // of a federation, by then

	tooMany bool // pods that controllers would make
	partial bool // some objects could not be read, so that only nodes are known
}

// Nodes adds the names and labels of nodes that no node has to the problems, for a scenario of which other objects could not be read: about
// those it would report what is not wrong. Without any nodes it adds nothing.
func Nodes(ctx context.Context, p *scenario.Problems, s *scenario.Scenario) {
	w := &walk{Problems: p, ctx: ctx, scenario: s, known: newNames(s), partial: true}
	w.state = (&cluster.State{Now: cluster.Epoch}).With(s.Cluster...)
	if s.Federated() {
		w.federation()
	}
	if len(w.state.Nodes) > 0 {
		w.steps()
	}
}

// Check adds what would stop the scenario to the problems; not all of it if the context ends.
func (c *Checker) Check(ctx context.Context, p *scenario.Problems, s *scenario.Scenario) {
	w := &walk{Problems: p, ctx: ctx, scenario: s, known: newNames(s)}
	if s.Federated() {
		w.federation()
	} else if c.admitted == nil || !slices.Equal(c.cluster, s.Cluster) {
		w.apply(field.NewPath("cluster"), &cluster.State{Now: cluster.Epoch}, s.Cluster)
		c.cluster, c.admitted = s.Cluster, w.state
	} else {
		w.state = c.admitted
	}
	if len(w.state.Nodes) == 0 {
		w.noNodes()
		return
	}
	for _, node := range s.Nodes() {
		if _, _, err := topology.Price(node); err != nil {
			w.Add(nil, "%s", err)
		}
	}
	if len(w.known.pods) == 0 {
		w.Add(nil, "there is no workload, so there is nothing to place; give a Pod, a Deployment or another controller of pods")
	}
	if !s.Dump {
		for _, obj := range s.Objects() {
			w.schedulerName(obj)
		}
	}
	w.steps()
}

// steps goes through the steps, and what is asked about the scenario as a whole.
func (w *walk) steps() {
	s := w.scenario
	w.apply(field.NewPath("workloads"), w.state, s.Workloads)
	w.made(field.NewPath("workloads"), &s.Karmada)
	w.limit(nil)
	for i := 0; i < len(s.Steps) && !w.ended(); i++ {
		w.step(s.StepPath(i), &s.Steps[i])
		w.limit(s.StepPath(i))
	}
	w.failures(&s.Failures)
	if s.Expect != nil {
		w.expect(field.NewPath("expect"), s.Expect, s.Nodes())
	}
}

// ended reports whether nobody waits for what is found any more.
func (w *walk) ended() bool { return w.ctx.Err() != nil }

// noNodes reports that the scenario has no nodes, and how to give some.
func (w *walk) noNodes() {
	where, besides := "the cluster has no nodes", " or synthetic nodes"
	if w.scenario.File == scenario.CommandLine {
		where, besides = "there are no nodes", " (--cluster or -f)"
	}
	if w.scenario.Dump { // by a command that has no flags for them
		besides = ""
	}
	w.Add(nil, "%s, so nothing can be placed; give Node objects, a kind configuration, a kubectl dump%s", where, besides)
}

// apply lets the API server admit the objects.
func (w *walk) apply(path *field.Path, state *cluster.State, objects []cluster.Object) {
	if w.partial {
		w.state = state.With(objects...)
		return
	}
	if w.scenario.Federated() {
		objects = w.propagated(path, objects)
	}
	next, _, err := admission.Admit(state, objects...)
	if err != nil {
		w.AddLines(path, err)
		next = state.With(objects...) // what follows shall not be wrong for this
	}
	w.state = next
}

// limit reports what would make too many pods. What it reports of one step it does not report of the next ones.
func (w *walk) limit(path *field.Path) {
	if w.tooMany || w.partial {
		return
	}
	err := w.scenario.CheckPods(w.state)
	if limit := (*scenario.LimitError)(nil); errors.As(err, &limit) {
		w.tooMany = true
		w.AddErrors(limit)
	} else if err != nil {
		w.tooMany = true
		w.AddLines(path, err)
	}
}

func (w *walk) step(path *field.Path, step *scenario.LoadedStep) {
	if step.Fresh {
		w.state = w.scenario.Fresh(w.state)
	}
	if step.Apply != nil {
		w.apply(path.Child("apply"), w.state, step.Objects)
		w.made(path.Child("apply"), &step.Karmada)
	}
	if step.Karmada.Joined != nil {
		w.join(path.Child("join"), step.Karmada.Joined)
	}
	if step.Patch != nil {
		w.patch(path.Child("patch"), step)
	}
	if step.Scale != nil {
		if obj := w.find(path.Child("scale", "target"), step.Scale.Target); obj != nil && cluster.ReplicasOf(obj) != nil {
			scaled := obj.DeepCopyObject().(cluster.Object)
			*cluster.ReplicasOf(scaled) = &step.Scale.Replicas
			w.state = w.state.With(scaled)
		}
	}
	if step.Rollout != nil {
		w.rollout(path.Child("rollout"), step.Rollout)
	}
	if step.Trigger != nil {
		w.find(path.Child("trigger", "target"), *step.Trigger)
	}
	if step.Delete != nil {
		w.delete(path.Child("delete"), step)
	}
	for _, action := range step.OnNodes() {
		if action.Name != "restore" {
			w.selectNodes(path.Child(action.Name), *action.Nodes, w.state.Nodes)
		}
	}
	if step.Fail != nil && step.Fail.Mode == "deleted" {
		gone := step.Fail.Nodes.Select(w.state.Nodes)
		w.lost = append(w.lost, gone...)
		w.state = admission.Delete(w.state, objectsOf(gone)...)
	}
	if step.Restore != nil {
		w.selectNodes(path.Child("restore"), step.Restore.Nodes, slices.Concat(w.state.Nodes, w.lost))
		back := step.Restore.Select(w.lost)
		w.state = w.state.With(objectsOf(back)...)
		w.lost = slices.DeleteFunc(w.lost, func(node *v1.Node) bool { return slices.Contains(back, node) })
	}
	if step.Expect != nil {
		w.expect(path.Child("expect"), step.Expect, slices.Concat(w.state.Nodes, w.lost))
	}
}

// find returns the object that the target names, nil if it is not there: then that is reported, unless a controller may have
// made it.
func (w *walk) find(path *field.Path, target scenario.Target) cluster.Object {
	wanted, err := target.Ref()
	if err != nil || w.partial || w.ended() {
		return nil // which is reported already, or not known
	}
	for _, obj := range w.state.Objects() {
		if cluster.RefTo(obj) == wanted {
			return obj
		}
	}
	switch {
	case w.scenario.Federated() && w.known.objects[wanted] && !w.templates[wanted]:
		w.Add(path, "%s is in a member alone; a step of a federation changes what is applied to Karmada", wanted.Describe())
	case w.known.objects[wanted]:
		w.Add(path, "%s does not exist at this step; it is applied later, or was deleted before", wanted.Describe())
	case !w.known.mayBeMade(wanted):
		w.scenario.NotFound(w.Problems, path, wanted)
	}
	return nil
}

func (w *walk) patch(path *field.Path, step *scenario.LoadedStep) {
	obj := w.find(path.Child("target"), step.Patch.Target)
	if obj == nil || !step.Patch.HasItsForm() {
		return // which is reported already
	}
	patched, err := step.Patched(obj)
	switch {
	case errors.Is(err, scenario.ErrTestFailed): // it may be a controller that makes it true
	case err != nil:
		w.AddLines(path.Child("patch"), err)
	default:
		w.known.add(patched)
		w.apply(path.Child("patch"), w.state, []cluster.Object{patched})
	}
}

func (w *walk) rollout(path *field.Path, rollout *scenario.Rollout) {
	obj := w.find(path.Child("target"), rollout.Target)
	if obj == nil {
		return
	}
	spec, _ := cluster.PodSpec(obj)
	if spec == nil {
		return // the wrong kind, reported already
	}
	var containers []string
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		containers = append(containers, container.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(rollout.Images)) {
		if !slices.Contains(containers, name) {
			w.Add(path.Child("images").Key(name), "%s has no container %q; %s", cluster.RefTo(obj).Describe(), name, scenario.Choices(name, containers))
		}
	}
}

func (w *walk) delete(path *field.Path, step *scenario.LoadedStep) {
	gone := slices.Clone(step.Objects)
	for i, target := range step.Delete.Targets {
		if w.leave(path.Child("targets").Index(i), target) {
			continue
		}
		obj := w.find(path.Child("targets").Index(i), scenario.Target{Target: target, Namespace: step.Delete.Namespace})
		if obj != nil {
			gone = append(gone, obj)
		}
	}
	if pods := step.Delete.Pods; pods != nil {
		w.selectPods(path.Child("pods", "selector"), pods.Selector)
		if pods.Nodes != nil {
			w.selectNodes(path.Child("pods", "nodes"), *pods.Nodes, w.state.Nodes)
		}
	}
	w.state = admission.Delete(w.state, gone...)
}

// selectNodes reports names that no node has, and a selector that matches none.
func (w *walk) selectNodes(path *field.Path, nodes scenario.Nodes, among []*v1.Node) {
	for i, name := range nodes.Names {
		if w.ended() {
			return
		}
		if slices.ContainsFunc(among, func(node *v1.Node) bool { return node.Name == name }) {
			continue
		}
		wanted := cluster.Ref{Kind: "Node", Name: name}
		if w.known.objects[wanted] {
			w.Add(path.Child("names").Index(i), "%s does not exist at this step; it is applied later, or was deleted before", wanted.Describe())
			continue
		}
		var names []string
		for _, node := range among {
			names = append(names, node.Name)
		}
		w.Add(path.Child("names").Index(i), "there is no %s; %s", wanted.Describe(), scenario.Choices(name, names))
	}
	w.selectClusters(path.Child("clusters"), nodes.Clusters)
	if nodes.Selector != "" {
		w.checkSelector(path.Child("selector"), nodes.Selector, "node", scenario.NodeLabels(among))
	}
}

// selectPods reports a selector that matches no pod, as far as its keys are not labels that controllers give to pods.
func (w *walk) selectPods(path *field.Path, text string) {
	selector, err := labels.Parse(text)
	if err != nil || w.partial {
		return // reported already, or not known
	}
	requirements, _ := selector.Requirements()
	given := labels.NewSelector()
	for _, requirement := range requirements {
		if !fromControllers(requirement.Key()) {
			given = given.Add(requirement)
		}
	}
	w.checkSelector(path, given.String(), "pod", w.known.pods)
}

func (w *walk) checkSelector(path *field.Path, text, what string, sets []labels.Set) {
	selector, err := labels.Parse(text)
	if err != nil || slices.ContainsFunc(sets, func(set labels.Set) bool { return selector.Matches(set) }) {
		return
	}
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		if !slices.ContainsFunc(sets, func(set labels.Set) bool { return requirement.Matches(set) }) {
			w.Add(path, "%q matches no %s; %s", text, what, scenario.LabelHint(requirement.Key(), what, sets))
			return
		}
	}
	w.Add(path, "%q matches no %s; each requirement matches some, but no %s matches all", text, what, what)
}

// schedulerName reports pods, and templates of pods, that no profile of the scheduler serves. Those that name another scheduler wait for it,
// but with --strict. Those of manifests that name none are not meant to.
func (w *walk) schedulerName(obj cluster.Object) {
	spec, path := cluster.PodSpec(obj)
	config := w.scenario.Config
	if spec == nil || config == nil || spec.NodeName != "" || !w.scenario.Strict && (cluster.Dumped(obj) || spec.SchedulerName != v1.DefaultSchedulerName) {
		return
	}
	if !slices.Contains(config.SchedulerNames(), spec.SchedulerName) {
		w.Add(nil, "%s: %s.schedulerName: the scheduler has no profile %q; %s",
			cluster.RefTo(obj).Describe(), path, spec.SchedulerName, scenario.Choices(spec.SchedulerName, config.SchedulerNames()))
	}
}

func objectsOf(nodes []*v1.Node) []cluster.Object {
	objects := make([]cluster.Object, len(nodes))
	for i, node := range nodes {
		objects[i] = node
	}
	return objects
}
