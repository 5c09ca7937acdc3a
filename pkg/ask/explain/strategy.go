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
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Changes of how pods are replaced: a rollout that stops old pods first, and the deletion of a pod.

// ungate returns the attempts that remove the scheduling gates of the workload's pods. Nothing else helps a pod with gates, since the scheduler does
// not try it. If the pods have a gate that their template does not ask for, a webhook set it, which may be gone: they are deleted then, and created
// again without the gate.
func (p *pendingPod) ungate() []attempt {
	if len(p.pod.Spec.SchedulingGates) == 0 || p.pending.Message != placement.Gated || p.member != nil {
		return nil
	}
	gated := list.Where(podsOf(p.step.State)[p.owner], func(pod *v1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 })
	remove := candidate{change: "remove the scheduling gates of the pod, as whoever set them does"}
	if len(gated) > 1 {
		remove.change = fmt.Sprintf("remove the scheduling gates of the workload's %d pods, as whoever set them does", len(gated))
	}
	var targets []string
	for _, pod := range gated {
		open := pod.DeepCopy()
		open.Spec.SchedulingGates = nil
		patch, err := patchBetween(pod, open)
		if err != nil || patch == nil {
			return nil
		}
		remove.steps, targets = append(remove.steps, scenario.Step{Patch: patch}), append(targets, "pod/"+pod.Name)
	}
	attempts := []attempt{p.attemptOne(remove)}
	if p.spec != nil && len(p.spec.SchedulingGates) == 0 && p.owner.Kind != "Pod" {
		attempts = append(attempts, p.attemptOne(candidate{
			change: fmt.Sprintf("delete %s, if whoever set the gates is gone: the template has none", words.Pick(len(gated), "the pod", fmt.Sprintf("the workload's %d pods", len(gated)))),
			steps:  []scenario.Step{action.Delete(p.pod.Namespace, targets...)},
		}))
	}
	return attempts
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

// withStrategies returns an attempt for each change: by itself, or with a rollout that stops old pods first, whose rule or devices can keep the new
// ones away. For a rollout that is under way, the strategy has an attempt of its own.
func (p *pendingPod) withStrategies(changes []candidate) []attempt {
	var strategies []candidate
	if len(p.crewsBefore[p.owner].Placed) > 0 && p.member == nil && p.stopOldPodsFirst() == nil {
		strategies = p.strategyCandidates()
	}
	var attempts []attempt
	for _, c := range changes {
		all := slices.Concat([]candidate{c}, list.Map(strategies, c.combine))
		attempts = append(attempts, p.attemptAs(c.change, all)...)
	}
	return attempts
}
