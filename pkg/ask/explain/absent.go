package explain

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Changes for pods that name an object which does not exist.

// nameClass returns the attempts that create the priority class which the pods name, or let the pods name none, or one of those that exist.
func (d *deniedWorkload) nameClass(denial *cause.Denial) []attempt {
	named := func(name, says string) attempt {
		return d.attemptOne(candidate{change: says, edit: func(spec *v1.PodSpec) { spec.PriorityClassName, spec.Priority = name, nil }})
	}
	_, missing, _ := strings.Cut(denial.Object, " ")
	made := &schedulingv1.PriorityClass{TypeMeta: metav1.TypeMeta{APIVersion: schedulingv1.SchemeGroupVersion.String(), Kind: "PriorityClass"}, ObjectMeta: metav1.ObjectMeta{Name: missing}}
	all := []attempt{d.attemptOne(candidate{change: fmt.Sprintf("create PriorityClass %s, with the value that is meant (tried with 0)", missing), objects: []cluster.Object{made}}),
		named("", "no priorityClassName")}
	for _, class := range d.step.State.PriorityClasses[:min(len(d.step.State.PriorityClasses), maxPerDomain)] {
		all = append(all, named(class.Name, fmt.Sprintf("priorityClassName: %s (%d)", class.Name, class.Value)))
	}
	return all
}

// createGroup returns the attempt that creates the pod group which the pod names and which is not there, for the pods that name it; nil if it is there.
// Nothing else helps then.
func (p *pendingPod) createGroup() []attempt {
	if p.member != nil || !cause.LacksGroup(p.step.State, p.pod) {
		return nil
	}
	name := cluster.PodGroupOf(p.pod)
	pods := list.Count(p.step.State.Pods, func(pod *v1.Pod) bool { return pod.Namespace == p.pod.Namespace && cluster.PodGroupOf(pod) == name })
	made := &schedulingv1beta1.PodGroup{TypeMeta: metav1.TypeMeta{APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: "PodGroup"}, ObjectMeta: metav1.ObjectMeta{Namespace: p.pod.Namespace, Name: name}}
	made.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(pods)}
	return []attempt{p.attemptOne(candidate{change: fmt.Sprintf("create PodGroup %s in namespace %s, with minCount %d for the %s it", name, p.pod.Namespace, pods, words.Pick(pods, "pod that names", "pods that name")),
		objects: []cluster.Object{made}})}
}

// nameTemplates returns the attempts that let the pod name a ResourceClaimTemplate that exists, where it names one that does not; nil if all exist. Nothing
// else helps then.
func (p *pendingPod) nameTemplates() []attempt {
	there := cause.TemplatesIn(p.step.State, p.pod.Namespace)
	if p.spec == nil || p.member != nil {
		return nil
	}
	var all []candidate
	for i, claim := range p.spec.ResourceClaims {
		name := claim.ResourceClaimTemplateName
		if name == nil || slices.Contains(there, *name) {
			continue
		}
		for _, other := range there[:min(len(there), maxPerDomain)] {
			all = append(all, candidate{change: fmt.Sprintf("name ResourceClaimTemplate %s (now %s, which does not exist)", other, *name),
				edit: func(spec *v1.PodSpec) {
					if i < len(spec.ResourceClaims) {
						spec.ResourceClaims[i].ResourceClaimTemplateName = &other
					}
				}})
		}
	}
	return p.attemptFirst(all)
}

// createAccount returns the attempt that creates the service account.
func (d *deniedWorkload) createAccount(denial *cause.Denial) attempt {
	_, name, _ := strings.Cut(denial.Object, "/")
	made := &v1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Namespace: d.owner.Namespace, Name: name}}
	return d.attemptOne(candidate{change: fmt.Sprintf("create ServiceAccount %s in namespace %s", name, d.owner.Namespace), objects: []cluster.Object{made}})
}
