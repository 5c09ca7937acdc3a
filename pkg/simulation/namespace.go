package simulation

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// In returns the result with the pods, rollouts, pod groups and quotas of one namespace alone, for reports. Nothing can continue from it: the pods of the other
// namespaces take room, too.
func (r *Result) In(namespace string) *Result {
	in := *r
	in.Steps = slices.Clone(r.Steps)
	for i := range in.Steps {
		step := &in.Steps[i]
		state := *step.State
		state.Pods = only(state.Pods, func(pod *v1.Pod) bool { return pod.Namespace == namespace })
		state.PodGroups = only(state.PodGroups, func(group *schedulingv1beta1.PodGroup) bool { return group.Namespace == namespace })
		state.ResourceQuotas = only(state.ResourceQuotas, func(quota *v1.ResourceQuota) bool { return quota.Namespace == namespace })
		step.State = &state
		step.Placed = only(step.Placed, func(p placement.Placement) bool { return p.Pod.Namespace == namespace })
		step.Pending = only(step.Pending, func(p placement.Pending) bool { return p.Pod.Namespace == namespace })
		step.Preempted = only(step.Preempted, func(p placement.Preemption) bool {
			return p.Victim.Namespace == namespace || p.For.Namespace == namespace
		})
		step.Rollouts = only(step.Rollouts, func(r controller.Rollout) bool { return r.Namespace == namespace })
	}
	return &in
}

func only[T any](all []T, wanted func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !wanted(one) })
}
