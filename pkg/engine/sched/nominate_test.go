package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// pod returns a pod that requests whole CPUs and has no controller.
func pod(name, cpu string, priority int32) *v1.Pod {
	_, pods := replicas(name, 1, nil)
	pods[0].Name, pods[0].OwnerReferences = name, nil
	pods[0].Spec.Priority = &priority
	request(pods[0], cpu)
	return pods[0]
}

// nominated returns the pod as in a dump after preemption nominated a node for it.
func nominated(pod *v1.Pod, node string) *v1.Pod {
	pod.Status = v1.PodStatus{Phase: v1.PodPending, NominatedNodeName: node}
	return pod
}

func running(pod *v1.Pod, node string) *v1.Pod { return cluster.BindPod(pod, node, cluster.Epoch.Time) }

// ending returns a victim that is Terminating, as preemption marks it.
func ending(pod *v1.Pod, node string) *v1.Pod {
	victim := running(pod, node)
	victim.DeletionTimestamp = &cluster.Epoch
	victim.Status.Conditions = append(victim.Status.Conditions, v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler,
	})
	return victim
}

// outcome returns each pod's node or, if it waits, its nominated node.
func outcome(result *placement.Result) map[string]string {
	found := map[string]string{}
	for _, p := range result.Placed {
		found[p.Pod.Name] = p.Node
	}
	for _, p := range result.Pending {
		found[p.Pod.Name] = "pending " + p.Nominated
	}
	return found
}

// On a node of 8 CPUs, a pod of 4 ends to make room for a pod of 6. A pod of 3 would fit next to the ending pod, but not next to the pod of
// 6, for which the node is nominated, and which gets the node once the victim is gone.
func TestAReservedNodeIsKept(t *testing.T) {
	victim := ending(pod("victim", "4", 1), "n")
	waits, small := nominated(pod("waits", "6", 1000), "n"), pod("small", "3", 0)
	engine := newEngine(t, Ties{})
	state := (&cluster.State{Now: cluster.Epoch}).With(node("n", nil), victim, small, waits)
	for range 2 { // the second time from what the engine has kept
		result, err := engine.Place(t.Context(), state, state.Unscheduled())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"waits": "pending n", "small": "pending "}, outcome(result)); diff != "" {
			t.Fatalf("while the victim ends (-want +got):\n%s", diff)
		}
		if len(result.Nominated) != 0 {
			t.Errorf("%d reservations have changed, want none", len(result.Nominated))
		}
	}
	state = state.Without(victim)
	result, err := engine.Place(t.Context(), state, state.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"waits": "n", "small": "pending "}, outcome(result)); diff != "" {
		t.Errorf("once it is gone (-want +got):\n%s", diff)
	}
}

// Two pods have the same priority. The first to arrive needs 3 of 8 CPUs, but leaves the node to the pod of 6 for which it is nominated.
// Without a nomination, the first pod takes the node.
func TestAReservedNodeIsKeptFromEquals(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"n": {"waits": "n", "first": "pending "},
		"":  {"waits": "pending ", "first": "n"},
	} {
		first, waits := pod("first", "3", 0), nominated(pod("waits", "6", 0), name)
		state := (&cluster.State{Now: cluster.Epoch}).With(node("n", nil), first, waits)
		result, err := newEngine(t, Ties{}).Place(t.Context(), state, state.Unscheduled())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, outcome(result)); diff != "" {
			t.Errorf("reserved %q (-want +got):\n%s", name, diff)
		}
	}
}

// A pod of 9 CPUs fits nowhere, so its nomination is useless. It is cleared, which the next state shows, and the pod that was rejected
// before is placed.
func TestAVainReservationIsTakenBack(t *testing.T) {
	first, hopeless := pod("first", "3", 0), nominated(pod("hopeless", "9", 0), "n")
	state := (&cluster.State{Now: cluster.Epoch}).With(node("n", nil), first, hopeless)
	result, err := newEngine(t, Ties{}).Place(t.Context(), state, state.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"hopeless": "pending ", "first": "n"}, outcome(result)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, pod := range state.With(result.Changed()...).Pods {
		if pod.Status.NominatedNodeName != "" {
			t.Errorf("%s still has node %s reserved", pod.Name, pod.Status.NominatedNodeName)
		}
	}
}

// There are two nodes of 8 CPUs: a has a pod of 8 that can be preempted, b a pod of 3 that cannot. The pod of 6 preempts on a, which was
// nominated for the pod of 2. The pod of 2 must now look for a node like any other, and b, with 5 of 8 CPUs free, is emptier than a with 2.
func TestPreemptionTakesAReservationBack(t *testing.T) {
	state := (&cluster.State{Now: cluster.Epoch}).With(node("a", nil), node("b", nil),
		running(pod("low", "8", 1), "a"), running(pod("firm", "3", 2000), "b"),
		nominated(pod("second", "2", 10), "a"), pod("urgent", "6", 1000))
	result, err := newEngine(t, Ties{}).Place(t.Context(), state, state.Unscheduled())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"urgent": "a", "second": "b"}, outcome(result)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(result.Preempted) != 1 || result.Preempted[0].Victim.Name != "low" {
		t.Errorf("preempted %v, want low", result.Preempted)
	}
}
