package sched

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// newGang returns a pod group that needs minCount pods at once; with 0, it has the basic policy.
func newGang(name string, minCount, priority int32) *schedulingv1beta1.PodGroup {
	group := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("group-" + name), Generation: 1},
		Spec:       schedulingv1beta1.PodGroupSpec{Priority: &priority},
	}
	if minCount > 0 {
		group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}
	} else {
		group.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	}
	return group
}

// members returns n pods of the group, each requesting 4 CPUs.
func members(group string, n int, priority int32) []*v1.Pod {
	_, pods := replicas(group, n, nil)
	for _, pod := range pods {
		pod.OwnerReferences = nil
		pod.Spec.Priority, pod.Spec.SchedulingGroup = &priority, &v1.PodSchedulingGroup{PodGroupName: &group}
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}
	}
	return pods
}

func objects(pods ...[]*v1.Pod) (all []cluster.Object) {
	for _, pod := range slices.Concat(pods...) {
		all = append(all, pod)
	}
	return all
}

// groupOutcome describes what happened to pods and groups.
type groupOutcome struct {
	Placed    map[string]int // pods by node
	Pending   []string
	Preempted []string
	Groups    []string
}

func groupOutcomeOf(result *placement.Result) groupOutcome {
	o := groupOutcome{Placed: map[string]int{}}
	for _, p := range result.Placed {
		o.Placed[p.Node]++
	}
	for _, p := range result.Pending {
		o.Pending = append(o.Pending, p.Pod.Name+": "+p.Why())
		if (p.Untried != "") == (p.Message != "") {
			o.Pending = append(o.Pending, "both or neither are told of")
		}
	}
	for _, p := range result.Preempted {
		o.Preempted = append(o.Preempted, p.Victim.Name+" on "+p.Node+" for "+p.For.Name)
	}
	for _, group := range result.PodGroups {
		for _, c := range group.Status.Conditions {
			o.Groups = append(o.Groups, fmt.Sprintf("%s: %s=%s %s %s", group.Name, c.Type, c.Status, c.Reason, c.Message))
		}
	}
	return o
}

const (
	noCPU     = "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu."
	noVictims = ", pod group preemption: No preemption victims found for incoming preemptor"
	scheduled = ": PodGroupInitiallyScheduled=True Scheduled "
)

// Three workers have room for two pods of 4 CPUs each, so for six in all.
func TestPodGroups(t *testing.T) {
	withPodGroups(t)
	for name, c := range map[string]struct {
		state *cluster.State
		want  groupOutcome
	}{
		"all fit": {
			state: walkthrough().With(newGang("a", 6, 0)).With(objects(members("a", 6, 0))...),
			want:  groupOutcome{Placed: map[string]int{"w1": 2, "w2": 2, "w3": 2}, Groups: []string{"a" + scheduled}},
		},
		"one does not fit, so none is placed": {
			state: walkthrough().With(newGang("a", 7, 0)).With(objects(members("a", 7, 0))...),
			want: groupOutcome{
				Pending: append(groupMessages("a", 0, 6, "pod group is unschedulable, minCount (7) cannot be satisfied: 6 scheduled, 0 remaining"+noVictims), "a-6: "+noCPU),
				Groups:  []string{"a: PodGroupInitiallyScheduled=False Unschedulable minCount (7) cannot be satisfied: 6 scheduled, 0 remaining" + noVictims},
			},
		},
		"too few": {
			state: walkthrough().With(newGang("a", 3, 0)).With(objects(members("a", 2, 0))...),
			want:  groupOutcome{Pending: groupMessages("a", 0, 2, "not tried: waiting for minCount pods from a gang to appear in scheduling queue")},
		},
		"no such group": {
			state: walkthrough().With(objects(members("a", 2, 0))...),
			want:  groupOutcome{Pending: groupMessages("a", 0, 2, `not tried: waiting for pods's pod group "a" to appear in scheduling queue`)},
		},
		"a group of another namespace": {
			state: walkthrough().With(inNamespace(newGang("a", 2, 0), "other")).With(objects(members("a", 2, 0))...),
			want:  groupOutcome{Pending: groupMessages("a", 0, 2, `not tried: waiting for pods's pod group "a" to appear in scheduling queue`)},
		},
		// Of the eight pods of both, six fit. The second gang stops at its third pod: with two scheduled and one left it cannot have four.
		"two compete": {
			state: walkthrough().With(newGang("a", 4, 0), newGang("b", 4, 0)).With(objects(members("a", 4, 0), members("b", 4, 0))...),
			want: groupOutcome{
				Placed: map[string]int{"w1": 2, "w2": 1, "w3": 1},
				Pending: append(groupMessages("b", 0, 2, "pod group is unschedulable, minCount (4) cannot be satisfied: 2 scheduled, 1 remaining"+noVictims),
					"b-2: "+noCPU, "b-3: minCount (4) cannot be satisfied: 2 scheduled, 1 remaining"),
				Groups: []string{"a" + scheduled, "b: PodGroupInitiallyScheduled=False Unschedulable minCount (4) cannot be satisfied: 2 scheduled, 1 remaining" + noVictims},
			},
		},
		// The gang of higher priority is first, though its pods came last.
		"priority": {
			state: walkthrough().With(newGang("a", 4, 0), newGang("b", 6, 9)).With(objects(members("a", 4, 0), members("b", 6, 9))...),
			want: groupOutcome{
				Placed:  map[string]int{"w1": 2, "w2": 2, "w3": 2},
				Pending: append([]string{"a-0: " + noCPU}, groupMessages("a", 1, 4, "minCount (4) cannot be satisfied: 0 scheduled, 3 remaining")...),
				Groups:  []string{"a: PodGroupInitiallyScheduled=False Unschedulable minCount (4) cannot be satisfied: 0 scheduled, 3 remaining" + noVictims, "b" + scheduled},
			},
		},
		"more than the least": {
			state: walkthrough().With(newGang("a", 5, 0)).With(objects(members("a", 7, 0))...),
			want:  groupOutcome{Placed: map[string]int{"w1": 2, "w2": 2, "w3": 2}, Pending: []string{"a-6: " + noCPU}, Groups: []string{"a" + scheduled}},
		},
		"basic policy": {
			state: walkthrough().With(newGang("a", 0, 0)).With(objects(members("a", 7, 0))...),
			want:  groupOutcome{Placed: map[string]int{"w1": 2, "w2": 2, "w3": 2}, Pending: []string{"a-6: " + noCPU}, Groups: []string{"a" + scheduled}},
		},
		// Five of six run already, so the one that came back is enough.
		"a replacement": {
			state: walkthrough().With(newGang("a", 6, 0)).With(bindPods(members("a", 6, 0)[:5], "w1", "w1", "w2", "w2", "w3")...).With(members("a", 6, 0)[5]),
			want:  groupOutcome{Placed: map[string]int{"w3": 1}, Groups: []string{"a" + scheduled}},
		},
		// Without the six pods of low priority the gang's first goes to w1 and its second to w2. Those that started first are spared: on
		// each of the two nodes the second has to go.
		"preemption": {
			state: fullCluster(t).With(newGang("a", 2, 1000)).With(objects(members("a", 2, 1000))...),
			want: groupOutcome{
				Placed:    map[string]int{"w1": 1, "w2": 1},
				Preempted: []string{"low-1 on w1 for a-0", "low-3 on w2 for a-1"},
				Groups:    []string{"a" + scheduled},
			},
		},
		// Seven would not fit, whatever is preempted.
		"preemption would not help": {
			state: fullCluster(t).With(newGang("a", 7, 1000)).With(objects(members("a", 7, 1000))...),
			want: groupOutcome{
				Pending: append([]string{"a-0: " + noCPU}, groupMessages("a", 1, 7, "minCount (7) cannot be satisfied: 0 scheduled, 6 remaining")...),
				Groups: []string{"a: PodGroupInitiallyScheduled=False Unschedulable minCount (7) cannot be satisfied: 0 scheduled, 6 remaining" +
					", deallocation and deletion of ResourceClaims completed, pod group preemption: minCount (7) cannot be satisfied: 6 scheduled, 0 remaining"},
			},
		},
		"another priority than its pods": {
			state: walkthrough().With(newGang("a", 2, 7)).With(objects(members("a", 2, 0))...),
			want: groupOutcome{
				Pending: groupMessages("a", 0, 2, "all pods in a single pod group should have the same priority as the pod group's priority, got 0 and 7"),
				Groups: []string{"a: PodGroupInitiallyScheduled=False SchedulerError " +
					"all pods in a single pod group should have the same priority as the pod group's priority, got 0 and 7"},
			},
		},
		"a pod with scheduling gates": {
			state: walkthrough().With(newGang("a", 2, 0)).With(members("a", 2, 0)[0], gatedPod(members("a", 2, 0)[1])),
			want: groupOutcome{Pending: []string{
				`a-0: not tried: waiting for pod a-1 of its pod group "a": ` + placement.Gated, "a-1: " + placement.Gated,
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine := newEngine(t, Ties{})
			for range 2 { // the second time, the engine has to forget its decisions
				result, err := engine.Place(t.Context(), c.state, c.state.Unscheduled())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, groupOutcomeOf(result), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				engine.Reset()
			}
		})
	}
}

// If the gate is off, pods are placed one by one, and the groups that they name have no effect.
func TestPodGroupsAreOffByDefault(t *testing.T) {
	state := walkthrough().With(newGang("a", 7, 0)).With(objects(members("a", 7, 0))...)
	result, err := newEngine(t, Ties{}).Place(t.Context(), state, state.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	want := groupOutcome{Placed: map[string]int{"w1": 2, "w2": 2, "w3": 2}, Pending: []string{"a-6: 0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu. " +
		"preemption: 0/4 nodes are available: 1 Preemption is not helpful for scheduling, 3 No preemption victims found for incoming pod."}}
	if diff := cmp.Diff(want, groupOutcomeOf(result), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Victims that take time to end keep their resources. The gang waits for them with a node nominated for each of its pods, and then gets
// these nodes, although two other pods came first.
func TestPodGroupWaitsForItsVictims(t *testing.T) {
	withPodGroups(t)
	state := fullCluster(t).With(objects(members("other", 2, 1))...)
	for _, pod := range state.Unscheduled() {
		pod.Spec.SchedulingGroup = nil
	}
	state = state.With(newGang("a", 2, 1000)).With(objects(members("a", 2, 1000))...)
	state.TerminationSeconds = 1
	engine := newEngine(t, Ties{})
	result, err := engine.Place(t.Context(), state, state.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range result.Pending {
		got[p.Pod.Name] = p.Nominated
	}
	if diff := cmp.Diff(map[string]string{"a-0": "w1", "a-1": "w2", "other-0": "", "other-1": ""}, got); diff != "" || len(result.Placed) > 0 {
		t.Fatalf("placed %d pods; nominated nodes (-want +got):\n%s", len(result.Placed), diff)
	}
	next := state.With(result.Changed()...)
	for _, p := range result.Preempted {
		next = next.With(p.Ending)
	}
	again, err := engine.Place(t.Context(), next, next.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Placed)+len(again.Preempted) > 0 {
		t.Fatalf("placed %v and preempted %v before the victims have ended", again.Placed, again.Preempted)
	}
	next = next.With(again.Changed()...)
	for _, p := range result.Preempted {
		next = next.Without(p.Ending)
	}
	last, err := engine.Place(t.Context(), next, next.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	want := groupOutcome{Placed: map[string]int{"w1": 1, "w2": 1}, Groups: []string{"a" + scheduled}}
	if got := groupOutcomeOf(last); !cmp.Equal(want.Placed, got.Placed) || !cmp.Equal(want.Groups, got.Groups) || len(got.Pending) != 2 {
		t.Errorf("got %v, want the gang on its nodes and the others Pending", got)
	}
}

// A gang whose pods go together is one victim. Upstream lists its pods in random order.
func TestPodGroupIsPreemptedAsOne(t *testing.T) {
	withPodGroups(t)
	group := newGang("a", 6, 1)
	group.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
	state := walkthrough().With(group).With(bindPods(members("a", 6, 1), "w1", "w1", "w2", "w2", "w3", "w3")...)
	for name, preemptor := range map[string][]cluster.Object{
		"by a pod":       {highPriorityPod("4")},
		"by a pod group": append(objects(members("b", 2, 1000)), newGang("b", 2, 1000)),
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				state := state.With(preemptor...)
				result, err := newEngine(t, Ties{}).Place(t.Context(), state, state.Unscheduled())
				if err != nil {
					t.Fatal(err)
				}
				var victims []string
				for _, p := range result.Preempted {
					victims = append(victims, p.Victim.Name+" on "+p.Node)
				}
				want := []string{"a-0 on w1", "a-1 on w1", "a-2 on w2", "a-3 on w2", "a-4 on w3", "a-5 on w3"}
				if diff := cmp.Diff(want, victims); diff != "" || len(result.Pending) > 0 {
					t.Fatalf("Pending %v; victims (-want +got):\n%s", result.Pending, diff)
				}
			}
		})
	}
}

// A group is tried as a whole, even if only one of its pods is offered.
func TestPodGroupIsTriedAsOne(t *testing.T) {
	withPodGroups(t)
	pods := members("a", 6, 0)
	state := walkthrough().With(newGang("a", 6, 0)).With(objects(pods)...)
	result, err := newEngine(t, Ties{Random: true, Seed: 3}).Place(t.Context(), state, pods[2:3])
	if err != nil {
		t.Fatal(err)
	}
	want := groupOutcome{Placed: map[string]int{"w1": 2, "w2": 2, "w3": 2}, Groups: []string{"a" + scheduled}}
	if diff := cmp.Diff(want, groupOutcomeOf(result), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The claims of a gang's pods are bound with them, each on the node of its pod.
func TestPodGroupBindsVolumes(t *testing.T) {
	withPodGroups(t)
	pods := members("a", 3, 0)
	state := walkthrough().With(newGang("a", 3, 0), class("ebs.csi.aws.com"))
	for i, pod := range pods {
		name := fmt.Sprint("data-", i)
		claims(pod, name)
		pod.Spec.NodeSelector = map[string]string{hostname: fmt.Sprint("w", i+1)}
		state = state.With(claim(name), pod)
	}
	result, err := newEngine(t, Ties{}).Place(t.Context(), state, state.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, volume := range result.Volumes.PersistentVolumes {
		got[volume.Spec.ClaimRef.Name] = volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0]
	}
	if diff := cmp.Diff(map[string]string{"data-0": "west-1a", "data-1": "west-1c", "data-2": "east-1b"}, got); diff != "" {
		t.Errorf("zones of the volumes (-want +got):\n%s", diff)
	}
}

func withPodGroups(t *testing.T) {
	t.Helper()
	setGates(t, "GenericWorkload=true")
	t.Cleanup(func() { setGates(t, "") })
}

// groupMessages returns one message for each of the pods from..to-1 of a group.
func groupMessages(group string, from, to int, message string) (lines []string) {
	for i := from; i < to; i++ {
		lines = append(lines, fmt.Sprintf("%s-%d: %s", group, i, message))
	}
	return lines
}

func bindPods(pods []*v1.Pod, nodes ...string) (all []cluster.Object) {
	for i, pod := range pods {
		all = append(all, cluster.BindPod(pod, nodes[i], cluster.Epoch.Time))
	}
	return all
}

func inNamespace(group *schedulingv1beta1.PodGroup, namespace string) *schedulingv1beta1.PodGroup {
	group.Namespace = namespace
	return group
}

func gatedPod(pod *v1.Pod) *v1.Pod {
	pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
	return pod
}

// Each pod of a gang that waits says what keeps the gang waiting.
func TestPodGroupSaysWhoKeepsItWaiting(t *testing.T) {
	withPodGroups(t)
	state := walkthrough().With(newGang("a", 4, 0)).With(bindPods(members("x", 4, 0), "w1", "w1", "w2", "w2")...).With(objects(members("a", 4, 0))...)
	result, err := newEngine(t, Ties{}).Place(t.Context(), state, state.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	want := &placement.Group{Name: "a", MinCount: 4, Waiting: []placement.GroupMember{
		{Name: "a-0", Node: "w3"}, {Name: "a-1", Node: "w3"}, {Name: "a-2", Message: noCPU}, {Name: "a-3"},
	}}
	for _, pending := range result.Pending {
		if diff := cmp.Diff(want, pending.Group); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pending.Pod.Name, diff)
		}
	}
	if len(result.Pending) != 4 {
		t.Errorf("%d pods are Pending, want 4", len(result.Pending))
	}
}
