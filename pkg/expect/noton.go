package expect

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// families are kube-scheduler's messages about nodes, in groups that are easily taken for each other.
var families = [][]string{
	{"node(s) didn't match pod anti-affinity rules", "node(s) didn't satisfy existing pods anti-affinity rules", "node(s) didn't match pod affinity rules"},
	{"node(s) didn't match pod topology spread constraints", "node(s) didn't match pod topology spread constraints (missing required label)"},
	{"node(s) had untolerated taint(s)", "node(s) were unschedulable", "node(s) didn't match Pod's node affinity/selector"},
	{"Insufficient cpu", "Insufficient memory", "Too many pods"},
	{"node(s) didn't match PersistentVolume's node affinity", "node(s) didn't find available persistent volumes to bind", "node(s) didn't match Pod's node affinity/selector"},
}

// These are the reasons of a node that passes every filter.
const (
	fewerPoints = "it passes every filter, and has fewer points"
	fewerBy     = "it has fewer points by " // a plugin
	asMany      = "it has as many points, and chance decided"
)

// enoughPlugins is the number of plugins to choose from for a node's fewer points. If fewer than that tell the two nodes apart, others that
// give both the same are offered, too.
const enoughPlugins = 4

// reasonAnswers returns the reasons why the pod is not on the node, the most important first; none if it is there, or if the scheduler did
// not look at the node.
func reasonAnswers(of *scenario.NotOn, step *simulation.Step) [][]string {
	cycle, node := CycleInQuestion(of, step)
	if cycle == nil || node == of.Node {
		return [][]string{}
	}
	if refusal := cycle.RefusalOf(of.Node); refusal != nil {
		return [][]string{{refusal.Message}}
	}
	other := slices.IndexFunc(cycle.Candidates, func(c placement.Candidate) bool { return c.Node == of.Node })
	chosen := cycle.Chosen()
	switch {
	case other < 0 || chosen == nil:
		return [][]string{}
	case chosen.Total == cycle.Candidates[other].Total:
		return [][]string{{asMany}}
	}
	ahead := cycle.ScoreDifference(chosen.Node, of.Node)
	behind := list.Where(cycle.Plugins(cycle), func(plugin string) bool { return ahead[plugin] > 0 })
	slices.SortStableFunc(behind, func(a, b string) int { return cmp.Compare(ahead[b], ahead[a]) })
	return list.Map(behind, func(plugin string) []string { return []string{fewerBy + plugin} })
}

// reasonInWords returns the reasons as a sentence without its full stop.
func reasonInWords(reasons [][]string) string {
	var plugins []string
	for _, reason := range reasons {
		plugin, found := strings.CutPrefix(reason[0], fewerBy)
		switch {
		case reason[0] == asMany:
			return words.UpperFirst(asMany)
		case !found:
			return "`" + reason[0] + "`"
		}
		plugins = append(plugins, plugin)
	}
	return words.UpperFirst(fewerBy) + words.And(plugins)
}

// reasonChoices returns the right reasons, and wrong ones that are like them.
func reasonChoices(of *scenario.NotOn, step *simulation.Step) []string {
	cycle, _ := CycleInQuestion(of, step)
	if cycle == nil {
		return nil
	}
	var choices []string
	offer := func(texts ...string) {
		for _, text := range texts {
			if !slices.Contains(choices, text) {
				choices = append(choices, text)
			}
		}
	}
	for _, right := range reasonAnswers(of, step) {
		offer(right...)
	}
	if refusal := cycle.RefusalOf(of.Node); refusal != nil {
		for _, family := range families {
			if slices.Contains(family, refusal.Message) {
				offer(family...)
			}
		}
		offer(fewerPoints)
		return choices
	}
	if chosen := cycle.Chosen(); chosen != nil {
		ahead, plugins := cycle.ScoreDifference(chosen.Node, of.Node), cycle.Plugins(cycle)
		for _, plugin := range plugins {
			if ahead[plugin] < 0 {
				offer(fewerBy + plugin)
			}
		}
		for _, plugin := range plugins {
			if len(choices) < enoughPlugins {
				offer(fewerBy + plugin)
			}
		}
	}
	offer(asMany, families[0][0])
	return choices
}

// CycleInQuestion returns the scheduling cycle of the pod, and its node; nil if there is no such pod or its cycle was not recorded.
func CycleInQuestion(of *scenario.NotOn, step *simulation.Step) (cycle *placement.Cycle, node string) {
	if pending := matchingPending(step.Pending, of.Selector); len(pending) > 0 {
		return pending[0].Cycle, ""
	}
	matches := ParseSelector(of.Selector)
	for i := range slices.Backward(step.Placed) {
		if p := &step.Placed[i]; matches.Matches(labels.Set(p.Pod.Labels)) {
			return p.Cycle, p.Node
		}
	}
	return nil, ""
}
