// Package list has functions on slices that the slices package lacks: they map, filter, count, group and index items.
package list

import "slices"

// Map returns the results of the function for each item, in order, or nil if there are no items.
func Map[T, U any](items []T, of func(T) U) []U {
	if len(items) == 0 {
		return nil
	}
	all := make([]U, len(items))
	for i, item := range items {
		all[i] = of(item)
	}
	return all
}

// Where returns a new list of the items that satisfy the function.
func Where[S ~[]T, T any](items S, holds func(T) bool) S {
	var kept S
	for _, item := range items {
		if holds(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// Without returns a new list of the items that do not satisfy the function.
func Without[S ~[]T, T any](items S, holds func(T) bool) S {
	return slices.DeleteFunc(slices.Clone(items), holds)
}

// Distinct returns a new list of the items without repetitions: the first of equal items stays.
func Distinct[S ~[]T, T comparable](items S) S {
	seen := make(map[T]bool, len(items))
	return Where(items, func(item T) bool {
		first := !seen[item]
		seen[item] = true
		return first
	})
}

// Count returns the number of items that satisfy the function.
func Count[T any](items []T, holds func(T) bool) int {
	n := 0
	for _, item := range items {
		if holds(item) {
			n++
		}
	}
	return n
}

// GroupBy puts items with the same key together. Groups are in the order in which their keys first occur, and items keep their order.
func GroupBy[T any, K comparable](items []T, key func(T) K) [][]T {
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

// IndexBy returns the items by their keys. If several have the same key, the last one stays.
func IndexBy[T any, K comparable](items []T, key func(T) K) map[K]T {
	by := make(map[K]T, len(items))
	for _, item := range items {
		by[key(item)] = item
	}
	return by
}

// KeySet returns the set of the items' keys.
func KeySet[T any, K comparable](items []T, key func(T) K) map[K]bool {
	set := make(map[K]bool, len(items))
	for _, item := range items {
		set[key(item)] = true
	}
	return set
}
