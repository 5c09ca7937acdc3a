package sched

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// perfCase is a case of upstream's scheduler_perf, under the same name and with its shape:
// https://github.com/kubernetes/kubernetes/tree/v1.37.1/test/integration/scheduler_perf
type perfCase struct {
	name string
	// init and measured modify the initial and the timed pods.
	init, measured func(*v1.Pod)
	zones          int // number of zones; 0: no zone label
}

var perfCases = []perfCase{
	{name: "SchedulingBasic"},
	{name: "SchedulingPodAntiAffinity", init: antiAffinity, measured: antiAffinity},
	{name: "SchedulingPodMatchingAntiAffinity", init: antiAffinity, measured: label("color", "green")},
	{name: "SchedulingPodAffinity", init: affinity, measured: affinity, zones: 1},
	{name: "SchedulingPreferredPodAffinity", init: preferring, measured: preferring},
	{name: "SchedulingPreferredPodAntiAffinity", init: avoiding, measured: avoiding},
	{name: "TopologySpreading", measured: spreading(v1.DoNotSchedule), zones: 3},
	{name: "PreferredTopologySpreading", measured: spreading(v1.ScheduleAnyway), zones: 3},
}

// sizes are the numbers of nodes, initial pods and timed pods. scheduler_perf has no size of 1,000 nodes, but users' clusters do.
var sizes = []struct{ nodes, init, measured int }{
	{500, 100, 400},
	{1000, 200, 800},
	{5000, 1000, 2000},
}

func BenchmarkPlace(b *testing.B) {
	for _, c := range perfCases {
		for _, size := range sizes {
			for _, way := range []string{"kept", "plain"} {
				b.Run(fmt.Sprintf("%s/%dNodes_%dPods/%s", c.name, size.nodes, size.measured, way), func(b *testing.B) {
					for b.Loop() {
						b.StopTimer()
						engine, state := perfWorld(b, c, way, size.nodes, size.init)
						pods := perfPods(c.measured, "sched-1", size.measured)
						state = withPlacedPods(state, pods)
						b.StartTimer()
						result, err := engine.Place(context.Background(), state, pods)
						if err != nil {
							b.Fatal(err)
						}
						if len(result.Placed) != len(pods) {
							b.Fatalf("%d of %d pods placed", len(result.Placed), len(pods))
						}
						engine.Close()
					}
					b.ReportMetric(float64(size.measured*b.N)/b.Elapsed().Seconds(), "pods/s")
				})
			}
		}
	}
}

// perfWorld returns an engine and its cluster, with the nodes and the initial pods.
func perfWorld(b *testing.B, c perfCase, way string, nodes, init int) (*Engine, *cluster.State) {
	b.Helper()
	config, err := DefaultConfig()
	if err != nil {
		b.Fatal(err)
	}
	if way == "plain" {
		config = config.Plain()
	}
	engine, err := NewEngine(config, Ties{})
	if err != nil {
		b.Fatal(err)
	}
	state := &cluster.State{Now: cluster.Epoch}
	for _, name := range []string{"sched-0", "sched-1"} {
		state.Namespaces = append(state.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	resources := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("32Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
	for i := range nodes {
		name := fmt.Sprintf("scheduler-perf-%d", i)
		labels := map[string]string{v1.LabelHostname: name}
		if c.zones > 0 {
			labels[v1.LabelTopologyZone] = fmt.Sprintf("zone%d", i%c.zones)
		}
		state.Nodes = append(state.Nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Status:     v1.NodeStatus{Capacity: resources, Allocatable: resources},
		})
	}
	pods := perfPods(c.init, "sched-0", init)
	start := withPlacedPods(state, pods)
	result, err := engine.Place(context.Background(), start, pods)
	if err != nil {
		b.Fatal(err)
	}
	var bound []*v1.Pod
	for _, placed := range result.Placed {
		bound = append(bound, placed.Pod)
	}
	return engine, withPlacedPods(start, bound)
}

func withPlacedPods(state *cluster.State, pods []*v1.Pod) *cluster.State {
	objs := make([]cluster.Object, len(pods))
	for i, pod := range pods {
		objs[i] = pod
	}
	return state.With(objs...)
}

func perfPods(shape func(*v1.Pod), namespace string, n int) []*v1.Pod {
	requests := v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m"), v1.ResourceMemory: resource.MustParse("500Mi")}
	pods := make([]*v1.Pod, n)
	for i := range pods {
		name := fmt.Sprintf("pod-%s-%d", namespace, i)
		pods[i] = &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID(name)},
			Spec: v1.PodSpec{
				SchedulerName: v1.DefaultSchedulerName,
				Containers:    []v1.Container{{Name: "pause", Image: "registry.k8s.io/pause:3.10.2", Resources: v1.ResourceRequirements{Requests: requests}}},
			},
		}
		if shape != nil {
			shape(pods[i])
		}
	}
	return pods
}

func label(key, value string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Labels = map[string]string{key: value} }
}

func term(color, key string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"color": color}},
		TopologyKey:   key,
		Namespaces:    []string{"sched-1", "sched-0"},
	}
}

func antiAffinity(pod *v1.Pod) {
	label("color", "green")(pod)
	pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term("green", v1.LabelHostname)}}}
}

func affinity(pod *v1.Pod) {
	label("color", "blue")(pod)
	pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term("blue", v1.LabelTopologyZone)}}}
}

func preferring(pod *v1.Pod) {
	label("color", "red")(pod)
	pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term("red", v1.LabelHostname)}}}}
}

func avoiding(pod *v1.Pod) {
	label("color", "yellow")(pod)
	pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term("yellow", v1.LabelHostname)}}}}
}

func spreading(when v1.UnsatisfiableConstraintAction) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		label("color", "blue")(pod)
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 5, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: when,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"color": "blue"}},
		}}
	}
}

// BenchmarkRecord measures the cost of recording the cycles of 2,000 pods on 1,000 nodes, ten nodes each, against a run without recording.
func BenchmarkRecord(b *testing.B) {
	const nodes, measured = 1000, 2000
	for _, c := range perfCases {
		for _, record := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/record=%t", c.name, record), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					shape := c
					shape.zones = max(shape.zones, 3)
					engine, state := perfWorld(b, shape, "kept", nodes, 0)
					if record {
						engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{Nodes: 10} }
					}
					pods := perfPods(c.measured, "sched-1", measured)
					state = withPlacedPods(state, pods)
					b.StartTimer()
					if _, err := engine.Place(context.Background(), state, pods); err != nil {
						b.Fatal(err)
					}
					engine.Close()
				}
				b.ReportMetric(float64(measured*b.N)/b.Elapsed().Seconds(), "pods/s")
			})
		}
	}
}

// BenchmarkNewEngine builds an engine when the process has built one before.
func BenchmarkNewEngine(b *testing.B) {
	config, err := DefaultConfig()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		engine, err := NewEngine(config, Ties{})
		if err != nil {
			b.Fatal(err)
		}
		engine.Close()
	}
}
