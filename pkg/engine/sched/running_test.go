package sched

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// A pod of the app "old" runs on w1 and keeps another pod away from there. Once the running pod has changed, the same engine has all three
// workers for the next pod.
func TestChangesOfARunningPodAreSeen(t *testing.T) {
	spread := []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: hostname, WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "old"}},
	}}
	for name, test := range map[string]struct {
		old, next func(*v1.Pod)
		change    func(*v1.Pod)
	}{
		// Next to one pod on w1 and none elsewhere a second one would make a skew of 2; a Terminating pod does not count.
		"it is deleted": {
			next: func(pod *v1.Pod) {
				pod.Labels, pod.Spec.TopologySpreadConstraints = map[string]string{"app": "old"}, spread
			},
			change: func(pod *v1.Pod) { pod.DeletionTimestamp = &cluster.Epoch },
		},
		"it is resized": { // from 5 CPUs of 8 to 4, next to which 4 fit
			old:    func(pod *v1.Pod) { request(pod, "5") },
			next:   func(pod *v1.Pod) { request(pod, "4") },
			change: func(pod *v1.Pod) { request(pod, "4") },
		},
		"it is resized as a whole": {
			old:    func(pod *v1.Pod) { resize(pod, "5") },
			next:   func(pod *v1.Pod) { request(pod, "4") },
			change: func(pod *v1.Pod) { resize(pod, "4") },
		},
		"its rule goes": {
			old:    func(pod *v1.Pod) { pod.Spec.Affinity = hard("next", hostname) },
			change: func(pod *v1.Pod) { pod.Spec.Affinity = nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, olds := replicas("old", 1, nil)
			_, nexts := replicas("next", 1, nil)
			old, next := olds[0], nexts[0]
			old.OwnerReferences, next.OwnerReferences = nil, nil
			if test.old != nil {
				test.old(old)
			}
			if test.next != nil {
				test.next(next)
			}
			old = running(old, "w1")
			changed := old.DeepCopy()
			test.change(changed)
			engine := newEngine(t, Ties{})
			for want, running := range []*v1.Pod{2: old, 3: changed} {
				if running == nil {
					continue
				}
				result, err := engine.Place(t.Context(), walkthrough().With(running, next), []*v1.Pod{next})
				if err != nil {
					t.Fatal(err)
				}
				if got := result.Placed[0].Feasible; got != want {
					t.Errorf("%d nodes are feasible, want %d", got, want)
				}
			}
		})
	}
}

func resize(pod *v1.Pod, cpu string) {
	sized := pod.DeepCopy()
	request(sized, cpu)
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: sized.Spec.Containers[0].Resources.Requests}
}

// A pod was deleted, and another pod of the same name runs in its place: the new pod is preempted.
func TestAPodOfTheSameNameIsAnother(t *testing.T) {
	first := running(pod("low", "8", 1), "n")
	second := first.DeepCopy()
	second.UID = "second"
	urgent := highPriorityPod("8")
	engine := newEngine(t, Ties{})
	empty := (&cluster.State{Now: cluster.Epoch}).With(node("n", nil))
	if _, err := engine.Place(t.Context(), empty.With(first), nil); err != nil {
		t.Fatal(err)
	}
	result, err := engine.Place(t.Context(), empty.With(second, urgent), []*v1.Pod{urgent})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Preempted) != 1 || result.Preempted[0].Victim.UID != "second" {
		t.Errorf("preempted %v, want the second pod named low", result.Preempted)
	}
}

// Six pods of 4 CPUs come to three workers of 8, in turn, and all start in one second: low-5 is the last, on w3. It is always the victim of
// a pod of 4 CPUs: preemption spares the pods that started earlier.
func TestPodsOfOneSecondStartInTheirOrder(t *testing.T) {
	for range 20 { // upstream decides equals by the order of a map
		set, low := replicas("low", 6, nil)
		state := walkthrough().With(set)
		for _, pod := range low {
			request(pod, "4")
			pod.Spec.Priority = new(int32)
			state = state.With(pod)
		}
		engine := newEngine(t, Ties{})
		placed, err := engine.Place(t.Context(), state, low)
		if err != nil {
			t.Fatal(err)
		}
		urgent := highPriorityPod("4")
		state = state.With(placed.Changed()...).With(urgent)
		result, err := engine.Place(t.Context(), state, []*v1.Pod{urgent})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Preempted) != 1 || result.Preempted[0].Victim.Name != "low-5" || result.Preempted[0].Node != "w3" {
			t.Fatalf("preempted %v, want low-5 on w3", result.Preempted)
		}
	}
}

// Two outcomes of one run can have the same pod on different nodes, and one engine gets both: w1 is full in the first, and free in the
// second.
func TestThePodOfAnotherOutcomeIsElsewhere(t *testing.T) {
	old, next := pod("old", "8", 0), pod("next", "8", 0)
	next.Spec.NodeSelector = map[string]string{hostname: "w1"}
	engine := newEngine(t, Ties{})
	for _, test := range []struct{ node, want string }{{"w1", "pending "}, {"w2", "w1"}} {
		result, err := engine.Place(t.Context(), walkthrough().With(running(old, test.node), next), []*v1.Pod{next})
		if err != nil {
			t.Fatal(err)
		}
		if got := outcome(result)["next"]; got != test.want {
			t.Errorf("with the old pod on %s the next one is on %q, want %q", test.node, got, test.want)
		}
	}
}
