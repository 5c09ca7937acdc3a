package sched

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// fullCluster returns a cluster of three workers of 8 CPUs, each with two running pods of 4 CPUs and priority 1.
func fullCluster(t *testing.T) *cluster.State {
	t.Helper()
	set, pods := replicas("low", 6, nil)
	priority := int32(1)
	state := walkthrough().With(set)
	for i, pod := range pods {
		pod.Spec.Priority = &priority
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}
		state = state.With(cluster.BindPod(pod, fmt.Sprintf("w%d", i/2+1), cluster.Epoch.Time))
	}
	return state
}

func highPriorityPod(cpu string) (pod *v1.Pod) {
	_, pods := replicas("high", 1, nil)
	priority := int32(1000)
	pods[0].Spec.Priority = &priority
	pods[0].Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
	pods[0].OwnerReferences = nil
	return pods[0]
}

// One victim is enough on any node. Among nodes that cost the same, upstream takes the one whose victim started last. The pods started in
// the order w1, w1, w2, w2, w3, w3, and on each node the first to start is spared: low-5 on w3 goes.
func TestPreemptionTakesTheLeastNeeded(t *testing.T) {
	for range 20 { // upstream picks the node by way of a map
		pod := highPriorityPod("4")
		state := fullCluster(t).With(pod)
		result, err := newEngine(t, Ties{}).Place(t.Context(), state, []*v1.Pod{pod})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Placed) != 1 || result.Placed[0].Node != "w3" {
			t.Fatalf("placed %v, want one pod on w3", result.Placed)
		}
		var got []string
		for _, preemption := range result.Preempted {
			got = append(got, preemption.Victim.Name+" for "+preemption.For.Name+" on "+preemption.Node)
		}
		if diff := cmp.Diff([]string{"low-5 for high-0 on w3"}, got); diff != "" {
			t.Fatalf("preempted (-want +got):\n%s", diff)
		}
	}
}

// Each node has a pod of 4 CPUs that can be preempted and one that cannot, so a pod of 6 CPUs fits on no node of 8. The nodes' answers are
// kept until the nodes change: a node that grows to 12 CPUs has room once one pod is preempted.
func TestNodesThatNoVictimHelpsAreAskedOnce(t *testing.T) {
	pod := highPriorityPod("6")
	state := fullCluster(t).With(pod)
	for i, running := range fullCluster(t).Pods {
		if i%2 == 0 {
			stays := running.DeepCopy()
			stays.Spec.Priority = pod.Spec.Priority
			state = state.With(stays)
		}
	}
	engine := newEngine(t, Ties{})
	result, err := engine.Place(t.Context(), state, []*v1.Pod{pod})
	if err != nil {
		t.Fatal(err)
	}
	kept := engine.profiles[v1.DefaultSchedulerName].memo()
	for _, node := range []string{"w1", "w2", "w3"} {
		if status := kept.EmptiedStatus(engine.memo.Slot(node)); len(result.Pending) != 1 || status.Message() != "Insufficient cpu" {
			t.Errorf("Pending %v; without pods that may go, %s says %q, want Insufficient cpu", result.Pending, node, status.Message())
		}
	}
	grown := state.NodesByName()["w1"].DeepCopy()
	grown.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("12")
	if result, err = engine.Place(t.Context(), state.With(grown), []*v1.Pod{pod}); err != nil {
		t.Fatal(err)
	}
	if len(result.Placed) != 1 || result.Placed[0].Node != "w1" || len(result.Preempted) != 1 || result.Preempted[0].Victim.Name != "low-1" {
		t.Errorf("placed %v, preempted %v; want the pod on w1 for low-1", result.Placed, result.Preempted)
	}
}

// If pods take time to end, the victim keeps its resources meanwhile, and the preemptor waits with its node nominated. When the victim is
// gone, the preemptor gets the node, and not another pod that came first.
func TestPreemptorWaitsForItsVictim(t *testing.T) {
	pod := highPriorityPod("4")
	state := *fullCluster(t).With(pod)
	state.TerminationSeconds = 1
	engine := newEngine(t, Ties{})
	result, err := engine.Place(t.Context(), &state, []*v1.Pod{pod})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Placed) != 0 || len(result.Pending) != 1 || result.Pending[0].Nominated != "w3" || len(result.Preempted) != 1 {
		t.Fatalf("placed %v, Pending %v, preempted %v; want the pod to wait for w3", result.Placed, result.Pending, result.Preempted)
	}
	victim := result.Preempted[0].Ending
	if victim == nil || victim.DeletionTimestamp.Sub(state.Now.Time) != time.Second {
		t.Fatalf("the victim is %v, want it Terminating for a second", victim)
	}
	next := *state.With(result.Changed()...).With(victim)
	again, err := engine.Place(t.Context(), &next, next.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Placed) != 0 || len(again.Preempted) != 0 || again.Pending[0].Nominated != "w3" {
		t.Errorf("while the victim ends: placed %v, preempted %v", again.Placed, again.Preempted)
	}
	late := highPriorityPod("4")
	late.Name, late.UID, late.Spec.Priority = "late", "late", new(int32)
	gone := next.Without(victim).With(late)
	last, err := engine.Place(t.Context(), gone, append([]*v1.Pod{late}, next.Unscheduled()...))
	if err != nil {
		t.Fatal(err)
	}
	if len(last.Placed) != 1 || last.Placed[0].Pod.Name != pod.Name || last.Placed[0].Node != "w3" {
		t.Errorf("when it is gone: placed %v, want %s on w3", last.Placed, pod.Name)
	}
}

// A budget that allows no disruption makes its pods victims of last resort. It selects the pods of w3.
func TestPreemptionSparesGuardedPods(t *testing.T) {
	state := fullCluster(t)
	for _, pod := range state.Pods[4:] {
		guarded := pod.DeepCopy()
		guarded.Labels = map[string]string{"app": "low", "guarded": "true"}
		state = state.With(guarded)
	}
	state = state.With(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guard", Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"guarded": "true"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 0},
	})
	pod := highPriorityPod("8")
	result, err := newEngine(t, Ties{}).Place(t.Context(), state.With(pod), []*v1.Pod{pod})
	if err != nil {
		t.Fatal(err)
	}
	if node := result.Placed[0].Node; node != "w2" || len(result.Preempted) != 2 {
		t.Errorf("placed on %s with %d victims, want w2 and 2", node, len(result.Preempted))
	}
}

func TestSeedsReachEveryVictim(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(80) {
		pod := highPriorityPod("4")
		result, err := newEngine(t, Ties{Random: true, Seed: seed}).Place(t.Context(), fullCluster(t).With(pod), []*v1.Pod{pod})
		if err != nil {
			t.Fatal(err)
		}
		seen[result.Preempted[0].Victim.Name]++
	}
	for i := range 6 {
		if name := fmt.Sprintf("low-%d", i); seen[name] == 0 {
			t.Errorf("no seed of 80 preempts %s: %v", name, seen)
		}
	}
}

// The engine undoes its own changes if the next state does not have them.
func TestTheStateHasTheLastWord(t *testing.T) {
	engine := newEngine(t, Ties{})
	state := fullCluster(t)
	pod := highPriorityPod("8")
	for range 3 {
		result, err := engine.Place(t.Context(), state.With(pod), []*v1.Pod{pod})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Placed) != 1 || len(result.Preempted) != 2 {
			t.Fatalf("%d placed and %d preempted, want 1 and 2 each time", len(result.Placed), len(result.Preempted))
		}
	}
}

func TestGatedPodWaits(t *testing.T) {
	set, pods := replicas("web", 1, nil)
	pods[0].Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/quota"}}
	result := place(t, Ties{}, walkthrough(), set, pods)
	if len(result.Pending) != 1 || result.Pending[0].Message != placement.Gated {
		t.Errorf("pending %+v, want the pod with its gate", result.Pending)
	}
}

// Pods of two runs can have the same names and UIDs, but other start times. An engine that has seen one run answers for the other as a new
// engine does: it preempts the pod that started last.
func TestVictimsOfAnotherCourse(t *testing.T) {
	pod := highPriorityPod("4")
	starts := func(last string) *cluster.State {
		state := fullCluster(t)
		for i, low := range state.Pods {
			started := *low
			second := i
			if low.Name == last {
				second = 100
			}
			at := metav1.NewTime(cluster.Epoch.Add(time.Duration(second)*time.Second + 1))
			started.Status.StartTime = &at
			state = state.With(&started)
		}
		return state.With(pod)
	}
	engine := newEngine(t, Ties{})
	for _, last := range []string{"low-0", "low-3", "low-0"} {
		result, err := engine.Place(t.Context(), starts(last), []*v1.Pod{pod})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Preempted) != 1 || result.Preempted[0].Victim.Name != last {
			t.Errorf("%s started last, and %v goes", last, result.Preempted)
		}
	}
}
