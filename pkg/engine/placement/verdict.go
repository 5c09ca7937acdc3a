package placement

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/words"
)

// Credit says in words which plugins decided, by the names that they are to have: "A decided", "A and B decided, neither without the
// other", or "A and B decided together".
func (d *Decision) Credit(name func(plugin string) string) string {
	names := make([]string, len(d.Deciders))
	for i, plugin := range d.Deciders {
		names[i] = name(plugin)
	}
	text := words.And(names) + " decided"
	switch {
	case d.Together:
		return text + " together"
	case len(names) == 2:
		return text + ", neither without the other,"
	case len(names) > 2:
		return text + ", none without the others,"
	}
	return text
}

// Verdict says in a sentence or two what decided that the pod is on its node. The refusals are those of the other nodes.
func (d *Decision) Verdict(node string, refusals []Refusal) string {
	switch {
	case d.Scored == 0 && len(refusals) > 0:
		return fmt.Sprintf("%s is the only node that takes it, since %s.", node, describeRefusals(refusals))
	case d.Scored == 0:
		return node + " is the only node."
	case d.Ties == d.Scored:
		return fmt.Sprintf("Chance decided: all %d nodes that take it have the same score.", d.Scored)
	}
	text := d.Credit(func(plugin string) string { return plugin })
	if len(d.Deciders) == 1 {
		text += " alone"
	}
	text = strings.TrimSuffix(text, ",")
	if d.Ties > 1 {
		text += fmt.Sprintf(" that %s is one of %d equal nodes, and chance which of them", node, d.Ties)
	}
	text += fmt.Sprintf(": %s is %s ahead of %s", node, words.Count(int(d.Margin), "point"), d.RunnerUp)
	var apart []string
	for _, score := range d.Scores {
		if score.Ahead != 0 {
			apart = append(apart, fmt.Sprintf("%+d by %s", score.Ahead, score.Plugin))
		}
	}
	if len(apart) > 1 {
		text += ", " + words.And(apart)
	}
	text += "."
	if d.Together {
		text += " Without only one of them it would be the same."
	}
	return text
}

// RefusedVerdict says in a sentence that no node takes the pod; "" if no plugin refused a node.
func RefusedVerdict(refusals []Refusal) string {
	if len(refusals) == 0 {
		return ""
	}
	return "No node takes it, since " + describeRefusals(refusals) + "."
}

// describeRefusals says which plugin refuses how many nodes.
func describeRefusals(refusals []Refusal) string {
	var plugins []string
	nodes := map[string]int{}
	for _, refusal := range refusals {
		if nodes[refusal.Plugin] == 0 {
			plugins = append(plugins, refusal.Plugin)
		}
		nodes[refusal.Plugin] += refusal.Count
	}
	for i, plugin := range plugins {
		plugins[i] = fmt.Sprintf("%s refuses %s", plugin, words.Count(nodes[plugin], "node"))
	}
	return words.And(plugins)
}
