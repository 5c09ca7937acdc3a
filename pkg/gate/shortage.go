package gate

import (
	"context"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// shortage is how many pods of a workload do not run after a step: Pending ones, or ones that the API server refuses to create.
type shortage struct {
	of      cluster.Ref
	pods    int
	pending *placement.Pending // the first of the Pending pods; nil for refused ones
	refused *cluster.Refusal
}

func (s *shortage) isPending() bool { return s.pending != nil }

func (s *shortage) what() string {
	if s.isPending() {
		return "Pending"
	}
	return "not created"
}

// shortages returns the shortages after a step, those of Pending pods first. It leaves out pods that were Pending before the first step.
func shortages(result *simulation.Result, step *simulation.Step) []shortage {
	var all []shortage
	owner := step.State.Owners()
	for _, group := range list.GroupBy(pendingSince(result, step), func(p placement.Pending) cluster.Ref { return owner(p.Pod) }) {
		all = append(all, shortage{of: owner(group[0].Pod), pods: len(group), pending: &group[0]})
	}
	for i := range step.State.Refused {
		if r := &step.State.Refused[i]; r.OfWorkload() {
			all = append(all, shortage{of: r.Ref, pods: r.Pods, refused: r})
		}
	}
	return all
}

// countShort counts the pods of the shortages by workload.
func countShort(result *simulation.Result, step *simulation.Step) map[cluster.Ref]int {
	n := map[cluster.Ref]int{}
	for _, s := range shortages(result, step) {
		n[s.of] += s.pods
	}
	return n
}

// explainShortage returns in a few words why the pods do not run.
func (j *judge) explainShortage(ctx context.Context, state *cluster.State, s *shortage) (string, error) {
	if s.isPending() {
		return j.explainBriefly(ctx, state, s.pending)
	}
	return words.Shorten(s.refused.Reason(), 120), nil
}
