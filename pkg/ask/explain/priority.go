package explain

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingapi "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// raisePriority returns the attempt that gives the workload's pods the lowest priority class that helps: one of the cluster or, for a
// DaemonSet, one of Kubernetes' own. Pods of other workloads may lose their nodes for a DaemonSet's pod, which is for one node alone, and for a pod
// that has a priority or a preemptionPolicy already: its user expects preemption.
func (p *pendingPod) raisePriority() []attempt {
	if p.spec == nil || p.member != nil || len(p.pending.Reasons) == 0 {
		return nil
	}
	// A pod that loses its port to this one gets it nowhere else: one of both is without a node, whatever the priorities.
	onlyPorts := !slices.ContainsFunc(p.pending.Reasons, func(r placement.Reason) bool {
		return r.Plugin != "NodePorts" && r.Plugin != "NodeAffinity" && r.Plugin != "TaintToleration"
	})
	now, never := corev1.PodPriority(p.pod), ptr.Deref(p.pod.Spec.PreemptionPolicy, v1.PreemptLowerPriority) == v1.PreemptNever
	var all []candidate
	for _, class := range p.higherClasses(now, never) {
		is := fmt.Sprintf("%d, now %d", class.Value, now)
		if never {
			is += " and preemptionPolicy Never"
		}
		all = append(all, candidate{
			change: fmt.Sprintf("give the pods the priority class %s (%s)", class.Name, is), evicts: (p.owner.Kind == "DaemonSet" || now != 0 || never) && !onlyPorts,
			edit: func(spec *v1.PodSpec) {
				spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = class.Name, nil, nil
			},
		})
	}
	switch {
	case never && len(all) == 0:
		return p.dropNever()
	case len(all) == 0 && p.pod.Spec.PriorityClassName != "" && !onlyPorts:
		return p.createHigherClass(now)
	}
	return p.attemptFirst(all[:min(len(all), maxPerKind)])
}

// createHigherClass returns the attempt that gives the pods a new class just above their own, where no class is: pods of a class that is not above the default
// one preempt nobody.
func (p *pendingPod) createHigherClass(now int32) []attempt {
	if now >= scheduling.HighestUserDefinablePriority {
		return nil
	}
	made := &schedulingv1.PriorityClass{TypeMeta: metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"},
		ObjectMeta: metav1.ObjectMeta{Name: p.pod.Spec.PriorityClassName + "-higher"}, Value: now + 1}
	return []attempt{p.attemptOne(candidate{
		change: fmt.Sprintf("create PriorityClass %s of %d, and give it to the pods (now %s of %d)", made.Name, made.Value, p.pod.Spec.PriorityClassName, now),
		evicts: true, objects: []cluster.Object{made}, edit: func(spec *v1.PodSpec) {
			spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = made.Name, nil, nil
		}})}
}

// dropNever returns the attempt that gives the pods a class like their own whose pods preempt: the preemptionPolicy of a class cannot change.
func (p *pendingPod) dropNever() []attempt {
	at := slices.IndexFunc(p.step.State.PriorityClasses, func(class *schedulingv1.PriorityClass) bool { return class.Name == p.pod.Spec.PriorityClassName })
	if at < 0 {
		return nil
	}
	like := p.step.State.PriorityClasses[at]
	made := &schedulingv1.PriorityClass{TypeMeta: metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"},
		ObjectMeta: metav1.ObjectMeta{Name: like.Name + "-preempting"}, Value: like.Value, PreemptionPolicy: ptr.To(v1.PreemptLowerPriority)}
	return []attempt{p.attemptOne(candidate{
		change: fmt.Sprintf("create PriorityClass %s like %s (%d) with preemptionPolicy PreemptLowerPriority (now Never), and give it to the pods", made.Name, like.Name, like.Value),
		evicts: true, objects: []cluster.Object{made}, edit: func(spec *v1.PodSpec) {
			spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = made.Name, nil, nil
		}})}
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
