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
)

// NodeLabels are the labels of each node.
func NodeLabels(nodes []*v1.Node) []labels.Set {
	sets := make([]labels.Set, len(nodes))
	for i, node := range nodes {
		sets[i] = node.Labels
	}
	return sets
}

// Or lists what is legal: a, b or c.
func Or(legal []string) string {
	last := len(legal) - 1
	if last < 1 {
		return strings.Join(legal, "")
	}
	return strings.Join(legal[:last], ", ") + " or " + legal[last]
}

// Choices lists the names that exist.
func Choices(wanted string, all []string) string {
	switch len(all) {
	case 0:
		return "there are none"
	case 1:
		return "there is " + all[0]
	}
	return "there are " + enumerate(wanted, all)
}

// enumerate lists names; of many, those spelled most like the wanted one.
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

// LabelHint lists the values of a label, or the labels that exist instead of it.
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
		return fmt.Sprintf("no %s has a label %q; %s", what, key, Choices(key, slices.Sorted(maps.Keys(keys))))
	}
	if len(values) == 1 {
		return fmt.Sprintf("the one value of %s is %s", key, slices.Sorted(maps.Keys(values))[0])
	}
	return fmt.Sprintf("the values of %s are %s", key, enumerate("", slices.Sorted(maps.Keys(values))))
}
