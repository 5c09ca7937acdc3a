package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/list"
)

// NodeLabels returns the labels of each node.
func NodeLabels(nodes []*v1.Node) []labels.Set {
	return list.Map(nodes, func(node *v1.Node) labels.Set { return node.Labels })
}

// ListChoices lists the names that exist, for the end of an error: "there is a", "there are a, b". Of many names it lists the eight that are
// spelled most like the wanted one.
func ListChoices(wanted string, all []string) string {
	switch len(all) {
	case 0:
		return "there are none"
	case 1:
		return "there is " + all[0]
	}
	return "there are " + enumerate(wanted, all)
}

// enumerate lists at most eight names, those spelled most like the wanted one, and the number of the others.
func enumerate(wanted string, all []string) string {
	const most = 8
	all = slices.Clone(all)
	slices.Sort(all)
	more := len(all) - most
	if more > 0 {
		distance := map[string]int{}
		for _, name := range all {
			distance[name] = levenshtein.Distance(wanted, name, nil)
		}
		slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(distance[a], distance[b]) })
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), more)
	}
	return strings.Join(all, ", ")
}

// LabelHint lists the values of a label or, if no object has the label, the labels that exist.
func LabelHint(key, what string, sets []labels.Set) string {
	keys, values := map[string]bool{}, map[string]bool{}
	for _, set := range sets {
		for k, v := range set {
			keys[k] = true
			if k == key {
				values[v] = true
			}
		}
	}
	if len(values) == 0 {
		return fmt.Sprintf("no %s has a label %q; %s", what, key, ListChoices(key, slices.Sorted(maps.Keys(keys))))
	}
	if len(values) == 1 {
		return fmt.Sprintf("the one value of %s is %s", key, slices.Sorted(maps.Keys(values))[0])
	}
	return fmt.Sprintf("the values of %s are %s", key, enumerate("", slices.Sorted(maps.Keys(values))))
}

// NoMatchError says why a selector of nodes or pods matches none of them.
type NoMatchError struct{ Why string }

func (e *NoMatchError) Error() string { return e.Why }

// CheckMatches returns an error that says why the selector matches none of these sets of labels, or nil if it matches one. What are the objects
// with the labels, in the singular.
func CheckMatches(text, what string, sets []labels.Set) error {
	selector, err := ParseSelector(text)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(sets, func(set labels.Set) bool { return selector.Matches(set) }) {
		return nil
	}
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		if !slices.ContainsFunc(sets, func(set labels.Set) bool { return requirement.Matches(set) }) {
			return &NoMatchError{fmt.Sprintf("%q matches no %s; %s", text, what, LabelHint(requirement.Key(), what, sets))}
		}
	}
	return &NoMatchError{fmt.Sprintf("%q matches no %s; each requirement matches some, but no %s matches all", text, what, what)}
}
