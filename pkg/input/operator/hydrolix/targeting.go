package hydrolix

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// allSelector is the selector in spec.targeting for all components and pools.
const allSelector = "*"

// targetingRules holds the rules in spec.targeting for the pods of a selector. A nil rule is not given; an empty rule removes the rule of the levels
// below. See https://docs.hydrolix.io/latest/self-managed/manage-a-cluster/targeting-k8s-resources
type targetingRules struct {
	NodeSelector              *map[string]string             `json:"node_selector"`
	NodeAffinity              *v1.NodeAffinity               `json:"node_affinity"`
	PodAffinity               *v1.PodAffinity                `json:"pod_affinity"`
	PodAntiAffinity           *v1.PodAntiAffinity            `json:"pod_anti_affinity"`
	TopologySpreadConstraints *[]v1.TopologySpreadConstraint `json:"topology_spread_constraints"`
	NodeName                  *string                        `json:"node_name"`
	Tolerations               *[]v1.Toleration               `json:"tolerations"`
}

// ruleKey is a field of rules and its counterpart in a pod's spec.
type ruleKey struct {
	name, field string
	// apply writes the field into the pod's spec, and reports whether it is given.
	apply func(*targetingRules, *v1.PodSpec) bool
	// doubt says why the key's name is an assumption; "" if the documentation has the name.
	doubt string
}

const undocumentedKey = "the documentation has the mechanism and not the key"

var ruleKeys = []ruleKey{
	{name: "node_selector", field: "nodeSelector", apply: func(r *targetingRules, pod *v1.PodSpec) bool {
		if r.NodeSelector != nil {
			pod.NodeSelector = *r.NodeSelector
		}
		return r.NodeSelector != nil
	}},
	{name: "node_affinity", field: "affinity.nodeAffinity", apply: func(r *targetingRules, pod *v1.PodSpec) bool {
		if given := r.NodeAffinity; given != nil && (given.RequiredDuringSchedulingIgnoredDuringExecution != nil || len(given.PreferredDuringSchedulingIgnoredDuringExecution) > 0) {
			ensureAffinity(pod).NodeAffinity = given
		}
		return r.NodeAffinity != nil
	}},
	{name: "pod_affinity", field: "affinity.podAffinity", doubt: undocumentedKey, apply: func(r *targetingRules, pod *v1.PodSpec) bool {
		if given := r.PodAffinity; given != nil && len(given.RequiredDuringSchedulingIgnoredDuringExecution)+len(given.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
			ensureAffinity(pod).PodAffinity = given
		}
		return r.PodAffinity != nil
	}},
	{name: "pod_anti_affinity", field: "affinity.podAntiAffinity", apply: func(r *targetingRules, pod *v1.PodSpec) bool {
		if given := r.PodAntiAffinity; given != nil && len(given.RequiredDuringSchedulingIgnoredDuringExecution)+len(given.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
			ensureAffinity(pod).PodAntiAffinity = given
		}
		return r.PodAntiAffinity != nil
	}},
	{name: "topology_spread_constraints", field: "topologySpreadConstraints", doubt: undocumentedKey, apply: func(r *targetingRules, pod *v1.PodSpec) bool {
		if r.TopologySpreadConstraints != nil {
			pod.TopologySpreadConstraints = *r.TopologySpreadConstraints
		}
		return r.TopologySpreadConstraints != nil
	}},
	{name: "node_name", field: "nodeName", doubt: undocumentedKey, apply: func(r *targetingRules, pod *v1.PodSpec) bool {
		if r.NodeName != nil {
			pod.NodeName = *r.NodeName
		}
		return r.NodeName != nil
	}},
	{name: "tolerations", field: "tolerations", doubt: "the documentation does not mention it", apply: func(r *targetingRules, pod *v1.PodSpec) bool {
		if r.Tolerations != nil {
			pod.Tolerations = *r.Tolerations
		}
		return r.Tolerations != nil
	}},
}

func ensureAffinity(pod *v1.PodSpec) *v1.Affinity {
	if pod.Affinity == nil {
		pod.Affinity = &v1.Affinity{}
	}
	return pod.Affinity
}

// ruleLevel holds the rules of a selector that covers a workload, or the operator's own rules.
type ruleLevel struct {
	name  string
	rules targetingRules
}

// resolveRules takes each field as a whole from the first level that has it; nothing is merged. See "How default rules merge with
// spec.targeting" in https://docs.hydrolix.io/latest/self-managed/manage-a-cluster/pod-anti-affinity-rules
func resolveRules(pod *v1.PodSpec, levels []ruleLevel) []operator.Origin {
	var origins []operator.Origin
	for _, key := range ruleKeys {
		for i := range levels {
			if key.apply(&levels[i].rules, pod) {
				origins = append(origins, operator.Origin{Field: key.field, Level: levels[i].name})
				break
			}
		}
	}
	return origins
}

// defaultRule returns the operator's anti-affinity for a component: a preferred rule for some components, a required rule for Keycloak with
// more than one replica, and nil for the others. See "Components with default anti-affinity" in
// https://docs.hydrolix.io/latest/self-managed/manage-a-cluster/pod-anti-affinity-rules
func defaultRule(service string, replicas, weight int32, labels map[string]string) *v1.PodAntiAffinity {
	term := operator.HostAffinityTerm(weight, labels)
	switch {
	case slices.Contains(preferredServices, service):
		return &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{term}}
	case service == keycloak && replicas > 1:
		return &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term.PodAffinityTerm}}
	}
	return nil
}

const keycloak = "keycloak"

// preferredServices lists the components with a preferred rule.
var preferredServices = []string{"rabbitmq", "redpanda", "traefik", "zookeeper"}

// checkTargeting validates each rule separately with the API server's code, so that each problem is reported once, at its path.
func checkTargeting(targeting map[string]targetingRules) error {
	var problems []error
	for _, selector := range slices.Sorted(maps.Keys(targeting)) {
		given := targeting[selector]
		for _, key := range ruleKeys {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "c"}}}}
			if !key.apply(&given, &pod.Spec) {
				continue
			}
			problems = append(problems, operator.CheckObject(pod, "spec."+key.field, fmt.Sprintf("spec.targeting[%s].%s", selector, key.name)))
		}
	}
	return errors.Join(problems...)
}

// targetingNotes returns warnings about surprising effects of spec.targeting, and assumptions about its keys that the documentation lacks.
func targetingNotes(s *spec, profile *Profile) (warnings, assumptions []string) {
	names := profile.serviceNames()
	for i := range s.Pools {
		names = append(names, s.Pools[i].Name)
	}
	for _, selector := range slices.Sorted(maps.Keys(s.Targeting)) {
		if selector != allSelector && !slices.Contains(names, selector) {
			warnings = append(warnings, fmt.Sprintf("spec.targeting[%s] is the name of no pool and no component, and has no effect%s",
				selector, manifest.DidYouMean(selector, names)))
		}
	}
	if s.Targeting[allSelector].PodAntiAffinity != nil {
		warning := "spec.targeting[*].pod_anti_affinity takes the place of every rule of the operator's own"
		if s.Targeting[keycloak].PodAntiAffinity == nil {
			warning += ", also of Keycloak's required one, so that its replicas may share a node; give keycloak one of its own under spec.targeting"
		}
		warnings = append(warnings, warning)
	}
	for _, key := range ruleKeys {
		var at []string
		for _, selector := range slices.Sorted(maps.Keys(s.Targeting)) {
			if given := s.Targeting[selector]; key.doubt != "" && key.apply(&given, &v1.PodSpec{}) {
				at = append(at, fmt.Sprintf("spec.targeting[%s]", selector))
			}
		}
		if len(at) > 0 {
			assumptions = append(assumptions, fmt.Sprintf("%s in %s is the pods' %s; %s", key.name, strings.Join(at, ", "), key.field, key.doubt))
		}
	}
	return warnings, assumptions
}
