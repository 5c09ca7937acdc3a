package cluster

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
)

// LabelOfController reports whether a pod gets the label from its controller, or from the node that it is bound to.
func LabelOfController(key string) bool {
	return slices.Contains([]string{"pod-template-hash", "controller-revision-hash", "pod-template-generation", "job-name", "controller-uid",
		appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel, v1.LabelTopologyZone, v1.LabelTopologyRegion}, key) || strings.HasPrefix(key, "batch.kubernetes.io/")
}

// MergeLabelKeys writes the label keys of the pod's affinity terms and spread constraints into their selectors, as the API server does when
// a pod is created: the scheduler looks only at the selectors. MergeLabelKeys changes the pod in place, and copies what the pod shares with
// other pods first. See mutatePodAffinity and mutateTopologySpreadConstraints in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go.
func MergeLabelKeys(pod *v1.Pod) {
	enabled := utilfeature.DefaultFeatureGate.Enabled
	if enabled(features.MatchLabelKeysInPodAffinity) && slices.ContainsFunc(affinityTerms(pod.Spec.Affinity), hasKeys) {
		pod.Spec.Affinity = pod.Spec.Affinity.DeepCopy()
		for _, term := range affinityTerms(pod.Spec.Affinity) {
			mergeKeys(term.LabelSelector, term.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
			mergeKeys(term.LabelSelector, term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, pod.Labels)
		}
	}
	spread := pod.Spec.TopologySpreadConstraints
	if enabled(features.MatchLabelKeysInPodTopologySpread) && enabled(features.MatchLabelKeysInPodTopologySpreadSelectorMerge) &&
		slices.ContainsFunc(spread, func(c v1.TopologySpreadConstraint) bool { return len(c.MatchLabelKeys) > 0 }) {
		pod.Spec.TopologySpreadConstraints = make([]v1.TopologySpreadConstraint, len(spread))
		for i := range spread {
			constraint := spread[i].DeepCopy()
			mergeKeys(constraint.LabelSelector, constraint.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
			pod.Spec.TopologySpreadConstraints[i] = *constraint
		}
	}
}

// affinityTerms returns pointers to all terms of pod affinity and pod anti-affinity.
func affinityTerms(affinity *v1.Affinity) []*v1.PodAffinityTerm {
	if affinity == nil {
		return nil
	}
	var terms []*v1.PodAffinityTerm
	add := func(preferred []v1.WeightedPodAffinityTerm, required []v1.PodAffinityTerm) {
		for i := range preferred {
			terms = append(terms, &preferred[i].PodAffinityTerm)
		}
		for i := range required {
			terms = append(terms, &required[i])
		}
	}
	if a := affinity.PodAffinity; a != nil {
		add(a.PreferredDuringSchedulingIgnoredDuringExecution, a.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		add(a.PreferredDuringSchedulingIgnoredDuringExecution, a.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return terms
}

// hasKeys reports whether the term has label keys to merge.
func hasKeys(term *v1.PodAffinityTerm) bool {
	return len(term.MatchLabelKeys)+len(term.MismatchLabelKeys) > 0
}

// mergeKeys adds a requirement to the selector for each of the keys that is among the labels.
func mergeKeys(selector *metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator, labels map[string]string) {
	if selector == nil {
		return // a nil selector matches nothing, and must stay so
	}
	for _, key := range keys {
		value, found := labels[key]
		if !found {
			continue
		}
		requirement := metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}}
		// A pod from a live cluster already has the requirement, and a second one is invalid.
		merged := slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == key && r.Operator == operator && slices.Equal(r.Values, requirement.Values)
		})
		if !merged {
			selector.MatchExpressions = append(selector.MatchExpressions, requirement)
		}
	}
}
