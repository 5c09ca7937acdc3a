package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/list"
)

// softWeight is the weight of a softened rule: the maximum.
const softWeight = 100

// Remove removes the rule from the spec and reports whether it was there. It changes the spec in place, so pass a deep copy. It also
// removes the fields that become empty: an empty affinity would change a template's pod-template-hash for nothing.
func Remove(spec *v1.PodSpec, r Rule) bool {
	p, found := findRule(spec, r)
	if !found {
		return false
	}
	removeRule(spec, p)
	dropEmptyAffinity(spec)
	return true
}

// SetWeight sets the weight, 1 to 100, of a preferred term. It changes the spec in place, so pass a deep copy. It reports whether the spec
// has the rule and the rule has a weight.
func SetWeight(spec *v1.PodSpec, r Rule, weight int32) bool {
	p, found := findRule(spec, r)
	if !found || p.Weight == 0 {
		return false
	}
	if p.Kind == NodeAffinity {
		spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[p.index].Weight = weight
	} else {
		podAffinity(spec, p.Kind).PreferredDuringSchedulingIgnoredDuringExecution[p.index].Weight = weight
	}
	return true
}

// soften makes a hard rule of the spec soft, in place. A required term, or each term of required node affinity, becomes a preferred term of
// weight 100. A node selector becomes preferred node affinity, and DoNotSchedule becomes ScheduleAnyway. Soften reports whether it changed
// the spec. It does not if the rule is missing or already soft, or if it is a spread constraint and the spec already has a soft one over
// the same key, since the API server accepts only one.
func soften(spec *v1.PodSpec, r Rule) bool {
	p, found := findRule(spec, r)
	if !found || !p.Hard {
		return false
	}
	switch p.Kind {
	case Affinity, AntiAffinity:
		a := podAffinity(spec, p.Kind)
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.WeightedPodAffinityTerm{Weight: softWeight, PodAffinityTerm: a.RequiredDuringSchedulingIgnoredDuringExecution[p.index]})
	case NodeAffinity:
		addPreferredTerms(spec, spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms...)
	case NodeSelector:
		var term v1.NodeSelectorTerm
		for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
			term.MatchExpressions = append(term.MatchExpressions,
				v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{spec.NodeSelector[key]}})
		}
		addPreferredTerms(spec, term)
	case Spread:
		for _, c := range spec.TopologySpreadConstraints {
			if c.TopologyKey == p.TopologyKey && c.WhenUnsatisfiable == v1.ScheduleAnyway {
				return false
			}
		}
		c := &spec.TopologySpreadConstraints[p.index]
		c.WhenUnsatisfiable, c.MinDomains = v1.ScheduleAnyway, nil // minDomains is only valid with DoNotSchedule
		return true
	}
	removeRule(spec, p)
	dropEmptyAffinity(spec)
	return true
}

// Relax softens a hard rule, or removes a rule that cannot become soft. It changes the spec in place, so pass a deep copy. It describes the
// change.
func Relax(spec *v1.PodSpec, r Rule) string {
	switch {
	case !soften(spec, r):
		Remove(spec, r)
		return "remove the " + r.String()
	case r.Kind == Spread:
		return fmt.Sprintf("make the spread over %s %s", r.TopologyKey, v1.ScheduleAnyway)
	case r.Kind == NodeSelector:
		return fmt.Sprintf("make the %s preferred node affinity", r)
	}
	return fmt.Sprintf("make the %s preferred", r)
}

// SoftenLabel turns the requirements of the node selector and of required node affinity on one node label into preferences of weight 100,
// in place. Requirements on other labels stay. It returns the requirements as text, such as topology.kubernetes.io/zone in (a), or "" if
// there are none.
func SoftenLabel(spec *v1.PodSpec, key string) string {
	var soft []v1.NodeSelectorTerm
	if value, asked := spec.NodeSelector[key]; asked {
		soft = append(soft, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}})
		if delete(spec.NodeSelector, key); len(spec.NodeSelector) == 0 {
			spec.NodeSelector = nil
		}
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		of := func(r v1.NodeSelectorRequirement) bool { return r.Key == key }
		terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		for i := range terms {
			if asked := list.Where(terms[i].MatchExpressions, of); len(asked) > 0 {
				soft = append(soft, v1.NodeSelectorTerm{MatchExpressions: asked})
				terms[i].MatchExpressions = list.Without(terms[i].MatchExpressions, of)
			}
		}
		// A term without requirements matches no node. Terms are alternatives, so a term that required only this label now lets every node
		// pass.
		if slices.ContainsFunc(terms, func(t v1.NodeSelectorTerm) bool { return len(t.MatchExpressions)+len(t.MatchFields) == 0 }) {
			a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
	}
	if len(soft) == 0 {
		return ""
	}
	addPreferredTerms(spec, soft...)
	return strings.Join(list.Map(soft, func(t v1.NodeSelectorTerm) string { return formatNodeSelector(&t) }), " or ")
}

// addPreferredTerms adds the terms to the preferred node affinity, with weight 100.
func addPreferredTerms(spec *v1.PodSpec, terms ...v1.NodeSelectorTerm) {
	if spec.Affinity == nil {
		spec.Affinity = &v1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	a := spec.Affinity.NodeAffinity
	for _, term := range terms {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.PreferredSchedulingTerm{Weight: softWeight, Preference: term})
	}
}

// findRule returns the rule of the spec that has the path and subject of r.
func findRule(spec *v1.PodSpec, r Rule) (indexedRule, bool) {
	all := indexedRules(spec)
	i := slices.IndexFunc(all, func(p indexedRule) bool { return p.isSameRule(r) })
	if i < 0 {
		return indexedRule{}, false
	}
	return all[i], true
}

// removeRule removes the rule from the spec.
func removeRule(spec *v1.PodSpec, p indexedRule) {
	switch p.Kind {
	case Affinity, AntiAffinity:
		a := podAffinity(spec, p.Kind)
		if p.Hard {
			a.RequiredDuringSchedulingIgnoredDuringExecution = deleteAt(a.RequiredDuringSchedulingIgnoredDuringExecution, p.index)
		} else {
			a.PreferredDuringSchedulingIgnoredDuringExecution = deleteAt(a.PreferredDuringSchedulingIgnoredDuringExecution, p.index)
		}
	case NodeAffinity:
		a := spec.Affinity.NodeAffinity
		if p.Hard {
			a.RequiredDuringSchedulingIgnoredDuringExecution = nil
		} else {
			a.PreferredDuringSchedulingIgnoredDuringExecution = deleteAt(a.PreferredDuringSchedulingIgnoredDuringExecution, p.index)
		}
	case NodeSelector:
		spec.NodeSelector = nil
	case Spread:
		spec.TopologySpreadConstraints = deleteAt(spec.TopologySpreadConstraints, p.index)
	}
}

// podAffinity returns the affinity or the anti-affinity. Both types have the same fields.
func podAffinity(spec *v1.PodSpec, kind Kind) *v1.PodAffinity {
	if kind == Affinity {
		return spec.Affinity.PodAffinity
	}
	return (*v1.PodAffinity)(spec.Affinity.PodAntiAffinity)
}

// deleteAt returns the list without element i, or nil if nothing is left.
func deleteAt[T any](list []T, i int) []T {
	if len(list) == 1 {
		return nil
	}
	return slices.Delete(list, i, i+1)
}

// dropEmptyAffinity removes the empty parts of the affinity.
func dropEmptyAffinity(spec *v1.PodSpec) {
	a := spec.Affinity
	if a == nil {
		return
	}
	none := func(p *v1.PodAffinity) bool {
		return p != nil && len(p.RequiredDuringSchedulingIgnoredDuringExecution)+len(p.PreferredDuringSchedulingIgnoredDuringExecution) == 0
	}
	if none(a.PodAffinity) {
		a.PodAffinity = nil
	}
	if none((*v1.PodAffinity)(a.PodAntiAffinity)) {
		a.PodAntiAffinity = nil
	}
	if n := a.NodeAffinity; n != nil && n.RequiredDuringSchedulingIgnoredDuringExecution == nil &&
		len(n.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		a.NodeAffinity = nil
	}
	if *a == (v1.Affinity{}) {
		spec.Affinity = nil
	}
}
