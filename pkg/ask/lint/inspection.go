package lint

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/variant"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// inspection is what the checks examine: one cluster over all steps, with the runs that the checks share.
type inspection struct {
	ctx          context.Context
	result       *simulation.Result
	nodes        []*v1.Node // every node that the scenario ever contains, as the scenario defines it
	subjects     []*subject // step by step
	lastSteps    map[string]*simulation.Step
	world        world.World     // the world of these runs; nil before the first
	devices      map[string]bool // whether any device matches the selectors, by their expressions
	editRuns     int             // the number of runs in which a rule was removed or hardened
	skippedEdits int             // the number of such runs that were skipped because they would take too long

	randomResults []*simulation.Result                // results of the same scenario with random ties
	restartTrials map[string][]*simulation.Step       // restarts with random ties, by the specVersion of the subject
	restartCount  int                                 // the number of restarts that the checks ask for
	finder        *cause.Finder                       // finds why pods are refused; nil before the first use
	losses        map[domainLevel]*blast.Analysis     // the losses of each domain after a step
	covered       map[coverage][]*subject             // the subjects that each budget covers; nil before the first use
	emptied       map[*simulation.Step]*cluster.State // the state after a step, without pods and with all nodes
	unplaceable   map[*subject][]cause.Cause          // why no node takes a pod of the subject; see findUnplaceable

	member  string          // the examined member of a federation; "" without a federation
	control *karmadaControl // what Karmada's control plane has; nil without a federation
}

// subject is an object that creates pods, as a step leaves it.
type subject struct {
	owner  cluster.Ref
	step   *simulation.Step
	object cluster.Object
	// pod is a pod as the subject's template creates it. path is the path of the pod's spec in the object.
	pod  *v1.Pod
	path string
	// replicas is the wanted number of pods; 0 if the spec has no such number, as for a DaemonSet.
	replicas int
	// nodesKept means that no step so far fails, drains or cordons nodes, so that the pods' places reflect the rules.
	nodesKept bool

	podsByOwner       func() map[cluster.Ref][]*v1.Pod              // the pods of each owner after the step
	ownedAfterStep    ownedAfter                                    // the pods of each owner after other steps
	budgetsCovering   func(*v1.Pod) []*policyv1.PodDisruptionBudget // the budgets that cover a pod
	servicesSelecting func(*v1.Pod) []*v1.Service                   // the Services that select a pod

	admission func() *admission.Pods // the admission of new pods after the step
}

// newInspections returns what the checks examine: the cluster or, in a federation, each member by itself.
func newInspections(ctx context.Context, result *simulation.Result, of *karmadaControl) []*inspection {
	if of == nil {
		return []*inspection{newInspection(ctx, result)}
	}
	var all []*inspection
	for _, cl := range of.clusters {
		l := newEmptyInspection(ctx, result)
		l.member, l.control = cl.Name, of
		for i := range result.Steps {
			if m := result.Steps[i].State.Federation.Member(cl.Name); m != nil && !m.Lost {
				l.mergeNodes(m.State.Nodes)
				l.subjects = append(l.subjects, subjectsOf(stepInMember(&result.Steps[i], m), true)...)
			}
		}
		all = append(all, l)
	}
	return all
}

func newEmptyInspection(ctx context.Context, result *simulation.Result) *inspection {
	return &inspection{ctx: ctx, result: result, lastSteps: map[string]*simulation.Step{}, restartTrials: map[string][]*simulation.Step{}, devices: map[string]bool{},
		losses: map[domainLevel]*blast.Analysis{}, emptied: map[*simulation.Step]*cluster.State{}, unplaceable: map[*subject][]cause.Cause{}}
}

func newInspection(ctx context.Context, result *simulation.Result) *inspection {
	l := newEmptyInspection(ctx, result)
	l.mergeNodes(result.Scenario.Nodes())
	calm := true
	for i, spec := range simulation.StepsOf(result.Scenario) {
		calm = calm && spec.Fail == nil && spec.Drain == nil && spec.Cordon == nil
		l.subjects = append(l.subjects, subjectsOf(&result.Steps[i], calm)...)
	}
	after := ownedAfter{}
	for _, s := range l.subjects {
		s.ownedAfterStep = after
	}
	return l
}

// mergeNodes appends nodes. A node that is there already is replaced.
func (l *inspection) mergeNodes(nodes []*v1.Node) {
	position := map[string]int{}
	for i, node := range l.nodes {
		position[node.Name] = i
	}
	for _, node := range nodes {
		if i, found := position[node.Name]; found {
			l.nodes[i] = node
			continue
		}
		position[node.Name] = len(l.nodes)
		l.nodes = append(l.nodes, node)
	}
}

func subjectsOf(step *simulation.Step, calm bool) []*subject {
	var all []*subject
	owned, guards := podsByOwnerIn(step), step.State.Budgets()
	admits := sync.OnceValue(func() *admission.Pods { return admission.NewPods(step.State) })
	serves := cluster.Selecting(step.State.Services, func(s *v1.Service) *metav1.LabelSelector {
		if len(s.Spec.Selector) == 0 {
			return nil // the Service's endpoints are handwritten
		}
		return &metav1.LabelSelector{MatchLabels: s.Spec.Selector}
	})
	for _, object := range slices.Concat(step.State.Objects(), absentOwners(step.State)) {
		spec, path := cluster.PodSpec(object)
		if spec == nil || metav1.GetControllerOfNoCopy(object) != nil || isTerminal(object) {
			continue
		}
		pod := step.State.PodOf(object)
		if pod != object {
			pod = admits().MutateByPolicies(pod)
		}
		s := &subject{
			owner: cluster.RefTo(object),
			step:  step, object: object, path: path, nodesKept: calm, podsByOwner: owned, budgetsCovering: guards, servicesSelecting: serves, admission: admits,
			pod: pod,
		}
		if replicas, ok := cluster.Replicas(object); ok {
			s.replicas = int(replicas)
		}
		all = append(all, s)
	}
	return all
}

// absentOwners returns an object in place of each controller that the input lacks while it has pods of that controller. Controllers of a
// dump's pods have such an object already: see pkg/input/owner. Nothing is known about the controller's kind, so the object counts as one
// that has no scale for a budget.
func absentOwners(state *cluster.State) []cluster.Object {
	owner, known, made := state.Owners(), map[cluster.Ref]bool{}, map[cluster.Ref]*cluster.UnknownOwner{}
	var absent []cluster.Object
	for _, pod := range state.Pods {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil || ref.Kind == "Node" || ref.Kind == "DaemonSet" || cluster.FromDump(pod) || cluster.IsTerminal(pod) || cluster.RunsOnce(pod) {
			continue
		}
		name := owner(pod)
		if _, looked := known[name]; !looked {
			known[name] = state.Find(name) != nil
		}
		if known[name] {
			continue
		}
		o := made[name]
		if o == nil {
			o = &cluster.UnknownOwner{TypeMeta: metav1.TypeMeta{APIVersion: ref.APIVersion, Kind: name.Kind}, ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: ref.UID},
				Spec: cluster.UnknownOwnerSpec{Replicas: new(int32), Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(pod.Labels)}, Spec: *pod.Spec.DeepCopy()}, Unscaled: true}}
			o.Spec.Template.Spec.NodeName = ""
			made[name], absent = o, append(absent, o)
		}
		*o.Spec.Replicas++
		maps.DeleteFunc(o.Spec.Template.Labels, func(key, value string) bool { return pod.Labels[key] != value })
	}
	return absent
}

func isTerminal(object cluster.Object) bool {
	pod, ok := object.(*v1.Pod)
	return ok && cluster.IsTerminal(pod)
}

// identityLabels returns the labels that distinguish the subject's own pods: the labels of its selector, if it has one.
func (s *subject) identityLabels() labels.Set {
	if selector := cluster.Selector(s.object); selector != nil && len(selector.MatchLabels) > 0 {
		return selector.MatchLabels
	}
	return s.pod.Labels
}

// pods returns the subject's pods after the step.
func (s *subject) pods() []*v1.Pod { return s.podsByOwner()[s.owner] }

// inStep returns the subject in another step, of which only the pods are known.
func (s *subject) inStep(step *simulation.Step) *subject {
	owned := s.ownedAfterStep[step]
	if owned == nil {
		owned = podsByOwnerIn(step)
	}
	if s.ownedAfterStep != nil {
		s.ownedAfterStep[step] = owned
	}
	return &subject{owner: s.owner, step: step, podsByOwner: owned}
}

// ownedAfter caches the pods of each owner after steps, for all subjects.
type ownedAfter map[*simulation.Step]func() map[cluster.Ref][]*v1.Pod

// podsByOwnerIn lazily returns the pods of each owner after the step.
func podsByOwnerIn(step *simulation.Step) func() map[cluster.Ref][]*v1.Pod {
	return sync.OnceValue(func() map[cluster.Ref][]*v1.Pod {
		owner, pods := step.State.Owners(), map[cluster.Ref][]*v1.Pod{}
		for _, pod := range step.State.Pods {
			if !cluster.IsTerminal(pod) {
				pods[owner(pod)] = append(pods[owner(pod)], pod)
			}
		}
		return pods
	})
}

func (s *subject) labels() labels.Set { return s.pod.Labels }

// field returns the path in the object of a path in the pod's spec.
func (s *subject) field(path string) string { return s.path + "." + path }

// describePods describes the subject's pods, for example "the pods of deployment/web (app=web)".
func (s *subject) describePods() string {
	return fmt.Sprintf("the pods of %s (%s)", s.owner, labels.FormatLabels(s.pod.Labels))
}

// labelsField returns the path of the pods' labels in the object.
func (s *subject) labelsField() string {
	return strings.TrimSuffix(s.path, "spec") + "metadata.labels"
}

// isAutoscaled reports whether an autoscaler sets the replicas.
func (s *subject) isAutoscaled() bool { return s.scaler() != nil }

// otherSubjects returns the subjects that create other pods in the same step.
func (l *inspection) otherSubjects(s *subject) []*subject {
	return list.Without(l.subjects, func(o *subject) bool { return o.step != s.step || o.owner == s.owner })
}

// nodesFor returns the nodes that a pod of the subject may run on according to taints, node selector and node affinity.
func (l *inspection) nodesFor(s *subject) []*v1.Node {
	return list.Without(l.nodes, func(node *v1.Node) bool { return repels(node, s.pod) || !cluster.Attracts(node, s.pod) })
}

// repels reports whether the node is cordoned, or has a taint that keeps the pod away.
func repels(node *v1.Node, pod *v1.Pod) bool {
	if !node.Spec.Unschedulable {
		return cluster.Repels(node, pod)
	}
	taints := append(slices.Clone(node.Spec.Taints), v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	return cluster.Repels(&v1.Node{Spec: v1.NodeSpec{Taints: taints}}, pod)
}

// countDomains returns the number of domains of the nodes.
func countDomains(nodes []*v1.Node, key string) int {
	domains, _ := topology.Domains(nodes, key)
	return len(domains)
}

// maxEditRuns is the largest number of rules that are edited, and maxNodesToEdit the largest cluster in which rules are edited, since each
// edit is another run.
const (
	maxEditRuns    = 40
	maxNodesToEdit = 1000
)

// runEdited returns the subject's step as if its pods always had the edited spec, or after the rollout of that spec if its pods ran before. It
// returns nil if that would take too long.
func (l *inspection) runEdited(s *subject, key string, edit func(*v1.PodSpec)) (*simulation.Step, error) {
	key += " " + s.specVersion()
	if l.lastSteps[key] == nil {
		if l.editRuns == maxEditRuns || len(l.nodes) > maxNodesToEdit {
			l.skippedEdits++
			return nil, nil
		}
		l.editRuns++
	}
	return l.runToLastStep(key, variant.ChangePods(l.result.Scenario.CutAfter(s.step.Name), s.owner, edit))
}

const (
	// randomRuns is the number of runs with random ties: enough to see what happens often.
	randomRuns = 10
	// maxPlaces is the largest product of nodes and pods for which runs with random ties are made; it takes about a second.
	maxPlaces = 20_000
)

// runWithRandomTies returns the subject's step in runs of the scenario with random ties and seeds from 1; none in a large scenario.
func (l *inspection) runWithRandomTies(s *subject) ([]*simulation.Step, error) {
	pods := 0
	for i := range l.result.Steps {
		pods += len(l.result.Steps[i].Placed)
	}
	if len(l.nodes)*pods > maxPlaces {
		return nil, nil
	}
	if l.randomResults == nil {
		runs := make([]*simulation.Result, randomRuns)
		err := simulation.Each(l.ctx, l.result.Scenario, randomRuns, parallel.Options{}, func(ctx context.Context, w world.World, i int) (err error) {
			random := *l.result.Scenario
			random.Ties.Random, random.Ties.Seed = true, uint64(i)+1
			runs[i], err = simulation.Run(ctx, &random, simulation.Options{World: w})
			return err
		})
		if err != nil {
			return nil, err
		}
		l.randomResults = runs
	}
	var steps []*simulation.Step
	for _, result := range l.randomResults {
		for i := range result.Steps {
			if result.Steps[i].Name == s.step.Name {
				steps = append(steps, &result.Steps[i])
			}
		}
	}
	return steps, nil
}

// runToLastStep runs the derived scenario and returns its last step. It caches steps by key.
func (l *inspection) runToLastStep(key string, derived *scenario.Scenario) (*simulation.Step, error) {
	if step, found := l.lastSteps[key]; found {
		return step, nil
	}
	if l.world == nil {
		var err error
		if l.world, err = simulation.NewWorld(l.result.Scenario); err != nil {
			return nil, err
		}
	}
	result, err := simulation.Run(l.ctx, derived, simulation.Options{Prefix: l.result, World: l.world})
	if err != nil {
		return nil, err
	}
	l.lastSteps[key] = result.Last()
	return l.lastSteps[key], nil
}

// domainLosses returns the losses of each domain of the key after the step.
func (l *inspection) domainLosses(step *simulation.Step, key string) (*blast.Analysis, error) {
	of := domainLevel{step, key}
	if l.losses[of] == nil {
		analysis, err := blast.Lost(step.State, blast.Options{Levels: []string{key}, Simultaneous: 1})
		if err != nil {
			return nil, err
		}
		l.losses[of] = analysis
	}
	return l.losses[of], nil
}

// domainLevel is the level of a topology key after a step.
type domainLevel struct {
	step *simulation.Step
	key  string
}

// causeFinder returns the finder of the reasons why pods are refused.
func (l *inspection) causeFinder() (finder *cause.Finder, err error) {
	if l.finder == nil {
		l.finder, err = cause.NewFinder(l.result.Scenario.Config)
	}
	return l.finder, err
}

// close releases the schedulers of the runs.
func (l *inspection) close() {
	if l.world != nil {
		l.world.Close()
	}
	if l.finder != nil {
		l.finder.Close()
	}
}

// specVersion returns a string that identifies the subject's spec. If the spec cannot be written as JSON, the step's name identifies it.
func (s *subject) specVersion() string {
	spec, err := json.Marshal(s.pod.Spec)
	if err != nil {
		return s.owner.Namespace + s.owner.String() + s.step.Name
	}
	return fmt.Sprintf("%s %s %d %s", s.owner.Namespace, s.owner, s.replicas, spec)
}

func nodeNames(nodes []*v1.Node) string {
	names := list.Map(nodes, func(node *v1.Node) string { return node.Name })
	return words.Few(names)
}
