package report

import (
	"maps"
	"slices"
)

// Group puts the items with the same key together, in order of their first ones.
func Group[T any, K comparable](items []T, key func(T) K) [][]T {
	var groups [][]T
	position := map[K]int{}
	for _, item := range items {
		i, seen := position[key(item)]
		if !seen {
			i = len(groups)
			position[key(item)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], item)
	}
	return groups
}

// Each is what a function makes of each of the items, in order.
func Each[T, U any](items []T, of func(T) U) []U {
	all := make([]U, len(items))
	for i, item := range items {
		all[i] = of(item)
	}
	return all
}

// SortedKeys are the keys of a map, sorted.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
