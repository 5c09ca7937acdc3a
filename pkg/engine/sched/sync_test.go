package sched

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// A rejection is repeated as long as nothing changes that the scheduler reads, and no longer.
func TestARejectionHoldsUntilSomethingChanges(t *testing.T) {
	named := metav1.ObjectMeta{Namespace: "default", Name: "other"}
	set, pods := replicas("web", 2, nil)
	for _, pod := range pods {
		request(pod, "100")
	}
	on := running(pod("on", "1", 0), "w1")
	state := walkthrough().With(set, on, pods[0], pods[1])
	counted, selecting := *set, *set
	counted.Status.Replicas = 2
	selecting.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "more": ""}}
	tainted := *state.Nodes[0]
	tainted.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
	labelled := *on
	labelled.Labels = map[string]string{"app": "web"}
	later := *state
	later.Now = metav1.NewTime(state.Now.Add(1e9))
	for name, test := range map[string]struct {
		next  *cluster.State
		pods  []*v1.Pod
		holds bool
	}{
		"nothing":                   {state, pods, true},
		"the time":                  {&later, pods, true},
		"what a ReplicaSet counts":  {state.With(&counted), pods, true},
		"the queue":                 {state, pods[:1], false},
		"its order":                 {state, []*v1.Pod{pods[1], pods[0]}, false},
		"what a ReplicaSet selects": {state.With(&selecting), pods, false},
		"a node":                    {state.With(&tainted), pods, false},
		"a pod on a node":           {state.With(&labelled), pods, false},
		"a pod that is gone":        {state.Without(on), pods, false},
		"a new pod":                 {state.With(running(pod("more", "1", 0), "w1")), pods, false},
		"a ReplicaSet that is gone": {state.Without(set), pods, false},
		"a namespace":               {state.With(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}), pods, false},
		"a Service":                 {state.With(&v1.Service{ObjectMeta: named}), pods, false},
		"a StatefulSet":             {state.With(&appsv1.StatefulSet{ObjectMeta: named}), pods, false},
		"a PodDisruptionBudget":     {state.With(&policyv1.PodDisruptionBudget{ObjectMeta: named}), pods, false},
		"a PersistentVolume":        {state.With(&v1.PersistentVolume{ObjectMeta: named}), pods, false},
		"a PersistentVolumeClaim":   {state.With(&v1.PersistentVolumeClaim{ObjectMeta: named}), pods, false},
		"a StorageClass":            {state.With(&storagev1.StorageClass{ObjectMeta: named}), pods, false},
		"a CSINode":                 {state.With(&storagev1.CSINode{ObjectMeta: named}), pods, false},
	} {
		engine := newEngine(t, Ties{})
		first, err := engine.Place(t.Context(), state, pods)
		if err != nil || len(first.Pending) != 2 {
			t.Fatal(err, first)
		}
		if err := engine.sync(test.next); err != nil {
			t.Fatal(err)
		}
		if _, holds := engine.repeatUnplaced(test.pods); holds != test.holds {
			t.Errorf("%s: the rejection holds: %v, want %v", name, holds, test.holds)
		}
	}
}

// A pod that leaves a node takes its host port along, and not that of a pod that comes with the same port at the same moment, whatever their names.
func TestHostPortOfAPodThatComesAsAnotherLeaves(t *testing.T) {
	onPort := func(name string) *v1.Pod {
		p := pod(name, "1", 0)
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 443, HostPort: 443, Protocol: v1.ProtocolTCP}}
		return p
	}
	waits := onPort("c")
	waits.Spec.NodeSelector = map[string]string{v1.LabelHostname: "w1"}
	engine := newEngine(t, Ties{})
	for i, state := range []*cluster.State{
		walkthrough().With(running(onPort("a"), "w1")),
		walkthrough().With(running(onPort("b"), "w1")),                                 // a is gone
		walkthrough().With(running(onPort("a"), "w1"), running(onPort("b"), "w2")),     // b has moved
		walkthrough().With(running(onPort("b"), "w1"), running(onPort("later"), "w2")), // a is gone
	} {
		result, err := engine.Place(t.Context(), state.With(waits), []*v1.Pod{waits})
		if err != nil || len(result.Pending) != 1 {
			t.Errorf("state %d: %d placed, error %v; a pod on w1 has the port", i, len(result.Placed), err)
		}
	}
}

// An engine answers like a new one after it has placed pods, whether its decisions were adopted or not, while pods and nodes came, went and
// changed, or the cluster returned to an earlier state.
func TestAUsedEngineAnswersLikeANewOne(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 0))
		engine := newEngine(t, Ties{})
		set, pods := replicas("web", 12, soft("web", map[string]int32{hostname: 1}, hostname))
		for i, pod := range pods {
			request(pod, []string{"1", "3", "100"}[i%3])
			pod.Spec.Priority = new(int32(i % 2 * 1000))
		}
		state := walkthrough().With(set)
		states := []*cluster.State{state}
		for step := range 25 {
			one := pods[r.IntN(len(pods))]
			switch r.IntN(6) {
			case 0:
				state = states[r.IntN(len(states))]
			case 1:
				state = state.Without(one)
			case 2:
				node := *state.Nodes[r.IntN(len(state.Nodes))]
				node.Spec.Taints = nil
				if r.IntN(2) == 0 {
					node.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
				}
				state = state.With(&node)
			case 3:
				ended := *one
				ended.Spec.NodeName, ended.Status.Phase = state.Nodes[0].Name, []v1.PodPhase{v1.PodRunning, v1.PodSucceeded}[r.IntN(2)]
				state = state.With(&ended)
			default:
				state = state.With(one, pods[r.IntN(len(pods))])
			}
			fresh := newEngine(t, Ties{})
			fresh.Return(engine.Mark())
			queue := state.Unscheduled()
			want, err := fresh.Place(t.Context(), state, queue)
			if err != nil {
				t.Fatal(err)
			}
			got, err := engine.Place(t.Context(), state, queue)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(outcome(want), outcome(got)); diff != "" {
				t.Fatalf("seed %d, step %d (-new +used)\n%s", seed, step, diff)
			}
			for i := range want.Pending {
				if diff := cmp.Diff(want.Pending[i].Message, got.Pending[i].Message); diff != "" {
					t.Fatalf("seed %d, step %d: why %s waits (-new +used)\n%s", seed, step, want.Pending[i].Pod.Name, diff)
				}
			}
			if diff := cmp.Diff(fmt.Sprint(fresh.Mark()), fmt.Sprint(engine.Mark())); diff != "" {
				t.Fatalf("seed %d, step %d: the next search (-new +used)\n%s", seed, step, diff)
			}
			if r.IntN(3) > 0 {
				state = state.With(got.Changed()...)
				for _, preemption := range got.Preempted {
					state = state.Without(preemption.Victim)
				}
			}
			states = append(states, state)
		}
	}
}

// A rejection does not hold if the next answer could differ for a reason that is not a change of the cluster.
func TestARejectionThatIsNotGivenAgain(t *testing.T) {
	large, other := pod("large", "100", 0), pod("other", "100", 0)
	vain, one := nominated(pod("vain", "100", 0), "w1"), pod("one", "100", 0)
	one.Spec.Affinity = onlyOn("w1")
	recorded := func(e *Engine) { e.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{} } }
	for name, test := range map[string]struct {
		ties         Ties
		first, again []*v1.Pod
		between      func(*Engine)
	}{
		"chance decides":                      {Ties{Random: true}, []*v1.Pod{large}, []*v1.Pod{large}, nil},
		"the cycle is recorded":               {Ties{}, []*v1.Pod{large}, []*v1.Pod{large}, recorded},
		"the search begins elsewhere":         {Ties{}, []*v1.Pod{large}, []*v1.Pod{large}, func(e *Engine) { e.StartAt(1) }},
		"a search of some nodes moves on":     {Ties{}, []*v1.Pod{one}, []*v1.Pod{one}, nil},
		"a reservation was taken back before": {Ties{}, []*v1.Pod{vain, other}, []*v1.Pod{other}, nil},
	} {
		engine := newEngine(t, test.ties)
		state := walkthrough()
		for _, pod := range test.first {
			state = state.With(pod)
		}
		if _, err := engine.Place(t.Context(), state, test.first); err != nil {
			t.Fatal(err)
		}
		if test.between != nil {
			test.between(engine)
		}
		if _, holds := engine.repeatUnplaced(test.again); holds {
			t.Errorf("%s: the rejection is given again", name)
		}
	}
}

// With another seed, pods with whole seconds in a dump get other start times, so the cache must replace them although the state is the
// same.
func TestTheSameStateWithOtherTies(t *testing.T) {
	urgent := highPriorityPod("4")
	state := fullCluster(t).With(urgent)
	engine := newEngine(t, Ties{Random: true, Seed: 1})
	if _, err := engine.Place(t.Context(), state, nil); err != nil {
		t.Fatal(err)
	}
	if err := engine.ResetTo(Ties{Random: true, Seed: 2}); err != nil {
		t.Fatal(err)
	}
	got, err := engine.Place(t.Context(), state, []*v1.Pod{urgent})
	if err != nil || len(got.Preempted) == 0 {
		t.Errorf("%d pods make room, error %v; want one at least", len(got.Preempted), err)
	}
}
