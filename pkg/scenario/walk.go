package scenario

import (
	"errors"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/topology"
)

// walk goes through the scenario step by step without a scheduler, to find what would stop it on its way: names that nothing
// bears by then, objects that are refused, patches that do not fit. It knows what the files bring, and not what controllers
// make of it.
type walk struct {
	*loader
	state *cluster.State
	lost  []*v1.Node // deleted by a failure, until a restore
	known *names

	tooMany bool // pods that controllers would make
}

func (l *loader) walk(s *Scenario) {
	w := &walk{loader: l, known: newNames(s)}
	if l.alike != nil && l.alike.admitted != nil && slices.Equal(l.alike.cluster, s.Cluster) {
		w.state = l.alike.admitted
	} else {
		w.apply(field.NewPath("cluster"), &cluster.State{Now: cluster.Epoch}, s.Cluster)
		if l.alike != nil {
			l.alike.cluster, l.alike.admitted = s.Cluster, w.state
		}
	}
	if len(w.state.Nodes) == 0 {
		where := "cluster gives no nodes"
		if l.commandLine {
			where = "there are no nodes"
		}
		l.problem(nil, "%s, so nothing can be placed; give Node objects, a kind configuration, a kubectl dump%s", where, l.whereNodes())
		return
	}
	for _, node := range s.Nodes() {
		if _, _, err := topology.Price(node); err != nil {
			l.problem(nil, "%s", err)
		}
	}
	if !w.known.makesPods {
		l.problem(nil, "there is no workload, so nothing is to be placed; give a Pod, a Deployment or another controller of pods")
	}
	if !l.opts.Dump {
		for _, obj := range s.objects() {
			w.checkPods(obj, s)
		}
	}
	w.apply(field.NewPath("workloads"), w.state, s.Workloads)
	w.limit(nil, s)
	for i := range s.Steps {
		w.step(l.stepPath(i), &s.Steps[i], s)
		w.limit(l.stepPath(i), s)
	}
	w.failures(&s.Failures, s)
	if s.Expect != nil {
		w.expect(field.NewPath("expect"), s.Expect, s.Nodes())
	}
}

// whereNodes is how nodes are given besides.
func (l *loader) whereNodes() string {
	switch {
	case l.opts.Dump: // by a command that has no flags for them
		return ""
	case l.commandLine:
		return " (--cluster or -f)"
	}
	return " or synthetic nodes"
}

// apply lets the API server admit the objects.
func (w *walk) apply(path *field.Path, state *cluster.State, objects []cluster.Object) {
	next, _, err := controller.Admit(state, objects...)
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			w.problem(path, "%s", strings.TrimSpace(line))
		}
		next = state.With(objects...) // what follows shall not be wrong for this
	}
	w.state = next
}

// limit reports what would make too many pods. What it reports of one step it does not report of the next ones.
func (w *walk) limit(path *field.Path, s *Scenario) {
	if w.tooMany {
		return
	}
	if err := controller.CheckPods(w.state, s.MaxPods); err != nil {
		w.tooMany = true
		for line := range strings.Lines(err.Error()) {
			w.problem(path, "%s", strings.TrimSpace(line))
		}
	}
}

func (w *walk) step(path *field.Path, step *LoadedStep, s *Scenario) {
	if step.Fresh {
		w.state = s.Fresh(w.state)
	}
	if step.Apply != nil {
		w.apply(path.Child("apply"), w.state, step.Objects)
	}
	if step.Patch != nil {
		w.patch(path.Child("patch"), step.Patch)
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
	for _, action := range step.onNodes() {
		if action.name != "restore" {
			w.selectNodes(path.Child(action.name), *action.nodes, w.state.Nodes)
		}
	}
	if step.Fail != nil && step.Fail.Mode == "deleted" {
		gone := step.Fail.Nodes.Select(w.state.Nodes)
		w.lost = append(w.lost, gone...)
		w.state = controller.Delete(w.state, objectsOf(gone)...)
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
func (w *walk) find(path *field.Path, target Target) cluster.Object {
	kind, name, err := ParseTarget(target.Target)
	if err != nil {
		return nil // said already
	}
	wanted := cluster.Ref{Kind: kind, Namespace: namespaceOr(target.Namespace, kind), Name: name}
	for _, obj := range w.state.Objects() {
		if cluster.RefTo(obj) == wanted {
			return obj
		}
	}
	switch {
	case w.known.objects[wanted]:
		w.problem(path, "%s is not there at this step; it is applied later, or was deleted before", wanted.Describe())
	case !w.known.mayBeMade(wanted):
		w.problem(path, "there is no %s in the scenario; %s", wanted.Describe(), w.known.of(wanted))
	}
	return nil
}

func (w *walk) patch(path *field.Path, patch *Patch) {
	obj := w.find(path.Child("target"), patch.Target)
	if obj == nil || !patch.ofItsType() {
		return // said already
	}
	patched, err := patch.Apply(obj)
	switch {
	case errors.Is(err, ErrTestFailed): // it may be a controller that makes it true
	case err != nil:
		for line := range strings.Lines(err.Error()) {
			w.problem(path.Child("patch"), "%s", strings.TrimSpace(line))
		}
	default:
		w.known.add(patched)
		w.apply(path.Child("patch"), w.state, []cluster.Object{patched})
	}
}

func (w *walk) rollout(path *field.Path, rollout *Rollout) {
	obj := w.find(path.Child("target"), rollout.Target)
	if obj == nil {
		return
	}
	spec, _ := cluster.PodSpec(obj)
	if spec == nil {
		return // the wrong kind, said already
	}
	var containers []string
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		containers = append(containers, container.Name)
	}
	for _, name := range sortedKeys(rollout.Images) {
		if !slices.Contains(containers, name) {
			w.problem(path.Child("images").Key(name), "%s has no container %q; %s", cluster.RefTo(obj).Describe(), name, There(name, containers))
		}
	}
}

func (w *walk) delete(path *field.Path, step *LoadedStep) {
	gone := slices.Clone(step.Objects)
	for i, target := range step.Delete.Targets {
		obj := w.find(path.Child("targets").Index(i), Target{Target: target, Namespace: step.Delete.Namespace})
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
	w.state = controller.Delete(w.state, gone...)
}

// selectNodes reports names that no node has, and a selector that matches none.
func (w *walk) selectNodes(path *field.Path, nodes Nodes, among []*v1.Node) {
	for i, name := range nodes.Names {
		if slices.ContainsFunc(among, func(node *v1.Node) bool { return node.Name == name }) {
			continue
		}
		wanted := cluster.Ref{Kind: "Node", Name: name}
		if w.known.objects[wanted] {
			w.problem(path.Child("names").Index(i), "%s is not there at this step; it is applied later, or was deleted before", wanted.Describe())
			continue
		}
		var names []string
		for _, node := range among {
			names = append(names, node.Name)
		}
		w.problem(path.Child("names").Index(i), "there is no %s; %s", wanted.Describe(), There(name, names))
	}
	if nodes.Selector != "" {
		w.checkSelector(path.Child("selector"), nodes.Selector, "node", labelsOf(among))
	}
}

// selectPods reports a selector that matches no pod, as far as its keys are not labels that controllers give to pods.
func (w *walk) selectPods(path *field.Path, text string) {
	selector, err := labels.Parse(text)
	if err != nil {
		return // said already
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
			w.problem(path, "%q matches no %s; %s", text, what, labelHint(requirement.Key(), what, sets))
			return
		}
	}
	w.problem(path, "%q matches no %s; each part of it matches some, but no %s all of them", text, what, what)
}

// checkPods finds pods, and templates of pods, that no profile of the scheduler serves.
func (w *walk) checkPods(obj cluster.Object, s *Scenario) {
	spec, path := cluster.PodSpec(obj)
	if spec == nil || s.Config == nil || spec.NodeName != "" || cluster.Dumped(obj) && !w.opts.Strict {
		return
	}
	if !slices.Contains(s.Config.SchedulerNames(), spec.SchedulerName) {
		w.problem(nil, "%s: %s.schedulerName: the scheduler has no profile %q; %s",
			cluster.RefTo(obj).Describe(), path, spec.SchedulerName, There(spec.SchedulerName, s.Config.SchedulerNames()))
	}
}

// Fresh returns the state without everything that makes pods, and without all pods, except what the cluster itself came with.
func (s *Scenario) Fresh(state *cluster.State) *cluster.State {
	given := map[cluster.Ref]bool{}
	for _, obj := range s.Cluster {
		given[cluster.RefTo(obj)] = true
	}
	var gone []cluster.Object
	for _, obj := range state.Objects() {
		switch cluster.KindOf(obj) {
		case "Pod", "ReplicaSet":
			if len(obj.GetOwnerReferences()) > 0 {
				continue // it goes with its owner
			}
		case "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "HorizontalPodAutoscaler":
		default:
			continue
		}
		if !given[cluster.RefTo(obj)] {
			gone = append(gone, obj)
		}
	}
	return controller.DeleteAndWait(state, gone...)
}

// Select returns those of the nodes that are named or that the selector matches, in their order. A selector that does not parse
// matches none.
func (n Nodes) Select(among []*v1.Node) []*v1.Node {
	selector := labels.Nothing()
	if parsed, err := labels.Parse(n.Selector); err == nil && n.Selector != "" {
		selector = parsed
	}
	var selected []*v1.Node
	for _, node := range among {
		if slices.Contains(n.Names, node.Name) || selector.Matches(labels.Set(node.Labels)) {
			selected = append(selected, node)
		}
	}
	return selected
}

func objectsOf(nodes []*v1.Node) []cluster.Object {
	objects := make([]cluster.Object, len(nodes))
	for i, node := range nodes {
		objects[i] = node
	}
	return objects
}

func labelsOf(nodes []*v1.Node) []labels.Set {
	sets := make([]labels.Set, len(nodes))
	for i, node := range nodes {
		sets[i] = node.Labels
	}
	return sets
}
