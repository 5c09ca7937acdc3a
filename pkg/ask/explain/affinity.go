package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Changes of rules about other pods: where an affinity looks for them, and what their own rules keep away.

// lookElsewhere lets each required affinity look in the namespaces that have its pods, too: where it names no namespaces, it names these; where it
// selects namespaces by labels, they get the labels.
func (p *pendingPod) lookElsewhere() []attempt {
	if p.spec == nil || !p.refusedBy("InterPodAffinity") || p.spec.Affinity == nil || p.spec.Affinity.PodAffinity == nil {
		return nil
	}
	var attempts []attempt
	terms := p.spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for i := range terms {
		selector, err := metav1.LabelSelectorAsSelector(terms[i].LabelSelector)
		if err != nil || selector.Empty() {
			continue
		}
		if terms[i].NamespaceSelector != nil {
			attempts = append(attempts, p.labelNamespaces(&terms[i], selector)...)
		}
		if len(terms[i].Namespaces) > 0 || terms[i].NamespaceSelector != nil {
			continue
		}
		namespaces := []string{p.owner.Namespace}
		for _, pod := range p.step.State.Pods {
			if pod.Spec.NodeName != "" && !slices.Contains(namespaces, pod.Namespace) && selector.Matches(labels.Set(pod.Labels)) {
				namespaces = append(namespaces, pod.Namespace)
			}
		}
		if len(namespaces) == 1 || len(namespaces) > maxPerKind {
			continue
		}
		slices.Sort(namespaces[1:])
		attempts = append(attempts, p.attemptOne(candidate{
			change: fmt.Sprintf("namespaces: [%s] in the required affinity over %s, which looks in namespace %s alone", strings.Join(namespaces, ", "), terms[i].TopologyKey, p.owner.Namespace),
			edit: func(spec *v1.PodSpec) {
				spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i].Namespaces = namespaces
			},
		}))
	}
	return attempts
}

// selectOwnLabels lets each required affinity that finds no pod select the labels that the pod itself has, where it selects some of these and other values
// of the rest: the first pod then needs no other.
func (p *pendingPod) selectOwnLabels() []attempt {
	if p.spec == nil || !p.refusedBy("InterPodAffinity") || p.spec.Affinity == nil || p.spec.Affinity.PodAffinity == nil {
		return nil
	}
	var attempts []attempt
	terms := p.spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for i := range terms {
		if terms[i].LabelSelector == nil || len(terms[i].LabelSelector.MatchExpressions) > 0 {
			continue
		}
		wanted := terms[i].LabelSelector.MatchLabels
		own := map[string]string{}
		for key, value := range wanted {
			if has := p.pod.Labels[key]; has != "" && has != value {
				own[key] = has
			}
		}
		found := slices.ContainsFunc(p.step.State.Pods, func(pod *v1.Pod) bool {
			return pod.Spec.NodeName != "" && labels.SelectorFromSet(wanted).Matches(labels.Set(pod.Labels))
		})
		if found || len(own) == 0 || len(own) == len(wanted) {
			continue
		}
		attempts = append(attempts, p.attemptOne(candidate{
			change: fmt.Sprintf("select %s, as the pod itself has, in the required affinity over %s (now %s)", words.And(pairsOf(own)), terms[i].TopologyKey, labels.Set(wanted)),
			edit: func(spec *v1.PodSpec) {
				maps.Copy(spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i].LabelSelector.MatchLabels, own)
			},
		}))
	}
	return attempts
}

// labelNamespaces gives the namespaces that have pods of an affinity the labels by which it selects namespaces.
func (p *pendingPod) labelNamespaces(term *v1.PodAffinityTerm, selector labels.Selector) []attempt {
	if len(term.NamespaceSelector.MatchExpressions) > 0 || p.member != nil {
		return nil
	}
	var all []candidate
	for _, namespace := range p.step.State.Namespaces {
		has := slices.ContainsFunc(p.step.State.Pods, func(pod *v1.Pod) bool {
			return pod.Spec.NodeName != "" && pod.Namespace == namespace.Name && selector.Matches(labels.Set(pod.Labels))
		})
		if has && !labels.SelectorFromSet(term.NamespaceSelector.MatchLabels).Matches(labels.Set(namespace.Labels)) && len(all) < maxPerDomain {
			all = append(all, candidate{change: fmt.Sprintf("label namespace %s with %s, by which the required affinity over %s finds it", namespace.Name,
				words.And(pairsOf(term.NamespaceSelector.MatchLabels)), term.TopologyKey), steps: []scenario.Step{labelStep("namespace/"+namespace.Name, term.NamespaceSelector.MatchLabels)}})
		}
	}
	return p.attemptFirst(all)
}

// softenOthers makes each required anti-affinity soft that other workloads have, where such a rule keeps the pod away.
func (p *pendingPod) softenOthers() []attempt {
	refused := slices.ContainsFunc(p.pending.Reasons, func(r placement.Reason) bool { return r.Message == existingAntiAffinity })
	if !refused || p.member != nil {
		return nil
	}
	var owners []cluster.Ref
	for _, pod := range p.step.State.Pods {
		if owner := p.ownerOf(pod); pod.Spec.NodeName != "" && owner != p.owner && repels(pod, p.pod) && !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	var attempts []attempt
	for _, owner := range owners[:min(len(owners), maxPerDomain)] {
		object := p.step.State.Find(owner)
		if object == nil || owner.Kind == "Pod" || owner.Kind == "Job" {
			continue
		}
		was, _ := cluster.PodSpec(object)
		if was == nil {
			continue
		}
		for _, r := range rule.List(was) {
			selector, err := labels.Parse(r.Selector)
			if r.Kind != rule.AntiAffinity || !r.Hard || err != nil || !selector.Matches(labels.Set(p.pod.Labels)) {
				continue
			}
			attempts = append(attempts, p.attemptFirst(softenedOf(object, r))...)
		}
	}
	return attempts
}

// softenedOf are the changes of another workload that make a rule of it soft: by itself, or with a rollout that stops old pods first, whose own rule
// can keep the new ones away.
func softenedOf(object cluster.Object, r rule.Rule) []candidate {
	var all []candidate
	for _, stops := range []string{"", ", and let its rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 1"} {
		changed := object.DeepCopyObject().(cluster.Object)
		spec, _ := cluster.PodSpec(changed)
		says := fmt.Sprintf("in %s, %s (%s)%s", cluster.RefTo(object).Qualified(), rule.Relax(spec, r), r.Selector, stops)
		if stops != "" {
			d, is := changed.(*appsv1.Deployment)
			if !is || d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
				break
			}
			none, one := intstr.FromInt32(0), intstr.FromInt32(1)
			d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &none, MaxUnavailable: &one}
		}
		if patch, err := patchBetween(object, changed); err == nil && patch != nil {
			all = append(all, candidate{change: says, steps: []scenario.Step{{Patch: patch}}})
		}
	}
	return all
}

// existingAntiAffinity is what InterPodAffinity says of nodes where the anti-affinity of other pods keeps the pod away. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.
const existingAntiAffinity = "node(s) didn't satisfy existing pods anti-affinity rules"

// repels reports whether a required anti-affinity of the one pod selects labels of the other. Its namespaces are left to the run.
func repels(pod, other *v1.Pod) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	return slices.ContainsFunc(pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(term v1.PodAffinityTerm) bool {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		return err == nil && selector.Matches(labels.Set(other.Labels))
	})
}
