package lint

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
)

// term is a rule about pods: affinity, anti-affinity, or a spread constraint.
type term struct {
	rule.Rule
	subject     *subject
	selector    *metav1.LabelSelector
	podSelector labels.Selector
	// matchLabelKeys and mismatchLabelKeys are the term's fields of these names.
	matchLabelKeys, mismatchLabelKeys []string
	namespaces                        []string
	namespaceSelector                 *metav1.LabelSelector
	spread                            *v1.TopologySpreadConstraint // nil for affinity
}

// terms returns the subject's rules about pods, in the order of its spec.
func (s *subject) terms() []term {
	spec := &s.pod.Spec
	seen := map[string]int{} // rule.Of keeps the order of each list
	var all []term
	for _, r := range rule.List(spec) {
		t := term{Rule: r, subject: s}
		list, _, _ := strings.Cut(r.Path, "[")
		i := seen[list]
		seen[list]++
		switch r.Kind {
		case rule.Spread:
			t.spread = &spec.TopologySpreadConstraints[i]
			t.selector, t.matchLabelKeys = t.spread.LabelSelector, t.spread.MatchLabelKeys
		case rule.Affinity, rule.AntiAffinity:
			in := spec.Affinity.PodAffinity
			if r.Kind == rule.AntiAffinity {
				in = (*v1.PodAffinity)(spec.Affinity.PodAntiAffinity) // PodAntiAffinity has the same fields
			}
			var p *v1.PodAffinityTerm
			if r.Hard {
				p = &in.RequiredDuringSchedulingIgnoredDuringExecution[i]
			} else {
				p = &in.PreferredDuringSchedulingIgnoredDuringExecution[i].PodAffinityTerm
			}
			t.selector, t.matchLabelKeys, t.mismatchLabelKeys = p.LabelSelector, p.MatchLabelKeys, p.MismatchLabelKeys
			t.namespaces, t.namespaceSelector = p.Namespaces, p.NamespaceSelector
		default:
			continue
		}
		matches, err := metav1.LabelSelectorAsSelector(t.selector)
		if err != nil {
			continue // the API server would have rejected it
		}
		t.podSelector = matches
		all = append(all, t)
	}
	return all
}

// isGeneratedLabel reports whether controllers set the label on pods, so that templates lack it.
func isGeneratedLabel(key string) bool {
	switch key {
	case appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey, appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel,
		"pod-template-generation", "controller-uid", "job-name":
		return true
	}
	return strings.HasPrefix(key, "batch.kubernetes.io/")
}

// needsGeneratedLabel reports whether the selector asks for labels that only controllers set, so that the template does not show which pods it matches.
func (t *term) needsGeneratedLabel() bool {
	requirements, _ := t.podSelector.Requirements()
	return slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return isGeneratedLabel(r.Key()) })
}

// selectsOwnPods reports whether the term selects the pods that have it.
func (t *term) selectsOwnPods() bool {
	return t.coversNamespace(t.subject.owner.Namespace) && t.podSelector.Matches(t.subject.labels()) && !slices.ContainsFunc(t.mismatchLabelKeys, func(key string) bool {
		return t.subject.labels().Has(key)
	})
}

// selectsPods reports whether the term selects pods with these labels that another workload creates.
func (t *term) selectsPods(namespace string, pod labels.Set) bool {
	if !t.coversNamespace(namespace) || !t.podSelector.Matches(pod) {
		return false
	}
	own := t.subject.labels()
	for _, key := range t.matchLabelKeys {
		if isGeneratedLabel(key) || own.Has(key) && own[key] != pod[key] {
			return false
		}
	}
	return !slices.ContainsFunc(t.mismatchLabelKeys, func(key string) bool { return own.Has(key) && pod.Has(key) && own[key] == pod[key] })
}

// coversNamespace reports whether the term applies to pods in the namespace.
func (t *term) coversNamespace(namespace string) bool {
	if len(t.namespaces) == 0 && t.namespaceSelector == nil {
		return namespace == t.subject.owner.Namespace
	}
	if slices.Contains(t.namespaces, namespace) {
		return true
	}
	if t.namespaceSelector == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(t.namespaceSelector)
	if err != nil {
		return false
	}
	set := labels.Set{v1.LabelMetadataName: namespace}
	for _, n := range t.subject.step.State.Namespaces {
		if n.Name == namespace {
			set = labels.Merge(n.Labels, set)
		}
	}
	return selector.Matches(set)
}

// field returns the term's path in the object.
func (t *term) field() string { return t.subject.field(t.Path) }

// keepsOwnPodsApart reports whether the term keeps the subject's own pods of all revisions apart.
func (t *term) keepsOwnPodsApart() bool {
	return t.Kind == rule.AntiAffinity && t.selectsOwnPods() && !t.needsGeneratedLabel()
}

// isPerRevision reports whether the term selects only pods of the same revision.
func (t *term) isPerRevision() bool {
	return slices.Contains(t.matchLabelKeys, appsv1.DefaultDeploymentUniqueLabelKey) || slices.Contains(t.matchLabelKeys, appsv1.ControllerRevisionHashLabelKey)
}

// selectsKnownPod reports whether the scenario ever contains a pod that the term selects. The subject's own pods count, because they may have other
// labels than its template: an operator gives each role a label of its own, and Patroni labels the leader.
func (l *inspection) selectsKnownPod(t *term) bool {
	if slices.ContainsFunc(l.subjects, func(o *subject) bool {
		return o.owner != t.subject.owner && t.selectsPods(o.owner.Namespace, o.labels())
	}) {
		return true
	}
	// Controllers outside the scenario may have pods in it, for example in a part of a dump.
	return slices.ContainsFunc(t.subject.step.State.Pods, func(pod *v1.Pod) bool { return t.selectsPods(pod.Namespace, pod.Labels) })
}

// selectsPodOfUnknownOwner reports whether the term selects pods of an owner whose template is unknown. The made-up template has only the labels that all pods
// share.
func (t *term) selectsPodOfUnknownOwner() bool {
	_, unknown := t.subject.object.(*cluster.UnknownOwner)
	return unknown && slices.ContainsFunc(t.subject.pods(), func(pod *v1.Pod) bool { return t.podSelector.Matches(labels.Set(pod.Labels)) })
}

// countedNodes returns the nodes whose domains a spread constraint counts.
func (l *inspection) countedNodes(t *term) []*v1.Node {
	return list.Without(l.nodes, func(node *v1.Node) bool {
		c := t.spread
		affinity := c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor
		taints := c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor
		return affinity && !cluster.Attracts(node, t.subject.pod) || taints && repels(node, t.subject.pod)
	})
}
