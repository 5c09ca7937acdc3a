package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/words"
)

// Left describes what the filters left to pods of one workload that got their nodes one after another.
type Left struct {
	// Pods is the number of pods with these numbers.
	Pods int `json:"pods"`
	// Looked is the number of nodes that the filters looked at: all nodes of the cluster, or fewer if the scheduler stopped when it had
	// found enough.
	Looked int `json:"looked"`
	// Nodes is the number of nodes that passed all filters. The scores chose among them.
	Nodes int `json:"nodes"`
	// Refused are the plugins that refused the other nodes. A node counts for the first plugin that refused it.
	Refused []RefusedBy `json:"refused,omitempty"`

	all int // nodes of the cluster
}

// RefusedBy is the number of nodes that a plugin refused.
type RefusedBy struct {
	Plugin string `json:"plugin"`
	Nodes  int    `json:"nodes"`
}

// groupByRefusals groups consecutive pods with the same numbers, in the order in which they got their nodes.
func groupByRefusals(placed []placement.Placement) []Left {
	var groups []Left
	for _, p := range placed {
		now := Left{Pods: 1, Nodes: p.Feasible, all: p.Nodes}
		looked := p.Feasible
		for _, plugin := range slices.Sorted(maps.Keys(p.Filtered)) {
			now.Refused = append(now.Refused, RefusedBy{plugin, p.Filtered[plugin]})
			looked += p.Filtered[plugin]
		}
		slices.SortStableFunc(now.Refused, func(a, b RefusedBy) int { return cmp.Compare(b.Nodes, a.Nodes) })
		now.Looked = min(looked, p.Nodes) // a nominated node that refuses the pod is filtered twice
		if last := len(groups) - 1; last >= 0 && groups[last].equalCounts(now) {
			groups[last].Pods++
			continue
		}
		groups = append(groups, now)
	}
	return groups
}

func (l Left) equalCounts(as Left) bool {
	return l.all == as.all && l.Looked == as.Looked && l.Nodes == as.Nodes && slices.Equal(l.Refused, as.Refused)
}

// maxGroups is the number of groups that a sentence lists. If there are more, it gives the first and the last.
const maxGroups = 4

// describeLeft says how many nodes the filters left, and which plugins refused the others. It returns "" if no plugin refused a node.
func describeLeft(groups []Left) string {
	if !slices.ContainsFunc(groups, func(l Left) bool { return len(l.Refused) > 0 }) {
		return ""
	}
	pods := 0
	for _, l := range groups {
		pods += l.Pods
	}
	first, last := groups[0], groups[len(groups)-1]
	text := fmt.Sprintf("%s had %s", describeFirstPods(first.Pods, pods), first.describe(Left{}))
	switch between := groups[1:max(1, len(groups)-1)]; {
	case len(groups) == 1:
		return text
	case len(groups) <= maxGroups:
		before := first
		for _, l := range between {
			text += fmt.Sprintf(", the next %s%s", describeLastPods(l.Pods), l.describe(before))
			before = l
		}
		return text + fmt.Sprintf(", the last %s%s", describeLastPods(last.Pods), last.describe(before))
	default:
		fewest, most := between[0].Nodes, between[0].Nodes
		for _, l := range between {
			fewest, most = min(fewest, l.Nodes), max(most, l.Nodes)
		}
		return text + fmt.Sprintf(", the %d between had %s, the last %s%s", pods-first.Pods-last.Pods, formatRange(fewest, most), describeLastPods(last.Pods), last.describe(first))
	}
}

// describe says how many nodes were left, and which plugin refused how many. It omits the number of all nodes if the group before has the
// same.
func (l Left) describe(before Left) string {
	text := fmt.Sprint(l.Nodes)
	switch {
	case l.Looked < l.all && l.Looked != before.Looked:
		text += fmt.Sprintf(" of the %s looked at", words.Count(l.Looked, "node"))
	case l.Looked != before.Looked:
		text += " of " + words.Count(l.all, "node")
	}
	if before.Pods == 0 {
		text += " left"
	}
	if len(l.Refused) == 0 {
		return text
	}
	var by []string
	for i, r := range l.Refused {
		if i == 0 {
			by = append(by, fmt.Sprintf("%s refused %d", r.Plugin, r.Nodes))
		} else {
			by = append(by, fmt.Sprintf("%s %d", r.Plugin, r.Nodes))
		}
	}
	return text + " (" + words.And(by) + ")"
}

// formatRange returns "3 to 7", or "3" if both are the same.
func formatRange(from, last int) string {
	if from == last {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d to %d", from, last)
}

func describeFirstPods(n, all int) string {
	switch {
	case n == all:
		return describePods(n, all)
	case n == 1:
		return fmt.Sprintf("the first of %d pods", all)
	}
	return fmt.Sprintf("the first %d of %d pods", n, all)
}

// describeLastPods continues "the last " with "had ", or with "2 had ".
func describeLastPods(n int) string {
	if n == 1 {
		return "had "
	}
	return fmt.Sprintf("%d had ", n)
}
