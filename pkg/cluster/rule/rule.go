// Package rule lists the rules in a pod's spec, and changes them one at a time: affinity and anti-affinity, node affinity and node
// selector, and topology spread constraints.
package rule

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/list"
)

// Kind is the part of the spec that a rule is in.
type Kind string

// The kinds of rules, named as their fields in the spec.
const (
	Affinity     Kind = "podAffinity"
	AntiAffinity Kind = "podAntiAffinity"
	NodeAffinity Kind = "nodeAffinity"
	NodeSelector Kind = "nodeSelector"
	Spread       Kind = "topologySpreadConstraints"
)

// Plugin returns the scheduler's plugin that rejects nodes for a hard rule of the kind.
func (k Kind) Plugin() string {
	switch k {
	case Affinity, AntiAffinity:
		return "InterPodAffinity"
	case Spread:
		return "PodTopologySpread"
	}
	return "NodeAffinity"
}

// Rule is one rule of a pod's spec.
type Rule struct {
	// Path is the rule's path in the spec, such as affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	// Hard means that a pod stays Pending rather than break the rule.
	Hard bool `json:"hard,omitempty"`
	// TopologyKey is the node label that forms the rule's domains; empty for rules about nodes themselves.
	TopologyKey string `json:"topologyKey,omitempty"`
	// Selector selects the pods or nodes that the rule is about, in the syntax of kubectl -l. The terms of node affinity are joined by
	// "or". Selector leaves out the requirements that the API server adds from matchLabelKeys and mismatchLabelKeys, since a pod's spec has
	// them but its template's has not.
	Selector string `json:"selector,omitempty"`
	// Besides has the other fields that decide which pods and nodes count, such as namespaces and matchLabelKeys.
	Besides string `json:"besides,omitempty"`
	// Weight is the weight of a preferred term, 1 to 100, and 0 for other rules.
	Weight int32 `json:"weight,omitempty"`
	// MaxSkew and MinDomains are those of a spread constraint, and 0 for other rules.
	MaxSkew    int32 `json:"maxSkew,omitempty"`
	MinDomains int32 `json:"minDomains,omitempty"`
}

// String describes the rule, for example: preferred anti-affinity over topology.kubernetes.io/zone (weight 100).
func (r Rule) String() string {
	switch r.Kind {
	case Affinity, AntiAffinity:
		name := map[Kind]string{Affinity: "affinity", AntiAffinity: "anti-affinity"}[r.Kind]
		if r.Hard {
			return fmt.Sprintf("required %s over %s", name, r.TopologyKey)
		}
		return fmt.Sprintf("preferred %s over %s (weight %d)", name, r.TopologyKey, r.Weight)
	case NodeAffinity:
		if r.Hard {
			return "required node affinity to " + r.Selector
		}
		return fmt.Sprintf("preferred node affinity to %s (weight %d)", r.Selector, r.Weight)
	case NodeSelector:
		return "node selector " + r.Selector
	}
	when := v1.ScheduleAnyway
	if r.Hard {
		when = v1.DoNotSchedule
	}
	return fmt.Sprintf("spread over %s, maxSkew %d, %s", r.TopologyKey, r.MaxSkew, when)
}

// isSameRule reports whether the rule is the same as a rule of another version of the spec, such as a version that a later step applied: both have
// the same path and subject. Weight, skew and hardness may differ.
func (r Rule) isSameRule(other Rule) bool {
	return r.Path == other.Path && r.TopologyKey == other.TopologyKey && r.Selector == other.Selector
}

const (
	required  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferred = "preferredDuringSchedulingIgnoredDuringExecution"
)

// List returns the rules of the spec: pod affinity, pod anti-affinity and node affinity, each with its required rules first, then the node
// selector and the spread constraints, in the order of the spec. Required node affinity is one rule, since its terms are alternatives. The
// node selector is one rule, too.
func List(spec *v1.PodSpec) []Rule {
	return list.Map(indexedRules(spec), func(p indexedRule) Rule { return p.Rule })
}

// indexedRule is a rule and its index in its list.
type indexedRule struct {
	Rule
	index int
}

// indexedRules returns the rules of the spec with their indexes.
func indexedRules(spec *v1.PodSpec) []indexedRule {
	var all []indexedRule
	if affinity := spec.Affinity; affinity != nil {
		all = append(all, podTerms(Affinity, affinity.PodAffinity)...)
		all = append(all, podTerms(AntiAffinity, (*v1.PodAffinity)(affinity.PodAntiAffinity))...) // same fields
		all = append(all, nodeTerms(affinity.NodeAffinity)...)
	}
	if len(spec.NodeSelector) > 0 {
		all = append(all, indexedRule{Rule: Rule{
			Path: string(NodeSelector), Kind: NodeSelector, Hard: true, Selector: labels.FormatLabels(spec.NodeSelector),
		}})
	}
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		all = append(all, indexedRule{index: i, Rule: Rule{
			Path: fmt.Sprintf("%s[%d]", Spread, i), Kind: Spread, Hard: c.WhenUnsatisfiable == v1.DoNotSchedule,
			TopologyKey: c.TopologyKey, Selector: formatSelector(c.LabelSelector, c.MatchLabelKeys, nil), MaxSkew: c.MaxSkew,
			MinDomains: ptr.Deref(c.MinDomains, 0), Besides: formatFields("matchLabelKeys", strings.Join(c.MatchLabelKeys, ","),
				"nodeAffinityPolicy", string(ptr.Deref(c.NodeAffinityPolicy, "")), "nodeTaintsPolicy", string(ptr.Deref(c.NodeTaintsPolicy, ""))),
		}})
	}
	return all
}

// podTerms returns the rules of pod affinity or pod anti-affinity.
func podTerms(kind Kind, affinity *v1.PodAffinity) []indexedRule {
	if affinity == nil {
		return nil
	}
	var all []indexedRule
	add := func(list string, i int, term *v1.PodAffinityTerm, weight int32) {
		all = append(all, indexedRule{index: i, Rule: Rule{
			Path: fmt.Sprintf("affinity.%s.%s[%d]", kind, list, i), Kind: kind, Hard: list == required, TopologyKey: term.TopologyKey,
			Selector: formatSelector(term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys), Weight: weight,
			Besides: formatFields("namespaces", strings.Join(term.Namespaces, ","), "namespaceSelector", formatNamespaces(term.NamespaceSelector),
				"matchLabelKeys", strings.Join(term.MatchLabelKeys, ","), "mismatchLabelKeys", strings.Join(term.MismatchLabelKeys, ",")),
		}})
	}
	hard, soft := affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution
	for i := range hard {
		add(required, i, &hard[i], 0)
	}
	for i := range soft {
		add(preferred, i, &soft[i].PodAffinityTerm, soft[i].Weight)
	}
	return all
}

// nodeTerms returns the rules of node affinity.
func nodeTerms(affinity *v1.NodeAffinity) []indexedRule {
	if affinity == nil {
		return nil
	}
	var all []indexedRule
	path := "affinity." + string(NodeAffinity) + "."
	if hard := affinity.RequiredDuringSchedulingIgnoredDuringExecution; hard != nil {
		var terms []string
		for i := range hard.NodeSelectorTerms {
			terms = append(terms, formatNodeSelector(&hard.NodeSelectorTerms[i]))
		}
		all = append(all, indexedRule{Rule: Rule{Path: path + required, Kind: NodeAffinity, Hard: true, Selector: strings.Join(terms, " or ")}})
	}
	for i := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		term := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
		all = append(all, indexedRule{index: i, Rule: Rule{
			Path: fmt.Sprintf("%s%s[%d]", path, preferred, i), Kind: NodeAffinity, Selector: formatNodeSelector(&term.Preference), Weight: term.Weight,
		}})
	}
	return all
}

// formatSelector formats a label selector without the requirements that the API server merged into it; see cluster.MergeLabelKeys.
func formatSelector(s *metav1.LabelSelector, match, mismatch []string) string {
	if s != nil && len(match)+len(mismatch) > 0 {
		s = s.DeepCopy()
		s.MatchExpressions = slices.DeleteFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Operator == metav1.LabelSelectorOpIn && slices.Contains(match, r.Key) ||
				r.Operator == metav1.LabelSelectorOpNotIn && slices.Contains(mismatch, r.Key)
		})
	}
	return metav1.FormatLabelSelector(s)
}

// formatNamespaces formats a namespace selector; it is "" for nil, which selects no namespaces.
func formatNamespaces(selector *metav1.LabelSelector) string {
	if selector == nil {
		return ""
	}
	return metav1.FormatLabelSelector(selector)
}

// formatFields formats pairs of names and values, and skips empty values.
func formatFields(pairs ...string) string {
	var given []string
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			given = append(given, strings.Join(pair, " "))
		}
	}
	return strings.Join(given, ", ")
}

// formatNodeSelector formats the requirements of a term.
func formatNodeSelector(term *v1.NodeSelectorTerm) string {
	var parts []string
	for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
		operator := selection.Operator(strings.ToLower(string(r.Operator)))
		if r.Operator == v1.NodeSelectorOpDoesNotExist {
			operator = selection.DoesNotExist
		}
		requirement, err := labels.NewRequirement(r.Key, operator, r.Values)
		if err != nil { // the name of a field need not be a valid label key
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Key, operator, strings.Join(r.Values, ","))))
			continue
		}
		parts = append(parts, requirement.String())
	}
	return strings.Join(parts, ",")
}
