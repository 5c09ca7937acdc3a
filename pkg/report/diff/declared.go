package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/words"
)

// Values of DeclaredDiff.Change for something that only one of the reports declares.
const (
	changeAdded   = "added"
	changeDropped = "dropped"
)

// numberChange returns the word for a change of a number, and [firmnessChange] that for a rule or a budget: by is -1 for less, 1 for more and 0 for
// neither.
func numberChange(by int) string { return map[int]string{-1: "lowered", 0: "changed", 1: "raised"}[by] }
func firmnessChange(by int) string {
	return map[int]string{-1: "weakened", 0: "changed", 1: "strengthened"}[by]
}

// IsRemoval reports whether the new declaration protects or places the workload less. Fewer replicas do not count, since the failures show
// their effect. A smaller request does not count either, since it often is the intended change.
func (d DeclaredDiff) IsRemoval() bool {
	switch d.What {
	case "rule", "budget":
		return d.Change == changeDropped || d.Change == firmnessChange(-1)
	case "priority":
		return d.Change == numberChange(-1)
	case "request":
		return d.Change == changeDropped
	}
	return false
}

// text returns "deployment/web drops required anti-affinity over zone", or "deployment/web has priority 0 instead of priority 10".
func (d DeclaredDiff) text() string {
	if d.Change == changeDropped {
		return d.Qualified() + " drops " + d.Old
	}
	return fmt.Sprintf("%s has %s instead of %s", d.Qualified(), d.New, d.Old)
}

// Brief returns "drops required anti-affinity over zone", or "has priority 0 instead of priority 10".
func (d DeclaredDiff) Brief() string { return strings.TrimPrefix(d.text(), d.Qualified()+" ") }

// declaredAfter returns the declarations after the last of the steps. A step without declarations has those of the step before it. It
// returns nil if no step has any.
func declaredAfter[S any](steps []S, of func(*S) []report.Declared) []report.Declared {
	for i := range slices.Backward(steps) {
		if all := of(&steps[i]); all != nil {
			return all
		}
	}
	return nil
}

// addDeclared adds the differences in declarations that no earlier step has. It reports whether it adds any.
func (d *Report) addDeclared(step string, old, new []report.Declared) bool {
	before := len(d.Declared)
	if old == nil || new == nil {
		return false
	}
	add := func(of *report.Declared, changes []DeclaredDiff) {
		for _, c := range changes {
			c.WorkloadRef, c.Source = of.Workload(), of.Source
			if !slices.ContainsFunc(d.Declared, func(known DeclaredDiff) bool {
				return known.WorkloadRef == c.WorkloadRef && known.What == c.What && known.Old == c.Old && known.New == c.New
			}) {
				c.Step = step
				d.Declared = append(d.Declared, c)
			}
		}
	}
	for _, w := range pairBy(old, new, func(w report.Declared) cluster.Ref { return w.Ref }) {
		switch {
		case w.old == nil:
			add(w.new, []DeclaredDiff{{What: "workload", Change: changeAdded, New: declaredText(w.new)}})
		case w.new == nil:
			add(&report.Declared{Ref: w.old.Ref}, []DeclaredDiff{{What: "workload", Change: changeDropped, Old: declaredText(w.old)}})
		default:
			add(w.new, declaredDiffs(w.old, w.new))
		}
	}
	return len(d.Declared) > before
}

// declaredText returns "spread over zone, maxSkew 1, DoNotSchedule; 3 replicas; cpu 1".
func declaredText(d *report.Declared) string {
	all := list.Map(declaredDiffs(&report.Declared{}, d), func(one DeclaredDiff) string { return one.New })
	return strings.Join(all, "; ")
}

func declaredDiffs(old, new *report.Declared) []DeclaredDiff {
	var all []DeclaredDiff
	add := func(what, change, old, new string) {
		all = append(all, DeclaredDiff{What: what, Change: change, Old: old, New: new})
	}
	for _, p := range pairInTurn(old.Rules, new.Rules, withoutPath, onlySubject, onlyDomains) {
		switch before, after := p.old, p.new; {
		case before == nil:
			add("rule", changeAdded, "", after.String())
		case after == nil:
			add("rule", changeDropped, before.String(), "")
		case withoutPath(*before) != withoutPath(*after):
			texts := [2]string{before.String(), after.String()}
			if texts[0] == texts[1] {
				texts = [2]string{detailedRule(before), detailedRule(after)}
			}
			add("rule", firmnessChange(compareRules(before, after)), texts[0], texts[1])
		}
	}
	name := func(b report.Budget) string { return b.Name }
	for _, p := range pairInTurn(old.Budgets, new.Budgets, name, func(report.Budget) string { return "" }) {
		switch before, after := p.old, p.new; {
		case before == nil:
			add("budget", changeAdded, "", budgetText(after))
		case after == nil:
			add("budget", changeDropped, budgetText(before), "")
		case *before != *after:
			replicas := ptr.Deref(new.Replicas, 100)
			add("budget", firmnessChange(cmp.Compare(budgetMinimum(after, replicas), budgetMinimum(before, replicas))), budgetText(before), budgetText(after))
		}
	}
	if before, after := ptr.Deref(old.Replicas, 0), ptr.Deref(new.Replicas, 0); before != after {
		add("replicas", numberChange(cmp.Compare(after, before)), words.Count(before, "replica"), words.Count(after, "replica"))
	}
	if old.Priority != new.Priority {
		add("priority", numberChange(cmp.Compare(new.Priority, old.Priority)), fmt.Sprint("priority ", old.Priority), fmt.Sprint("priority ", new.Priority))
	}
	switch before, after := old.Autoscaler, new.Autoscaler; {
	case before == nil && after == nil:
	case before == nil:
		add("autoscaler", changeAdded, "", after.Text())
	case after == nil:
		add("autoscaler", changeDropped, before.Text(), "")
	case *before != *after:
		add("autoscaler", numberChange(cmp.Or(cmp.Compare(after.Max, before.Max), cmp.Compare(after.Min, before.Min))), before.Text(), after.Text())
	}
	all = append(all, quantityDiffs("request", old.Requests, new.Requests)...)
	return append(all, quantityDiffs("quota", old.Hard, new.Hard)...)
}

// quantityDiffs compares amounts by resource. what says what they are.
func quantityDiffs(what string, old, new map[v1.ResourceName]string) []DeclaredDiff {
	var all []DeclaredDiff
	names := maps.Clone(old)
	if names == nil {
		names = map[v1.ResourceName]string{}
	}
	maps.Copy(names, new)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, after := old[name], new[name]
		text := func(quantity string) string { return string(name) + " " + quantity }
		switch {
		case before == "":
			all = append(all, DeclaredDiff{What: what, Change: changeAdded, New: text(after)})
		case after == "":
			all = append(all, DeclaredDiff{What: what, Change: changeDropped, Old: text(before)})
		default:
			if by := compareQuantities(after, before); by != 0 {
				all = append(all, DeclaredDiff{What: what, Change: numberChange(by), Old: text(before), New: text(after)})
			}
		}
	}
	return all
}

// pairInTurn pairs elements with an equal first key, then the others with an equal second key, and so on. Elements that stay alone are
// paired with nil.
func pairInTurn[T any, K comparable](old, new []T, keys ...func(T) K) []pair[T] {
	var all []pair[T]
	for _, key := range keys {
		all = append(all, list.Where(pairBy(old, new, key), func(p pair[T]) bool { return p.old != nil && p.new != nil })...)
		new, old = unpaired(old, new, key)
	}
	for i := range old {
		all = append(all, pair[T]{&old[i], nil})
	}
	for i := range new {
		all = append(all, pair[T]{nil, &new[i]})
	}
	return all
}

// withoutPath, [onlySubject] and [onlyDomains] are keys that keep less and less of a rule: all but its path in the spec; the pods or nodes that it
// is about; only its kind and its level.
func withoutPath(r rule.Rule) rule.Rule {
	r.Path = ""
	return r
}

func onlySubject(r rule.Rule) rule.Rule {
	return rule.Rule{Kind: r.Kind, TopologyKey: r.TopologyKey, Selector: r.Selector, Besides: r.Besides}
}

func onlyDomains(r rule.Rule) rule.Rule { return rule.Rule{Kind: r.Kind, TopologyKey: r.TopologyKey} }

// compareRules returns a negative number if the new version of a rule is weaker, or asks nodes for fewer labels, and a positive one if it
// is stronger.
func compareRules(old, new *rule.Rule) int {
	firm := map[bool]int{true: 1}
	if by := cmp.Or(cmp.Compare(firm[new.Hard], firm[old.Hard]), cmp.Compare(new.Weight, old.Weight), cmp.Compare(old.MaxSkew, new.MaxSkew),
		cmp.Compare(new.MinDomains, old.MinDomains)); by != 0 || new.Kind != rule.NodeSelector {
		return by
	}
	labels := func(r *rule.Rule) []string { return strings.Split(r.Selector, ",") }
	switch {
	case len(subtractNames(labels(new), labels(old))) == 0:
		return -1
	case len(subtractNames(labels(old), labels(new))) == 0:
		return 1
	}
	return 0
}

// detailedRule returns the rule in words with all its fields.
func detailedRule(r *rule.Rule) string {
	text := fmt.Sprintf("%s of %s", r, r.Selector)
	if r.MinDomains > 0 {
		text += fmt.Sprint(", minDomains ", r.MinDomains)
	}
	if r.Besides != "" {
		text += ", " + r.Besides
	}
	return text
}

// compareQuantities compares two quantities. It returns 0 if one of them is not a quantity.
func compareQuantities(a, b string) int {
	x, err := resource.ParseQuantity(a)
	y, err2 := resource.ParseQuantity(b)
	if err != nil || err2 != nil {
		return 0
	}
	return x.Cmp(y)
}

func budgetText(b *report.Budget) string {
	limit := "minAvailable " + b.MinAvailable
	if b.MaxUnavailable != "" {
		limit = "maxUnavailable " + b.MaxUnavailable
	}
	return "budget " + b.Name + " with " + limit
}

// budgetMinimum returns how many of the replicas the budget keeps, as the disruption controller computes it.
func budgetMinimum(b *report.Budget, replicas int) int {
	of := func(limit string) int {
		n, _ := intstr.GetScaledValueFromIntOrPercent(ptr.To(intstr.Parse(limit)), replicas, true)
		return n
	}
	if b.MaxUnavailable != "" {
		return max(0, replicas-of(b.MaxUnavailable))
	}
	return of(b.MinAvailable)
}
