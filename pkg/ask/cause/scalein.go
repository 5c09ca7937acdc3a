package cause

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/core/helper"
	upstream "k8s.io/kubernetes/pkg/controller"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// ScaleIn says why a controller removed these pods and not others when its replicas were reduced.
type ScaleIn struct {
	cluster.Ref
	// Before is the number of pods that the workload had, and Replicas the number that it asks for now.
	Before   int `json:"before"`
	Replicas int `json:"replicas"`
	// Removed are the pods that the controller removed, in the order in which it removes them.
	Removed []RemovedPod `json:"removed"`
	// Alike are the pods that stay although the order does not distinguish them from a removed pod: chance decided between these.
	Alike []string `json:"alike,omitempty"`
	// Sentence says why these pods were removed.
	Sentence string `json:"sentence"`
}

// RemovedPod is a pod that a scale-in removed.
type RemovedPod struct {
	Name string `json:"name"`
	Node string `json:"node,omitempty"`
	// Rule is the rule that put the pod before Than: the next pod in the order that stays and differs from it in some rule.
	Rule RemovalRule `json:"rule,omitempty"`
	Than string      `json:"than,omitempty"`
}

// RemovalRule is a rule by which a controller ranks the pods that it removes. The first rule in which two pods differ decides.
type RemovalRule string

// The rules of a ReplicaSet, in the order in which it applies them: ActivePodsWithRanks in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/controller_utils.go. A StatefulSet has only Ordinal.
const (
	Unassigned   RemovalRule = "Unassigned"
	Phase        RemovalRule = "Phase"
	NotReady     RemovalRule = "NotReady"
	DeletionCost RemovalRule = "DeletionCost"
	Colocated    RemovalRule = "Colocated"
	ReadyLater   RemovalRule = "ReadyLater"
	CreatedLater RemovalRule = "CreatedLater"
	Ordinal      RemovalRule = "Ordinal"
)

// ExplainScaleIns explains each scale-in between two states: a workload with an unchanged template asks for fewer replicas than before, but for at
// least one. It leaves out a scale-in that upstream's order does not explain, since another cause, such as a lost node, also took pods.
func ExplainScaleIns(before, after *cluster.State) []ScaleIn {
	var found []ScaleIn
	was := list.IndexBy(before.Scalable(), func(obj cluster.Object) types.UID { return obj.GetUID() })
	var pods map[types.UID][]*v1.Pod
	for _, now := range after.Scalable() {
		then := was[now.GetUID()]
		if then == nil || then == now {
			continue
		}
		had, _ := cluster.Replicas(then)
		has, _ := cluster.Replicas(now)
		if has >= had || has == 0 || !sameTemplate(then, now) {
			continue
		}
		if pods == nil {
			pods = podsByController(before.Pods)
		}
		s := scaleIn{ScaleIn: ScaleIn{Ref: cluster.RefTo(now), Replicas: int(has)}, now: after.Now}
		if s.splitPods(ownedBy(now, before.ReplicaSets, pods), after) {
			s.Sentence = s.sentence()
			found = append(found, s.ScaleIn)
		}
	}
	return found
}

func sameTemplate(a, b cluster.Object) bool {
	x, _ := cluster.Template(a)
	y, _ := cluster.Template(b)
	return x != nil && equality.Semantic.DeepEqual(x, y)
}

func podsByController(all []*v1.Pod) map[types.UID][]*v1.Pod {
	pods := map[types.UID][]*v1.Pod{}
	for _, pod := range all {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && cluster.IsActive(pod) {
			pods[ref.UID] = append(pods[ref.UID], pod)
		}
	}
	return pods
}

// ownedBy returns the pods of the workload, including the pods of a Deployment's ReplicaSets.
func ownedBy(workload cluster.Object, sets []*appsv1.ReplicaSet, pods map[types.UID][]*v1.Pod) []*v1.Pod {
	owned := slices.Clone(pods[workload.GetUID()])
	for _, rs := range sets {
		if metav1.IsControlledBy(rs, workload) {
			owned = append(owned, pods[rs.UID]...)
		}
	}
	return owned
}

// scaleIn is a scale-in and the values from which its explanation is made.
type scaleIn struct {
	ScaleIn
	now metav1.Time
	// removed and stayed are the pods in the order in which the controller removes them.
	removed, stayed []*v1.Pod
	// onNode counts the workload's pods on each node before the scale-in.
	onNode map[string]int
	// zonesBefore and zonesAfter are the zones of the workload's pods before and after the scale-in.
	zonesBefore, zonesAfter []string
}

// splitPods divides the pods into those that were removed and those that stayed. It returns false if the controller's order does not put the
// removed pods first.
func (s *scaleIn) splitPods(pods []*v1.Pod, after *cluster.State) bool {
	there := map[types.UID]bool{}
	for _, pod := range after.Pods {
		there[pod.UID] = pod.DeletionTimestamp == nil
	}
	s.Before, s.onNode = len(pods), map[string]int{}
	for _, pod := range pods {
		s.onNode[pod.Spec.NodeName]++
		if there[pod.UID] {
			s.stayed = append(s.stayed, pod)
		} else {
			s.removed = append(s.removed, pod)
		}
	}
	if len(s.removed) == 0 || len(s.stayed) != s.Replicas {
		return false
	}
	slices.SortStableFunc(s.removed, s.compare)
	slices.SortStableFunc(s.stayed, s.compare)
	last := s.removed[len(s.removed)-1]
	if s.less(s.stayed[0], last) {
		return false
	}
	for _, pod := range s.removed {
		s.Removed = append(s.Removed, s.reasonFor(pod))
	}
	for _, pod := range s.stayed {
		if s.decidingRule(last, pod) == "" {
			s.Alike = append(s.Alike, pod.Name)
		}
	}
	nodes := after.NodesByName()
	s.zonesBefore, s.zonesAfter = zonesOf(pods, nodes), zonesOf(s.stayed, nodes)
	return true
}

func zonesOf(pods []*v1.Pod, nodes map[string]*v1.Node) []string {
	var zones []string
	for _, pod := range pods {
		if node := nodes[pod.Spec.NodeName]; node != nil && node.Labels[v1.LabelTopologyZone] != "" {
			zones = append(zones, node.Labels[v1.LabelTopologyZone])
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

func (s *scaleIn) compare(a, b *v1.Pod) int {
	switch {
	case s.less(a, b):
		return -1
	case s.less(b, a):
		return 1
	}
	return 0
}

// less reports whether the controller removes a before b: a ReplicaSet by upstream's order, a StatefulSet by ordinals.
func (s *scaleIn) less(a, b *v1.Pod) bool {
	if s.Kind == "StatefulSet" {
		return ordinal(a) > ordinal(b)
	}
	return upstream.ActivePodsWithRanks{Pods: []*v1.Pod{a, b}, Rank: []int{s.onNode[a.Spec.NodeName], s.onNode[b.Spec.NodeName]}, Now: s.now}.Less(0, 1)
}

func ordinal(pod *v1.Pod) int {
	n, _ := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	return n
}

// reasonFor returns the rule that put the pod before a pod that stays; no rule if none distinguishes it from these.
func (s *scaleIn) reasonFor(pod *v1.Pod) RemovedPod {
	removed := RemovedPod{Name: pod.Name, Node: pod.Spec.NodeName}
	for _, next := range s.stayed {
		if removed.Rule = s.decidingRule(pod, next); removed.Rule != "" {
			removed.Than = next.Name
			break
		}
	}
	return removed
}

// decidingRule returns the first rule that distinguishes the pods, given that pod is removed before next; "" if none does.
func (s *scaleIn) decidingRule(pod, next *v1.Pod) RemovalRule {
	cost := func(pod *v1.Pod) int32 {
		cost, _ := helper.GetDeletionCostFromPodAnnotations(pod.Annotations)
		return cost
	}
	ready := func(pod *v1.Pod) metav1.Time {
		if _, condition := podutil.GetPodCondition(&pod.Status, v1.PodReady); condition != nil {
			return condition.LastTransitionTime
		}
		return metav1.Time{}
	}
	later := func(a, b metav1.Time) bool { return a.After(b.Time) }
	switch {
	case s.Kind == "StatefulSet":
		return Ordinal
	case pod.Spec.NodeName == "" && next.Spec.NodeName != "":
		return Unassigned
	case pod.Status.Phase != next.Status.Phase:
		return Phase
	case podutil.IsPodReady(pod) != podutil.IsPodReady(next):
		return NotReady
	case cost(pod) != cost(next):
		return DeletionCost
	case s.onNode[pod.Spec.NodeName] != s.onNode[next.Spec.NodeName]:
		return Colocated
	case later(ready(pod), ready(next)):
		return ReadyLater
	case later(pod.CreationTimestamp, next.CreationTimestamp):
		return CreatedLater
	}
	return ""
}

// sentence says which pods were removed, by which rules, and what the rules do not look at.
func (s *scaleIn) sentence() string {
	names := list.Map(s.Removed, func(p RemovedPod) string { return p.Name })
	if s.Kind == "StatefulSet" {
		return fmt.Sprintf("%s: of its %s, %s went: a StatefulSet removes its highest ordinals first.", s.Ref, words.Count(s.Before, "pod"), words.Few(names))
	}
	var clauses []string
	for _, group := range list.GroupBy(s.Removed, func(p RemovedPod) RemovedPod { return RemovedPod{Rule: p.Rule, Than: p.Than} }) {
		if group[0].Rule != "" {
			clauses = append(clauses, s.clause(group))
		}
	}
	if len(s.Alike) > 0 {
		clauses = append(clauses, fmt.Sprintf("nothing that the order looks at tells %s from the last to go", words.Few(s.Alike)))
	}
	sentence := fmt.Sprintf("%s: of its %s, %s went: %s", s.Ref, words.Count(s.Before, "pod"), words.Few(names), strings.Join(clauses, "; "))
	if len(s.zonesAfter) < len(s.zonesBefore) && len(s.zonesAfter) > 0 {
		sentence += fmt.Sprintf("; the order does not look at zones, and the pods that stay are in %s", words.And(s.zonesAfter))
	}
	return sentence + "."
}

// clause says why the pods of one rule were removed before the pod that they are compared with.
func (s *scaleIn) clause(pods []RemovedPod) string {
	n, than := len(pods), pods[0].Than
	switch pods[0].Rule {
	case Unassigned:
		return fmt.Sprintf("%d had no node", n)
	case Phase, NotReady:
		return fmt.Sprintf("%d %s not Ready", n, words.Pick(n, "was", "were"))
	case DeletionCost:
		return fmt.Sprintf("%d %s a lower annotation %s than %s", n, words.Pick(n, "has", "have"), v1.PodDeletionCost, than)
	case Colocated:
		nodes := list.Distinct(list.Map(pods, func(p RemovedPod) string { return fmt.Sprintf("%s %d", p.Node, s.onNode[p.Node]) }))
		slices.Sort(nodes)
		i := slices.IndexFunc(s.stayed, func(pod *v1.Pod) bool { return pod.Name == than })
		node := s.stayed[i].Spec.NodeName
		return fmt.Sprintf("%d shared a node with more pods of it (%s) than %s does (%s %d)", n, words.Few(nodes), than, node, s.onNode[node])
	case ReadyLater:
		return fmt.Sprintf("%d became Ready later than %s", n, than)
	default: // CreatedLater; a StatefulSet has no clauses
		return fmt.Sprintf("%d %s created later than %s", n, words.Pick(n, "was", "were"), than)
	}
}
