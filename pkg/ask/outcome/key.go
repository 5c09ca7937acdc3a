package outcome

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/alike"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// keyer gives states keys. States with the same key have the same future, except for names that nothing reads.
//
// Usually the future does not depend on which pod of a workload is on which node. Then the key has only the class of each pod: what the
// scheduler sees of it, without its name. The future does depend on it if a controller, a drain or preemption chooses among pods, by age or
// by order of arrival. So the key has classes only if, from the current step to the next fresh one, steps only apply new workloads and
// cordon or uncordon nodes, in a scenario in which nothing deletes pods by itself. Otherwise the key has every object, complete and in
// order.
type keyer struct {
	*symmetry
	anchor map[string]*corev1.Node // the nodes before the first step
	// byClass says for each step, from beforeSteps on, whether the key has only the pods' classes.
	byClass      []bool
	samplesNodes bool

	pods    alike.PodClasses
	changes map[*corev1.Node]string // the text of a node that differs from its state before the first step, otherwise ""
}

func newKeyer(s *scenario.Scenario, anchor *cluster.State, merge bool) *keyer {
	k := &keyer{
		symmetry: newSymmetry(s, anchor.Nodes, merge), anchor: map[string]*corev1.Node{},
		byClass: stepsByClass(s), samplesNodes: s.Config.Samples(len(anchor.Nodes)),
	}
	for _, node := range anchor.Nodes {
		k.anchor[node.Name] = node
	}
	return k
}

// resetRun clears the caches that hold for one run only.
func (k *keyer) resetRun() {
	k.pods.Release()
	k.changes = map[*corev1.Node]string{}
}

// nodeChange returns the node's text, or "" if the node is as it was before the first step.
func (k *keyer) nodeChange(node *corev1.Node) string {
	change, found := k.changes[node]
	if !found && !reflect.DeepEqual(node, k.anchor[node.Name]) {
		change = alike.EncodeJSON(node)
	}
	k.changes[node] = change
	return change
}

// tieKey returns the key of a state in which the scheduler is about to choose, and the sets of tied nodes that are interchangeable, as
// indices.
func (k *keyer) tieKey(step int, state *cluster.State, tie *sched.Tie) (string, [][]int) {
	byClass := k.byClass[step+1]
	gone := map[string]bool{}
	on := map[string][]string{}
	for _, preemption := range tie.Preempted {
		gone[preemption.Victim.Namespace+"/"+preemption.Victim.Name] = true
		if preemption.Ending != nil {
			on[preemption.Node] = append(on[preemption.Node], k.podToken(preemption.Ending, byClass))
		}
	}
	waiting := map[string]bool{}
	for _, p := range tie.Placed {
		waiting[p.Pod.Namespace+"/"+p.Pod.Name] = true
		if name := p.Pod.Namespace + "/" + p.Pod.Name; !gone[name] {
			on[p.Node] = append(on[p.Node], k.podToken(p.Pod, byClass))
		}
	}
	for _, pod := range state.Pods {
		if name := pod.Namespace + "/" + pod.Name; pod.Spec.NodeName != "" && !cluster.IsTerminal(pod) && !gone[name] && !waiting[name] {
			on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], k.podToken(pod, byClass))
		}
	}
	head := []string{fmt.Sprint(step, len(tie.Placed), len(tie.Preempted), state.Created, state.Now.Unix()), k.podToken(tie.Pod, byClass)}
	for _, pod := range tie.Waiting {
		head = append(head, k.podToken(pod, byClass))
	}
	head = append(head, "refused")
	for _, pod := range tie.Refused {
		head = append(head, k.podToken(pod, byClass))
	}
	if k.samplesNodes {
		head = append(head, fmt.Sprint(tie.Start))
	}
	if !byClass {
		head = append(head, otherObjectsKey(state))
	}
	shape := k.shapeWith(state, on)
	orbits := shape.orbits()
	var sets [][]int
	at := map[string]int{}
	for i, node := range tie.Nodes {
		orbit, found := orbits[node]
		if !found {
			orbit = node // the node came after the first step
		}
		if _, seen := at[orbit]; !seen {
			at[orbit] = len(sets)
			sets = append(sets, nil)
		}
		sets[at[orbit]] = append(sets[at[orbit]], i)
	}
	return digest(append(head, k.shapeKey(on, shape))...), sets
}

// stateKey returns the key of a state between steps, or of the part of it that a fresh next step keeps. The key has what the following steps
// depend on.
func (k *keyer) stateKey(s *scenario.Scenario, result *simulation.Result) string {
	next := len(result.Steps)
	steps := simulation.StepsOf(s)
	if next == len(steps) {
		return "" // nothing follows
	}
	state := result.State()
	if steps[next].Fresh {
		state = s.Fresh(state)
	}
	byClass := k.byClass[next+1]
	on := map[string][]string{}
	var head []string
	for _, pod := range state.Pods {
		switch {
		case cluster.IsTerminal(pod):
		case pod.Spec.NodeName == "":
			head = append(head, k.podToken(pod, byClass))
		default:
			on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], k.podToken(pod, byClass))
		}
	}
	if !byClass {
		head = append(head, otherObjectsKey(state))
		if len(state.Pods) > 0 {
			head = append(head, fmt.Sprint(state.Now.Unix(), state.Created))
		}
	}
	if k.samplesNodes {
		head = append(head, fmt.Sprint(result.NextStart()))
	}
	return digest(append(head, k.shapeKey(on, k.shapeWith(state, on)))...)
}

// shapeWith returns the shape of the nodes in the state, with the pods on them.
func (k *keyer) shapeWith(state *cluster.State, on map[string][]string) *shape {
	now := list.IndexBy(state.Nodes, func(node *corev1.Node) string { return node.Name })
	return k.newShape(func(name string) string {
		pods := slices.Sorted(slices.Values(on[name]))
		switch node := now[name]; {
		case node == nil:
			pods = append(pods, "deleted")
		default: // only nodes that a step selects are ever changed, and these stand for themselves
			pods = append(pods, k.nodeChange(node))
		}
		return strings.Join(pods, "\x00")
	})
}

// shapeKey returns a digest of the shape's code and the pods on nodes that came after the first step.
func (k *keyer) shapeKey(on map[string][]string, s *shape) string {
	parts := []string{s.code}
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if k.anchor[name] == nil {
			parts = append(parts, append([]string{name}, slices.Sorted(slices.Values(on[name]))...)...)
		}
	}
	return digest(parts...)
}

// podToken returns the part of a pod that counts for a key, without its node.
func (k *keyer) podToken(pod *corev1.Pod, byClass bool) string {
	if !byClass {
		whole := *pod
		whole.Spec.NodeName = ""
		return alike.EncodeJSON(&whole)
	}
	ending := ""
	if pod.DeletionTimestamp != nil {
		ending = fmt.Sprint(" until ", pod.DeletionTimestamp.Unix())
	}
	return k.pods.Class(pod) + ending
}

// otherObjectsKey returns a digest of the state without nodes, and without the specs of pods that have not ended. It covers the order of the pods,
// and what the Job controller and the volume attachments remember.
func otherObjectsKey(state *cluster.State) string {
	rest := *state
	rest.Nodes, rest.Pods = nil, nil
	var parts []string
	for _, obj := range rest.Objects() {
		parts = append(parts, cluster.KindOf(obj), alike.EncodeJSON(obj))
	}
	for _, pod := range state.Pods { // the order of arrival
		parts = append(parts, pod.Namespace+"/"+pod.Name)
		if cluster.IsTerminal(pod) {
			parts = append(parts, alike.EncodeJSON(pod))
		}
	}
	if len(state.JobBackoffs) > 0 {
		parts = append(parts, alike.EncodeJSON(state.JobBackoffs))
	}
	if len(state.Attachments) > 0 {
		parts = append(parts, alike.EncodeJSON(state.Attachments))
	}
	return digest(parts...)
}

// stepsByClass reports, for each step from beforeSteps on, whether pods of one class are interchangeable until the next fresh step.
func stepsByClass(s *scenario.Scenario) []bool {
	steps := simulation.StepsOf(s)
	byClass := make([]bool, len(steps)+1)
	if mayChoosePods(s) {
		return byClass
	}
	given := list.KeySet(s.Cluster, objectID)
	there := maps.Clone(given)
	byClass[0] = true
	for i := range steps {
		step := &steps[i]
		if step.Fresh {
			there = maps.Clone(given)
		}
		onlyAdds := !changesPods(step)
		for _, obj := range step.Objects {
			if spec, _ := cluster.PodSpec(obj); spec != nil {
				onlyAdds = onlyAdds && !there[objectID(obj)]
				there[objectID(obj)] = true
			}
		}
		byClass[i+1] = onlyAdds
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if !steps[i].Fresh && !byClass[i+1] {
			byClass[i] = false
		}
	}
	return byClass
}

// changesPods reports whether the step's action could affect existing pods. The caller checks the objects that the step applies.
func changesPods(step *scenario.LoadedStep) bool {
	return slices.ContainsFunc(step.Actions(), func(action scenario.NamedAction) bool {
		return !slices.Contains([]string{"apply", "cordon", "uncordon"}, action.Name)
	})
}

func objectID(obj cluster.Object) string {
	return cluster.KindOf(obj) + "/" + obj.GetNamespace() + "/" + obj.GetName()
}

// mayChoosePods reports whether something could delete a pod, or depend on a pod's identity, although no step deletes anything.
func mayChoosePods(s *scenario.Scenario) bool {
	if mayPreempt(s) {
		return true
	}
	orphans, controllers := false, false
	for _, obj := range allObjects(s) {
		switch o := obj.(type) {
		case *corev1.Pod:
			if metav1.GetControllerOfNoCopy(o) != nil {
				return true // the cluster may be in the middle of a rollout
			}
			orphans = true
		case *corev1.Node:
			for _, taint := range o.Spec.Taints {
				if taint.Effect == corev1.TaintEffectNoExecute {
					return true
				}
			}
		}
		switch cluster.KindOf(obj) {
		case "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet":
			controllers = true
		case "Job", "CronJob", "HorizontalPodAutoscaler", "PersistentVolume", "PersistentVolumeClaim", "ControllerRevision":
			return true
		}
		if text := alike.EncodeJSON(obj); hasVolumeClaims(obj) || strings.Contains(text, alike.IdentityLabels[0]) || strings.Contains(text, alike.IdentityLabels[1]) {
			return true
		}
	}
	return orphans && controllers // a controller may adopt a bare pod, and then delete one
}

// mayPreempt reports whether one pod could preempt another.
func mayPreempt(s *scenario.Scenario) bool {
	if alike.CanPreempt(allObjects(s)) {
		return true
	}
	for i := range s.Steps {
		if patch := s.Steps[i].Patch; patch != nil && strings.Contains(string(patch.Patch.Raw), "riority") {
			return true
		}
	}
	return false
}

// hasVolumeClaims reports whether the pods of the object have volumes that may be bound to some nodes.
func hasVolumeClaims(obj cluster.Object) bool {
	spec, _ := cluster.PodSpec(obj)
	return spec != nil && slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) ||
		cluster.KindOf(obj) == "StatefulSet" && strings.Contains(alike.EncodeJSON(obj), `"volumeClaimTemplates":[{`)
}
