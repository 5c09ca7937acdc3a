package rebalance

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// PolicyStep is the name of the step in which a decider chooses the pods.
const PolicyStep = "rebalance"

// Policy is what a decider, such as the descheduler, makes of the spread.
type Policy struct {
	// Decider is the name of the decider.
	Decider string `json:"decider"`
	// Rounds is the number of rounds in which it evicts pods.
	Rounds int `json:"rounds"`
	// Back is the number of evicted pods whose next pod is on the node that they left, Unplaced that of those whose next pod has no node.
	Back     int `json:"back"`
	Unplaced int `json:"unplaced"`
	// Refused are the evictions that the API server refused, the first of each pod.
	Refused []world.Act `json:"refused,omitempty"`
	// Cycle is a course of acts that repeats without end; missing if the decider comes to rest.
	Cycle *world.Cycle `json:"cycle,omitempty"`
}

// DescribePolicy returns the moves of the last step of a run in which a decider begins at the step [PolicyStep].
func DescribePolicy(result *simulation.Result, opts Options) *Answer {
	before, last := &result.Steps[len(result.Steps)-2], result.Last()
	r := &rebalancing{Options: opts}
	answer := &Answer{Goal: opts.Goal, Level: opts.Level, Moves: []Move{}, End: last.State, Policy: &Policy{Decider: result.Scenario.Deciders[len(result.Scenario.Deciders)-1].Name}}
	answer.Before, answer.After = sumGaps(r.findGaps(before.State)), sumGaps(r.findGaps(last.State))
	for _, act := range last.Acts {
		p := answer.Policy
		switch {
		case act.Decider != p.Decider || act.Verb != "evict":
			continue
		case act.Refused != "":
			if !slices.ContainsFunc(p.Refused, func(other world.Act) bool { return other.Object == act.Object }) {
				p.Refused = append(p.Refused, act)
			}
			continue
		case act.To == "":
			p.Unplaced++
		case act.To == act.Node:
			p.Back++
		}
		ref := cluster.PodRef{Namespace: act.Object.Namespace, Name: act.Object.Name, Workload: act.Owner.String()}
		answer.Moves = append(answer.Moves, Move{PodRef: ref, From: act.Node, To: act.To, Why: act.Why, Round: act.Round})
		p.Rounds = max(p.Rounds, act.Round)
	}
	for i := range last.Cycles {
		if last.Cycles[i].Decider == answer.Policy.Decider {
			answer.Policy.Cycle = &last.Cycles[i]
		}
	}
	return answer
}
