package placement

import (
	v1 "k8s.io/api/core/v1"
)

// Choice is how the scheduler chose the node on which it preempts pods.
type Choice struct {
	// Rule is the first of upstream's rules after which a single node was left; empty if preemption helped on one node alone.
	Rule PreemptionRule
	// Nodes is the number of nodes on which preemption helped, and Candidates the best of them: the chosen node first.
	Nodes      int
	Candidates []PreemptionCandidate
}

// PreemptionCandidate is a node on which preemption makes room, and what it costs there.
type PreemptionCandidate struct {
	Node string
	// Victims are the pods that would go, the highest priority first, and Violations how many budgets' limits that breaks.
	Victims    []*v1.Pod
	Violations int
}

// PreemptionRule is a rule by which the scheduler prefers one node to another for preemption.
type PreemptionRule string

// The rules in the order in which they count. See pickOneNodeForPreemption in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/preemption/preemption.go.
const (
	FewestViolations    PreemptionRule = "fewest budgets violated"
	LowestHighest       PreemptionRule = "lowest priority of the highest victim"
	SmallestPrioritySum PreemptionRule = "smallest sum of the victims' priorities"
	FewestVictims       PreemptionRule = "fewest victims"
	LatestStart         PreemptionRule = "victims that started latest"
	FirstOfEquals       PreemptionRule = "first of equal nodes"
)
