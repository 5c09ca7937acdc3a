package sched

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// next returns the state a second later: some objects have changed, some pods have ended, and new pods wait. It depends only on the world's
// seed, the state and the number of the step.
func (w *world) next(state *cluster.State, step int) *cluster.State {
	w.Rand = rand.New(rand.NewPCG(w.seed, uint64(step+1)))
	later := *state
	later.Now = metav1.NewTime(state.Now.Add(time.Second))
	state = &later
	for range w.IntN(3) {
		state = w.change(state)
	}
	for _, pod := range state.Pods {
		if pod.DeletionTimestamp != nil && pod.DeletionTimestamp.Before(&state.Now) {
			state = state.Without(pod)
		}
	}
	apps := []*v1.Pod{one(w, w.apps...), one(w, w.apps...)}
	for range w.IntN(9) {
		state = w.arrive(state, one(w, apps...))
	}
	return w.changeDevices(state)
}

func (w *world) arrive(state *cluster.State, app *v1.Pod) *cluster.State {
	pod := *app
	if w.chance(6) { // as the pods of a dump, which share nothing
		pod = *app.DeepCopy()
	}
	later := *state
	later.Created++
	state = &later
	pod.Name = fmt.Sprintf("%s-%d", app.Name, later.Created)
	pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	pod.Labels = map[string]string{"app": app.Labels["app"], "track": app.Labels["track"]}
	if w.chance(4) {
		pod.Labels["late"] = one(w, "x", "y")
	}
	if owner := metav1.GetControllerOfNoCopy(&pod); owner != nil && owner.Kind == "StatefulSet" {
		pod.Spec.Hostname = pod.Name
		pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
		if w.chance(2) {
			pod.Spec.Volumes = slices.Clone(pod.Spec.Volumes)
			claims(&pod, pod.Name)
			own := claim(pod.Name)
			own.Namespace = pod.Namespace
			state = state.With(own)
		}
	}
	if w.chance(20) && len(state.Nodes) > 0 {
		pod.Status.NominatedNodeName = one(w, state.Nodes...).Name
	}
	if w.chance(10) {
		node := "gone"
		if w.chance(2) && len(state.Nodes) > 0 {
			node = one(w, state.Nodes...).Name
		}
		// Not in the second in which the engine's own pods start: upstream chooses randomly between victims with the same start time.
		return state.With(cluster.BindPod(&pod, node, state.Now.Add(-time.Hour)))
	}
	return state.With(&pod)
}

// change returns the state with one change.
func (w *world) change(state *cluster.State) *cluster.State {
	var bound []*v1.Pod
	for _, pod := range state.Pods {
		if pod.Spec.NodeName != "" {
			bound = append(bound, pod)
		}
	}
	switch w.IntN(9) {
	case 0, 1, 2:
		return w.changeNodes(state)
	case 3:
		return w.changeOwners(state)
	case 4:
		namespace := w.namespace(one(w, "default", "east", "west", "late"))
		if w.chance(5) && namespace.Name != "default" {
			return state.Without(namespace)
		}
		return state.With(namespace)
	case 5:
		return state.With(w.budget())
	}
	if len(bound) == 0 {
		return state
	}
	pod := *one(w, bound...)
	switch w.IntN(5) {
	case 0:
		pod.DeletionTimestamp = &state.Now
	case 1:
		pod.Labels = maps.Clone(pod.Labels)
		pod.Labels["track"], pod.Labels["late"] = one(w, "stable", "canary"), one(w, "x", "y")
	case 2:
		pod.Status.Phase = v1.PodSucceeded
	default:
		gone := []cluster.Object{&pod}
		for range w.IntN(4) {
			gone = append(gone, one(w, bound...))
		}
		return state.Without(gone...)
	}
	return state.With(&pod)
}

func (w *world) changeNodes(state *cluster.State) *cluster.State {
	if len(state.Nodes) == 0 || w.chance(5) {
		return state.With(w.node(fmt.Sprint("n", w.IntN(12))))
	}
	node := one(w, state.Nodes...).DeepCopy()
	switch w.IntN(8) {
	case 0:
		return state.Without(node)
	case 1:
		node.Labels[rack] = one(w, "a", "b", "c")
	case 2:
		node.Labels[zone] = one(w, "z1", "z2")
	case 3:
		node.Spec.Unschedulable = !node.Spec.Unschedulable
	case 4:
		node.Status.Images = w.images()
	case 5:
		node.Status.Allocatable[v1.ResourceCPU] = *node.Status.Allocatable.Pods()
	case 6:
		node.Spec.Taints = nil
	default:
		node.Spec.Taints = w.taints()
	}
	return state.With(node)
}

func (w *world) changeOwners(state *cluster.State) *cluster.State {
	selector := &metav1.LabelSelector{MatchLabels: one(w, map[string]string{"app": w.name()}, map[string]string{"track": "canary"}, map[string]string{"late": "x"})}
	switch sets, stateful := state.ReplicaSets, state.StatefulSets; {
	case w.chance(3):
		return state.With(w.service())
	case w.chance(3) && len(state.Services) > 0:
		return state.Without(one(w, state.Services...))
	case w.chance(2) && len(sets) > 0:
		set := one(w, sets...)
		if w.chance(3) {
			return state.Without(set)
		}
		changed := *set
		changed.Spec.Selector = selector
		return state.With(&changed)
	case len(stateful) > 0:
		set := one(w, stateful...)
		if w.chance(3) {
			return state.Without(set)
		}
		changed := *set
		changed.Spec.Selector = selector
		return state.With(&changed)
	}
	return state
}

// queue returns the waiting pods; sometimes not all.
func (w *world) queue(state *cluster.State) []*v1.Pod {
	pods := state.Unscheduled()
	if len(pods) > 1 && w.chance(4) {
		return slices.Delete(pods, 0, 1)
	}
	return pods
}
