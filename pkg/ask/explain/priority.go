package explain

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingapi "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/utils/ptr"
)

// raisePriority returns the attempt that gives the workload's pods the lowest priority class that helps: one of the cluster or, for a
// DaemonSet, one of Kubernetes' own. Pods of other workloads may lose their nodes for a DaemonSet's pod, which is for one node alone, and for a pod
// that has a priority or a preemptionPolicy already: its user expects preemption.
func (p *pendingPod) raisePriority() []attempt {
	if p.spec == nil || p.member != nil || len(p.pending.Reasons) == 0 {
		return nil
	}
	now, never := corev1.PodPriority(p.pod), ptr.Deref(p.pod.Spec.PreemptionPolicy, v1.PreemptLowerPriority) == v1.PreemptNever
	var all []candidate
	for _, class := range p.higherClasses(now, never) {
		is := fmt.Sprintf("%d, now %d", class.Value, now)
		if never {
			is += " and preemptionPolicy Never"
		}
		all = append(all, candidate{
			change: fmt.Sprintf("give the pods the priority class %s (%s)", class.Name, is), evicts: p.owner.Kind == "DaemonSet" || now != 0 || never,
			edit: func(spec *v1.PodSpec) {
				spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = class.Name, nil, nil
			},
		})
	}
	return p.attemptFirst(all[:min(len(all), maxPerKind)])
}

// higherClasses returns the classes whose pods preempt pods that this pod does not, the lowest priority first.
func (p *pendingPod) higherClasses(now int32, never bool) []*schedulingv1.PriorityClass {
	var classes []*schedulingv1.PriorityClass
	consider := func(class *schedulingv1.PriorityClass) {
		known := slices.ContainsFunc(classes, func(other *schedulingv1.PriorityClass) bool { return other.Name == class.Name })
		preempts := ptr.Deref(class.PreemptionPolicy, v1.PreemptLowerPriority) != v1.PreemptNever
		if !known && preempts && (class.Value > now || never && class.Value == now) && (class.Value < scheduling.SystemCriticalPriority || p.owner.Kind == "DaemonSet") {
			classes = append(classes, class)
		}
	}
	for _, class := range p.step.State.PriorityClasses {
		consider(class)
	}
	for _, class := range schedulingapi.SystemPriorityClasses() {
		consider(class)
	}
	slices.SortStableFunc(classes, func(a, b *schedulingv1.PriorityClass) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	})
	return classes
}
