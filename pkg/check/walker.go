// Package check does the steps of a scenario in a world in which nothing acts, to find the problems that would stop a run.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
	"github.com/faultline/faultline/pkg/world/fleet"
)

// walker does the steps of a scenario in a world in which nothing acts, and reports everything that cannot be done. It knows all objects of
// the files, but only the names of the objects that controllers make.
type walker struct {
	*scenario.Problems
	ctx      context.Context // ends the walk
	scenario *scenario.Scenario
	world    world.World // in which nothing acts
	state    *cluster.State
	known    *knownNames

	podLimitReported bool // whether too many pods have been reported
	partial          bool // whether some objects could not be read, so that only nodes are known
}

// newWalker starts a walk before the first step.
func newWalker(ctx context.Context, p *scenario.Problems, s *scenario.Scenario, partial bool) *walker {
	w := &walker{Problems: p, ctx: ctx, scenario: s, known: newKnownNames(s), partial: partial}
	if s.Federated() {
		w.world = fleet.New(nil, sched.Ties{})
	} else {
		w.world, _ = world.NewCluster(nil, sched.Ties{}) // without a scheduler nothing can be wrong with it
	}
	var err error
	if w.state, _, err = w.world.Start(s); len(w.state.Nodes) > 0 || s.Federated() { // without nodes, all pods lack their nodes, which Check reports once
		w.reportErrors(nil, err)
	}
	return w
}

// Nodes does what [Check] does for a scenario with objects that could not be read. It reports only names and labels of nodes that no node
// has, since all other names could belong to the missing objects. If there are no nodes, it reports nothing.
func Nodes(ctx context.Context, p *scenario.Problems, s *scenario.Scenario) {
	if w := newWalker(ctx, p, s, true); len(w.state.Nodes) > 0 {
		w.checkSteps()
	}
}

// Check adds the problems that would stop the scenario. If the context ends, some of them may be missing.
func Check(ctx context.Context, p *scenario.Problems, s *scenario.Scenario) {
	w := newWalker(ctx, p, s, false)
	for i := range s.Members {
		w.checkMemberNodes(field.NewPath("clusters").Index(i).Child("cluster"), &s.Members[i])
	}
	if len(w.state.Nodes) == 0 && len(s.Deciders) == 0 { // a decider may make the first node
		w.reportNoNodes()
		return
	}
	for _, node := range s.Nodes() {
		if _, _, err := topology.Price(node); err != nil {
			w.Add(nil, "%s", err)
		}
	}
	if len(w.known.pods) == 0 && !s.Empty {
		w.reportNoWorkload()
	}
	if !s.Dump {
		for _, obj := range s.Objects() {
			w.checkSchedulerName(obj)
		}
	}
	w.checkSteps()
}

// checkSteps checks the steps, and then what applies to the scenario as a whole.
func (w *walker) checkSteps() {
	s := w.scenario
	w.applyWorkloads()
	w.checkPodLimit(nil)
	for i := 0; i < len(s.Steps) && !w.isCanceled(); i++ {
		if s.Steps[i].ExceedsNodes() { // validation has reported it, and a hundred million nodes take minutes
			continue
		}
		w.doStep(s.StepPath(i), &s.Steps[i])
		w.checkPodLimit(s.StepPath(i))
	}
	w.checkFailures(&s.Failures)
	if s.Autoscaler != nil {
		w.checkAutoscaler(s.Autoscaler)
	}
	if s.Expect != nil {
		w.checkExpect(field.NewPath("expect"), s.Expect, s.Nodes())
	}
}

// isCanceled reports whether the context has ended, so that nobody waits for the problems.
func (w *walker) isCanceled() bool { return w.ctx.Err() != nil }

// reportNoNodes reports that the scenario has no nodes, and how to give some.
func (w *walker) reportNoNodes() {
	where, besides := "the cluster has no nodes", " or synthetic nodes"
	if w.scenario.File == scenario.CommandLine {
		where, besides = "there are no nodes", " (--cluster or -f)"
	}
	if w.scenario.Dump { // the command of a dump has no flags for nodes
		besides = ""
	}
	w.Add(nil, "%s, so nothing can be placed; give Node objects, a kind configuration, a kubectl dump%s", where, besides)
}

// NoWorkloadError is the problem of a scenario that has nothing to place, such as the render of a chart of ConfigMaps.
type NoWorkloadError struct {
	File string
	// Custom are the custom resources that an operator may make pods of, as "Kafka shop/events of kafka.strimzi.io/v1beta2".
	Custom []string
}

func (e *NoWorkloadError) Error() string {
	if len(e.Custom) > 0 {
		return fmt.Sprintf("%s: there is no workload that is known, only %s; say where the pod template is by a rule in customResources of a scenario (docs/operators.md), or give the pods or the controllers that the operator makes",
			e.File, words.And(e.Custom))
	}
	return e.File + ": there is no workload, so there is nothing to place; give a Pod, a Deployment or another controller of pods"
}

// reportNoWorkload reports that the scenario has no workload, and the custom resources that may stand for one.
func (w *walker) reportNoWorkload() {
	var custom, commands []string
	for _, ignored := range w.scenario.Ignored {
		group, _, _ := strings.Cut(ignored.APIVersion, "/")
		if ignored.JSON != nil && strings.Contains(group, ".") && !isKubernetesGroup(group) {
			name := strings.TrimSpace(ignored.Kind + " " + cluster.Qualify(cmp.Or(ignored.Namespace, metav1.NamespaceDefault), ignored.Name))
			custom = append(custom, name+" of "+ignored.APIVersion)
			if command := manifest.RenderCommand(ignored); command != "" {
				commands = append(commands, command)
			}
		}
	}
	const most = 3
	if more := len(custom) - most; more > 0 {
		custom = append(custom[:most], words.Count(more, "other resource"))
	}
	if len(commands) > 0 {
		w.Add(nil, "there is no workload, only %s; render %s first: %s | simulate run -f -", words.And(custom), words.Pick(len(custom), "it", "them"), commands[0])
		return
	}
	w.AddErrors(&NoWorkloadError{File: w.File, Custom: custom})
}

// isKubernetesGroup reports whether the API group is Kubernetes' own, so that none of its kinds is a custom resource.
func isKubernetesGroup(group string) bool {
	return scheme.Scheme.IsGroupRegistered(group) || admission.IsGroup(group) || group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io"
}

// applyWorkloads applies the workloads before the first step.
func (w *walker) applyWorkloads() {
	s := w.scenario
	if !s.AppliesWorkloads() {
		return
	}
	first := scenario.LoadedStep{Step: scenario.Step{Apply: &scenario.Source{}}, Objects: s.Workloads, Karmada: s.Karmada}
	var err error
	w.state, _, err = w.world.Do(w.ctx, w.state, &first, &world.Record{})
	for _, problem := range world.Problems(err) {
		problem.Field = field.NewPath("workloads")
	}
	w.reportErrors(nil, err)
}

// doStep does a step as far as possible, and reports its problems.
func (w *walker) doStep(path *field.Path, step *scenario.LoadedStep) {
	if step.Fresh && !w.scenario.Federated() {
		w.state = w.scenario.Fresh(w.state)
	}
	if step.Delete != nil && step.Delete.Pods != nil {
		w.checkPodSelector(path.Child("delete", "pods", "selector"), step.Delete.Pods.Selector)
	}
	var err error
	w.state, _, err = w.world.Do(w.ctx, w.state, step, &world.Record{})
	w.reportErrors(path, err)
	if step.Patch != nil { // its pods may have other labels
		w.known.addPods(w.storedState(), step.Patch.Target)
	}
	if joined := step.Karmada.Joined; joined != nil {
		w.checkMemberNodes(path.Child("join", "cluster"), joined)
	}
	if step.Expect != nil {
		w.checkExpect(path.Child("expect"), step.Expect, w.world.Nodes(w.state))
	}
}

// storedState returns the objects that users have applied: to the cluster or, in a federation, to Karmada.
func (w *walker) storedState() *cluster.State {
	if w.scenario.Federated() {
		return fleet.StoredState(w.state)
	}
	return w.state
}

// reportErrors adds the problems that an error joins. It skips fields with a reported problem, and names that a controller may have made.
func (w *walker) reportErrors(path *field.Path, err error) {
	type problem struct {
		path *field.Path
		err  error
	}
	var found []problem
	for _, p := range world.Problems(err) {
		at := path
		if p.Field != nil {
			at = path.Child(p.Field.String())
		}
		if !w.Reported(at) {
			found = append(found, problem{at, p.Err})
		}
	}
	for _, p := range found {
		if w.isCanceled() {
			return
		}
		missing := (*world.MissingError)(nil)
		switch isMissing := errors.As(p.err, &missing); {
		case isMissing:
			w.reportMissing(p.path, missing)
		case w.partial && !errors.As(p.err, new(*scenario.NoMatchError)): // the objects are not all known
		case len(w.scenario.Deciders) > 0 && errors.As(p.err, new(*scenario.NoMatchError)): // a decider may make the nodes
		case errors.Is(p.err, scenario.ErrTestFailed): // a controller may make the test pass
		default:
			w.AddLines(p.path, p.err)
		}
	}
}

// reportMissing reports a name that no object has at that step, unless a controller may have made the object.
func (w *walker) reportMissing(path *field.Path, missing *world.MissingError) {
	switch wanted := missing.Ref; {
	case wanted.Kind == federation.KindCluster:
		if slices.ContainsFunc(w.scenario.AllMembers(), func(m scenario.Member) bool { return m.Name == wanted.Name }) {
			w.Add(path, "cluster %q does not exist at this step; it joins later, or was deleted before", wanted.Name)
		} else {
			w.Add(path, "%s", missing)
		}
	case w.partial && wanted.Kind != "Node":
	case w.scenario.Federated() && missing.Argument != "" && w.known.objects[wanted] && !w.known.applied[wanted]:
		w.Add(path, "%s is in a member alone; a step of a federation changes what is applied to Karmada", wanted.Describe())
	case w.known.objects[wanted] && !w.known.isRecreated(wanted):
		w.Add(path, "%s does not exist at this step; it is applied later, or was deleted before", wanted.Describe())
	case wanted.Kind == "Node" && len(w.scenario.Deciders) > 0: // a decider may make it
	case missing.Argument == "": // a node, which no controller makes
		w.Add(path, "%s", missing)
	case !w.known.mayBeMade(wanted):
		w.scenario.NotFound(w.Problems, path, wanted)
	}
}

// checkPodLimit reports a step that makes too many pods. It reports only the first such step.
func (w *walker) checkPodLimit(path *field.Path) {
	if w.podLimitReported || w.partial {
		return
	}
	err := w.scenario.CheckPods(w.storedState())
	if limit := (*scenario.LimitError)(nil); errors.As(err, &limit) {
		w.podLimitReported = true
		w.AddErrors(limit)
	} else if err != nil {
		w.podLimitReported = true
		w.AddLines(path, err)
	}
}

// checkMemberNodes reports a cluster of a federation without nodes.
func (w *walker) checkMemberNodes(path *field.Path, m *scenario.Member) {
	isNode := func(obj cluster.Object) bool { return cluster.KindOf(obj) == "Node" }
	if !w.partial && !slices.ContainsFunc(m.Objects, isNode) {
		w.Add(path, "cluster %q has no nodes, so nothing can be placed there; give Node objects, a kind configuration, a kubectl dump or synthetic nodes", m.Name)
	}
}

// checkPodSelector reports a selector that matches no pod. It ignores keys of labels that controllers give to pods.
func (w *walker) checkPodSelector(path *field.Path, text string) {
	selector, err := labels.Parse(text)
	if err != nil || w.partial {
		return // reported already, or not known
	}
	requirements, _ := selector.Requirements()
	given := labels.NewSelector()
	for _, requirement := range requirements {
		if !cluster.LabelOfController(requirement.Key()) {
			given = given.Add(requirement)
		}
	}
	if err := scenario.CheckMatches(given.String(), "pod", w.known.pods); err != nil {
		w.Add(path, "%s", err)
	}
}

// checkSchedulerName reports a pod, or a pod template, whose scheduler name is no profile of the scheduler. A pod that names another scheduler
// waits for that scheduler and is not reported, except with --strict. Pods of a dump are also reported only with --strict.
func (w *walker) checkSchedulerName(obj cluster.Object) {
	spec, path := cluster.PodSpec(obj)
	config := w.scenario.Config
	if spec == nil || config == nil || spec.NodeName != "" || !w.scenario.Strict && (cluster.FromDump(obj) || spec.SchedulerName != v1.DefaultSchedulerName) {
		return
	}
	if !slices.Contains(config.SchedulerNames(), spec.SchedulerName) {
		w.Add(nil, "%s: %s.schedulerName: the scheduler has no profile %q; %s",
			cluster.RefTo(obj).Describe(), path, spec.SchedulerName, scenario.ListChoices(spec.SchedulerName, config.SchedulerNames()))
	}
}
