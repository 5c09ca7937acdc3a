package sched

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
)

// shownCandidates is how many candidates of a preemption are kept: enough to compare the chosen node with the next ones.
const shownCandidates = 5

// OrderedScoreFuncs is upstream's. It keeps the candidates, from which upstream chooses next.
func (c preemptionInterface) OrderedScoreFuncs(ctx context.Context, nodes map[string]*extenderv1.Victims) []func(string) int64 {
	c.engine.preemptible = nodes
	return c.Interface.OrderedScoreFuncs(ctx, nodes)
}

// preemptionRule is one rule by which upstream compares candidate nodes. The highest score wins.
type preemptionRule struct {
	name  placement.PreemptionRule
	score func(*extenderv1.Victims) int64
}

// preemptionRules are the rules of pickOneNodeForPreemption, in its order. Upstream reports only which node it chose. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/preemption/preemption.go.
var preemptionRules = []preemptionRule{
	{placement.FewestViolations, func(v *extenderv1.Victims) int64 { return -v.NumPDBViolations }},
	{placement.LowestHighest, func(v *extenderv1.Victims) int64 { return -int64(corev1.PodPriority(v.Pods[0])) }},
	{placement.SmallestPrioritySum, func(v *extenderv1.Victims) int64 {
		var sum int64
		for _, pod := range v.Pods {
			sum += int64(corev1.PodPriority(pod)) + math.MaxInt32 + 1
		}
		return -sum
	}},
	{placement.FewestVictims, func(v *extenderv1.Victims) int64 { return -int64(len(v.Pods)) }},
	{placement.LatestStart, func(v *extenderv1.Victims) int64 {
		if earliest := util.GetEarliestPodStartTime(v); earliest != nil {
			return earliest.UnixNano()
		}
		return math.MinInt64
	}},
}

// choiceOf explains why the node was chosen among the nodes on which preemption helps. It returns nil if the node is not among them.
func choiceOf(node string, nodes map[string]*extenderv1.Victims) *placement.Choice {
	if nodes[node] == nil {
		return nil
	}
	choice := &placement.Choice{Nodes: len(nodes), Rule: placement.FirstOfEquals}
	left := slices.Sorted(maps.Keys(nodes))
	for _, rule := range preemptionRules {
		best := rule.score(nodes[node])
		if left = list.Where(left, func(other string) bool { return rule.score(nodes[other]) == best }); len(left) == 1 {
			choice.Rule = rule.name
			break
		}
	}
	others := maps.Clone(nodes)
	delete(others, node)
	order := slices.SortedFunc(maps.Keys(others), func(a, b string) int {
		for _, rule := range preemptionRules {
			if d := cmp.Compare(rule.score(nodes[b]), rule.score(nodes[a])); d != 0 {
				return d
			}
		}
		return cmp.Compare(a, b)
	})
	order = slices.Insert(order, 0, node)
	for _, name := range order[:min(len(order), shownCandidates)] {
		choice.Candidates = append(choice.Candidates, placement.PreemptionCandidate{Node: name, Victims: nodes[name].Pods, Violations: int(nodes[name].NumPDBViolations)})
	}
	return choice
}
