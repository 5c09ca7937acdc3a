package explain

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
)

// Changes of how pods are replaced: a rollout that stops old pods first, and the deletion of a pod.

// ungate returns the attempt that removes the scheduling gates of the pod. Nothing else helps a pod with gates, since the scheduler does
// not try it.
func (p *pendingPod) ungate() []attempt {
	if len(p.pod.Spec.SchedulingGates) == 0 || p.pending.Message != placement.Gated || p.member != nil {
		return nil
	}
	open := p.pod.DeepCopy()
	open.Spec.SchedulingGates = nil
	patch, err := patchBetween(p.pod, open)
	if err != nil || patch == nil {
		return nil
	}
	return []attempt{p.attemptOne(candidate{change: "remove the scheduling gates of the pod, as whoever set them does", steps: []scenario.Step{{Patch: patch}}})}
}

// deleteOld returns the attempt that deletes a StatefulSet's pod of an old template, which its controller does not replace while the pod is
// not ready.
func (p *pendingPod) deleteOld() []attempt {
	set, is := p.object.(*appsv1.StatefulSet)
	revision := p.pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	if !is || p.member != nil || revision == "" || set.Status.UpdateRevision == "" || revision == set.Status.UpdateRevision {
		return nil
	}
	once := p.attemptOne(candidate{
		change: fmt.Sprintf("delete pod %s: it is of an old template, the template is right already, and nobody replaces the pod while it is not ready", p.pod.Name),
		steps:  []scenario.Step{action.Delete(p.pod.Namespace, "pod/"+p.pod.Name)},
	})
	return []attempt{{changes: once.changes, try: func(ctx context.Context) (*Fix, error) {
		fix, err := once.try(ctx)
		p.deletionHelps = fix != nil
		return fix, err
	}}}
}

// stopOldPodsFirst returns the attempt that lets a rollout under way stop pods before it starts others, since old pods hold what the new
// ones need.
func (p *pendingPod) stopOldPodsFirst() []attempt {
	switch p.object.(type) {
	case *appsv1.Deployment:
		if !p.oldPodsRun(p.pod) {
			return nil
		}
	case *appsv1.DaemonSet:
	default:
		return nil
	}
	return p.attemptFirst(p.strategyCandidates())
}

// oldPodsRun reports whether pods of the workload have a node that are of another revision than the pod.
func (w *stuckWorkload) oldPodsRun(pod *v1.Pod) bool {
	return slices.ContainsFunc(podsOf(w.step.State)[w.owner], func(other *v1.Pod) bool {
		return other.Spec.NodeName != "" && controllerOf(other) != controllerOf(pod)
	})
}

// strategyCandidates returns the changes with which a rollout stops old pods first, the mildest first.
func (w *stuckWorkload) strategyCandidates() []candidate {
	var all []candidate
	switch obj := w.object.(type) {
	case *appsv1.Deployment:
		if obj.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
			return nil
		}
		waiting := len(w.crewsBefore[w.owner].Waiting)
		for _, unavailable := range slices.Compact([]int{1, waiting + 1}) {
			all = append(all, candidate{
				change: fmt.Sprintf("let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable %d", unavailable),
				strategy: func(obj cluster.Object) {
					none, some := intstr.FromInt32(0), intstr.FromInt32(int32(unavailable))
					obj.(*appsv1.Deployment).Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
						RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &none, MaxUnavailable: &some}}
				},
			})
		}
		all = append(all, candidate{
			change: "let the rollout stop all old pods before it starts new ones: strategy Recreate",
			price:  []string{"none of its pods runs in between"},
			strategy: func(obj cluster.Object) {
				obj.(*appsv1.Deployment).Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
			},
		})
	case *appsv1.DaemonSet:
		rolling := obj.Spec.UpdateStrategy.RollingUpdate
		if rolling == nil || rolling.MaxSurge == nil || rolling.MaxSurge.String() == "0" {
			return nil
		}
		all = append(all, candidate{
			change: "let the rollout stop the old pod of a node before it starts the new one: maxSurge 0 and maxUnavailable 1",
			strategy: func(obj cluster.Object) {
				none, one := intstr.FromInt32(0), intstr.FromInt32(1)
				obj.(*appsv1.DaemonSet).Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: &none, MaxUnavailable: &one}
			},
		})
	}
	return all
}
