package rule

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Apart is a rule that keeps the pods of a workload apart.
type Apart struct {
	// By is the kind of the rule.
	By Separation
	// Over lists the topology keys over whose domains the pods keep apart, with one rule for each key. It is empty for NoRule.
	Over []DomainKey
	// MaxSkew applies to spread constraints. A value below 1 means 1.
	MaxSkew int32
	// Required makes spread constraints DoNotSchedule rather than ScheduleAnyway.
	Required bool
	// MatchLabelKeys lists pod labels whose values must also be equal. With pod-template-hash, the pods of a new revision keep apart only
	// from each other.
	MatchLabelKeys []string
}

// Separation is a kind of rule to keep pods apart.
type Separation string

const (
	NoRule       Separation = "none"   // no rule, so that the scheduler's defaults apply
	SoftAnti     Separation = "soft"   // preferred anti-affinity
	HardAnti     Separation = "hard"   // required anti-affinity
	EvenlySpread Separation = "spread" // topology spread constraints
)

// Separations lists all separations.
var Separations = []Separation{NoRule, SoftAnti, HardAnti, EvenlySpread}

// DomainKey is a topology key and the weight of a preferred term. A weight below 1 means 100, the maximum.
type DomainKey struct {
	// TopologyKey is the node label whose values are the domains.
	TopologyKey string
	Weight      int32
}

// ApartRules returns the rules that keep pods with these labels apart from each other: anti-affinity and spread constraints whose selectors
// match the pods themselves. Terms with namespaces count only if they name this namespace.
func ApartRules(spec *v1.PodSpec, own labels.Set, namespace string) []Rule {
	var rules []Rule
	for _, p := range indexedRules(spec) {
		if keepsApart(spec, p, own, namespace) {
			rules = append(rules, p.Rule)
		}
	}
	return rules
}

// KeepApart replaces the rules that keep pods with these labels apart. It changes the spec in place, so pass a deep copy. The new rules use
// the selector.
func KeepApart(spec *v1.PodSpec, own labels.Set, namespace string, selector *metav1.LabelSelector, by ...Apart) {
	kept := indexedRules(spec)
	for _, p := range slices.Backward(kept) { // backward, so that the indexes of the other rules stay right
		if keepsApart(spec, p, own, namespace) {
			removeRule(spec, p)
		}
	}
	for i := range by {
		addApart(spec, selector, &by[i])
	}
	dropEmptyAffinity(spec)
}

// addApart adds the rules of apart to the spec.
func addApart(spec *v1.PodSpec, selector *metav1.LabelSelector, apart *Apart) {
	for _, over := range apart.Over {
		term := v1.PodAffinityTerm{LabelSelector: selector, TopologyKey: over.TopologyKey, MatchLabelKeys: apart.MatchLabelKeys}
		switch apart.By {
		case SoftAnti:
			anti := antiAffinity(spec)
			weight := over.Weight
			if weight < 1 {
				weight = softWeight
			}
			anti.PreferredDuringSchedulingIgnoredDuringExecution = append(anti.PreferredDuringSchedulingIgnoredDuringExecution,
				v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term})
		case HardAnti:
			anti := antiAffinity(spec)
			anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, term)
		case EvenlySpread:
			unsatisfiable := v1.ScheduleAnyway
			if apart.Required {
				unsatisfiable = v1.DoNotSchedule
			}
			spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
				MaxSkew: max(apart.MaxSkew, 1), TopologyKey: over.TopologyKey, WhenUnsatisfiable: unsatisfiable,
				LabelSelector: selector, MatchLabelKeys: apart.MatchLabelKeys,
			})
		}
	}
}

// keepsApart reports whether the rule keeps pods with these labels apart from each other.
func keepsApart(spec *v1.PodSpec, p indexedRule, own labels.Set, namespace string) bool {
	var selector *metav1.LabelSelector
	switch {
	case p.Kind == Spread:
		selector = spec.TopologySpreadConstraints[p.index].LabelSelector
	case p.Kind == AntiAffinity:
		term := antiAffinityTerm(spec, p)
		if len(term.Namespaces) > 0 && !slices.Contains(term.Namespaces, namespace) {
			return false
		}
		selector = term.LabelSelector
	default:
		return false
	}
	matches, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && matches.Matches(own)
}

// antiAffinityTerm returns the term of the rule, which is an anti-affinity.
func antiAffinityTerm(spec *v1.PodSpec, p indexedRule) *v1.PodAffinityTerm {
	anti := spec.Affinity.PodAntiAffinity
	if p.Hard {
		return &anti.RequiredDuringSchedulingIgnoredDuringExecution[p.index]
	}
	return &anti.PreferredDuringSchedulingIgnoredDuringExecution[p.index].PodAffinityTerm
}

// antiAffinity returns the spec's anti-affinity, and makes it if there is none.
func antiAffinity(spec *v1.PodSpec) *v1.PodAntiAffinity {
	if spec.Affinity == nil {
		spec.Affinity = &v1.Affinity{}
	}
	if spec.Affinity.PodAntiAffinity == nil {
		spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{}
	}
	return spec.Affinity.PodAntiAffinity
}
