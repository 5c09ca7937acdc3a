package placement

import (
	v1 "k8s.io/api/core/v1"
)

// Choice explains how the scheduler chose the node on which it preempts pods.
type Choice struct {
	// Rule is the first of upstream's rules that left a single node; empty if preemption helped on one node alone.
	Rule PreemptionRule
	// Nodes is the number of nodes on which preemption helped. Candidates are the best of them, the chosen node first.
	Nodes      int
	Candidates []PreemptionCandidate
}

// PreemptionCandidate is a node on which preemption makes room, and the cost of that.
type PreemptionCandidate struct {
	Node string
	// Victims are the pods that would be preempted, the highest priority first. Violations is the number of victims whose disruption budget
	// would be violated.
	Victims    []*v1.Pod
	Violations int
}

// PreemptionRule is a rule by which the scheduler prefers one node to another for preemption.
type PreemptionRule string

// These are the rules in the order in which upstream applies them. See pickOneNodeForPreemption in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/preemption/preemption.go.
const (
	FewestViolations    PreemptionRule = "fewest budgets violated"
	LowestHighest       PreemptionRule = "lowest priority of the highest victim"
	SmallestPrioritySum PreemptionRule = "smallest sum of the victims' priorities"
	FewestVictims       PreemptionRule = "fewest victims"
	LatestStart         PreemptionRule = "victims that started latest"
	FirstOfEquals       PreemptionRule = "first of equal nodes"
)
