package sched

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// Clusters are full, and rules between pods keep pods away even from nodes that preemption would empty. These pods are tried again and
// again, while pods come and go elsewhere, and budgets allow more or fewer evictions. The answers that an engine keeps about these nodes,
// and about the victims on other nodes, equal a plain engine's dry runs.
func TestPlainPreemption(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(60) {
		samePreemption(t, seed, seen)
	}
	for _, what := range []string{"preempted", "kept of " + names.PodTopologySpread, "kept of " + names.InterPodAffinity, "kept of " + names.NodeResourcesFit} {
		if seen[what] < 20 {
			t.Errorf("the worlds show little of %q: %v", what, seen)
		}
	}
}

func samePreemption(t *testing.T, seed uint64, seen map[string]int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	state := &cluster.State{Now: cluster.Epoch, TerminationSeconds: int64(r.IntN(2))}
	for i := range 6 {
		worker := node(fmt.Sprint("w", i), map[string]string{zone: fmt.Sprint("z", i%3)})
		worker.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("6")
		state = state.With(worker)
	}
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	spread := []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: zone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: web}}
	apart := &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		LabelSelector: web, TopologyKey: []string{hostname, zone}[r.IntN(2)],
	}}}}
	made := 0
	pods := func(app string, n int, priority int32, cpu string, change func(*v1.PodSpec)) []*v1.Pod {
		set, all := replicas(app, n, nil)
		state = state.With(set)
		for _, pod := range all {
			made++
			pod.Name = fmt.Sprintf("%s-%d", app, made)
			pod.UID = types.UID(pod.Name)
			pod.Spec.Priority = &priority
			pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse(cpu)
			change(&pod.Spec)
		}
		return all
	}
	var waiting []*v1.Pod
	order := r.Perm(4) // which of them is tried last
	for i, change := range []func(*v1.PodSpec){
		func(s *v1.PodSpec) { s.TopologySpreadConstraints = spread },
		func(s *v1.PodSpec) { s.Affinity = apart },
		func(s *v1.PodSpec) { s.Affinity, s.TopologySpreadConstraints = apart, spread },
		func(*v1.PodSpec) {},
	} {
		waiting = append(waiting, pods([]string{"web", "apart", "web", "large"}[i], 3, int32(5+order[i]), []string{"1", "1", "2", "4"}[i], change)...)
	}
	for _, pod := range waiting {
		state = state.With(pod)
	}
	config, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	ties := Ties{Random: r.IntN(2) == 0, Seed: seed}
	var engines [2]*Engine
	for i, config := range []*Config{config.Plain(), config} {
		if engines[i], err = NewEngine(config, ties); err != nil {
			t.Fatal(err)
		}
		defer engines[i].Close()
	}
	for step := range 12 {
		for range r.IntN(4) { // pods that run come, of either priority and label
			app := []string{"filler", "web"}[r.IntN(2)]
			for _, pod := range pods(app, 1, int32(r.IntN(4)/3*15), "2", func(*v1.PodSpec) {}) {
				state = state.With(cluster.BindPod(pod, fmt.Sprint("w", r.IntN(6)), cluster.Epoch.Add(time.Duration(made)))) // among pods that started at the same time, upstream chooses by chance
			}
		}
		for _, app := range []string{"filler", "web"} {
			if r.IntN(3) == 0 {
				state = state.With(allowing(app, r.Int32N(3)))
			}
		}
		var left, running []*v1.Pod
		for _, pod := range state.Pods {
			if pod.Spec.NodeName == "" {
				left = append(left, pod)
			} else {
				running = append(running, pod)
			}
		}
		if len(running) > 0 && r.IntN(2) == 0 { // one goes
			state = state.Without(running[r.IntN(len(running))])
		}
		var results [2]*placement.Result
		for i, engine := range engines {
			if results[i], err = engine.Place(t.Context(), state, left); err != nil {
				t.Fatalf("world %d, step %d: %v", seed, step, err)
			}
		}
		if diff := diffResults(results[0], results[1]); diff != "" {
			t.Fatalf("world %d, step %d (-plain +kept):\n%s", seed, step, diff)
		}
		seen["preempted"] += len(results[1].Preempted)
		kept := engines[1].profiles[v1.DefaultSchedulerName].memo()
		for i := range 6 {
			if status := kept.EmptiedStatus(i); status != nil {
				seen["kept of "+status.Plugin()]++
			}
		}
		state = stateAfter(state, results[1])
	}
}

// allowing returns a budget of the app's pods that allows so many disruptions.
func allowing(app string, disruptions int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: disruptions},
	}
}

// Two pods preempt one after the other. What is known of the pods on the nodes no longer holds for the second when another pod runs there, or
// when a budget no longer allows to evict one.
func TestPlainVictims(t *testing.T) {
	standard, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	low := func(name, node string, second int) *v1.Pod {
		return cluster.BindPod(labelled(pod(name, "4", 1), "app", name), node, cluster.Epoch.Add(time.Duration(second)*time.Second))
	}
	base := (&cluster.State{Now: cluster.Epoch}).With(node("a", nil), node("b", nil), low("b1", "b", 1), low("b2", "b", 2), low("a1", "a", 3), low("a2", "a", 4), allowing("a2", 1))
	for name, c := range map[string]struct {
		change func(*cluster.State) *cluster.State
		want   string // the victim of the second pod
	}{
		"nothing":           {func(s *cluster.State) *cluster.State { return s }, "a2"},
		"a budget":          {func(s *cluster.State) *cluster.State { return s.With(allowing("a2", 0)) }, "a1"},
		"a pod comes":       {func(s *cluster.State) *cluster.State { return s.Without(low("a2", "a", 4)).With(low("a3", "a", 5)) }, "a3"},
		"its victims leave": {func(s *cluster.State) *cluster.State { return s.Without(low("a1", "a", 3), low("a2", "a", 4)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, config := range []*Config{standard.Plain(), standard} {
				engine, err := NewEngine(config, Ties{})
				if err != nil {
					t.Fatal(err)
				}
				defer engine.Close()
				for i, state := range []*cluster.State{base, c.change(base)} {
					_, pods := replicas("high", 2, nil)
					pods[i].Spec.Priority = new(int32(20))
					request(pods[i], "4")
					result, err := engine.Place(t.Context(), state.With(pods[i]), []*v1.Pod{pods[i]})
					if err != nil {
						t.Fatal(err)
					}
					var got string
					for _, p := range result.Preempted {
						got += p.Victim.Name
					}
					if i == 1 && got != c.want {
						t.Errorf("%s preempts %q, want %q", pods[i].Name, got, c.want)
					}
				}
			}
		})
	}
}

// A node is nominated first for a large pod and then for a small one, and nothing else changes. A pod with a lower priority, for which
// there was no room beside the large pod, then gets a node.
func TestPlainReservations(t *testing.T) {
	standard, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	leaving := ending(pod("leaving", "4", 0), "n")
	leaving.Labels = map[string]string{"app": "leaving"}
	reserving := func(name, cpu string) *v1.Pod {
		pod := nominated(pod(name, cpu, 10), "n")
		pod.Spec.Affinity = hard("leaving", hostname) // so that it waits
		return pod
	}
	for name, c := range map[string]struct {
		first, next *v1.Pod
		want        string
	}{
		"a smaller one":  {reserving("large", "3"), reserving("small", "1"), "n"},
		"one as large":   {reserving("large", "3"), reserving("other", "3"), "pending "},
		"the same":       {reserving("large", "3"), reserving("large", "3"), "pending "},
		"one more":       {reserving("small", "1"), reserving("large", "3"), "pending "},
		"its new labels": {reserving("large", "3"), labelled(reserving("large", "3"), "app", "new"), "pending "},
	} {
		t.Run(name, func(t *testing.T) {
			var all [2]map[string]string
			for i, config := range []*Config{standard.Plain(), standard} {
				engine, err := NewEngine(config, Ties{})
				if err != nil {
					t.Fatal(err)
				}
				defer engine.Close()
				state := &cluster.State{Now: cluster.Epoch}
				state = state.With(node("n", nil), leaving, c.first, pod("waits", "2", 0))
				for _, next := range []*cluster.State{state, state.Without(c.first).With(c.next), state.Without(c.first).With(c.next)} {
					result, err := engine.Place(t.Context(), next, next.Unscheduled())
					if err != nil {
						t.Fatal(err)
					}
					all[i] = outcome(result)
				}
			}
			if all[0]["waits"] != c.want || all[1]["waits"] != c.want {
				t.Errorf("the pod that waits: plain %q, kept %q, want %q", all[0]["waits"], all[1]["waits"], c.want)
			}
		})
	}
}

func labelled(pod *v1.Pod, key, value string) *v1.Pod {
	pod.Labels = map[string]string{key: value}
	return pod
}
