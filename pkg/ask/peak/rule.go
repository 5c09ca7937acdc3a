package peak

import (
	"context"
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/plan"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// ruleTries is the largest number of patches of rules that are tried, if few pods have no node.
const ruleTries = 12

// softenRules finds softer rules for workloads whose own rules keep pods from every node: for one workload after another, the first patch with
// which it has a node for each pod at the peak, together with the patches before.
func (f *finder) softenRules(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	r := &Remedy{Kind: "rule"}
	var steps []scenario.LoadedStep
	var parts []string
	tries := 0
	for _, s := range answer.Starved {
		if answer.Most() > fewPods && max(s.Short, s.AfterLoss) < answer.Most()/10 {
			continue // a try takes seconds, and would help few pods
		}
		if !slices.ContainsFunc(answer.Ceilings, func(c Ceiling) bool { return c.Kind == aRule && slices.Contains(c.Workloads, s.WorkloadRef) }) {
			continue
		}
		for _, change := range plan.ListPatches(f.before.state, s.ref, len(f.before.crews[s.ref].Waiting), nil) {
			if tries++; tries > answer.limitTries(ruleTries) {
				break
			}
			with := slices.Concat(steps, list.Map(change.Steps(), func(s scenario.Step) scenario.LoadedStep { return scenario.LoadedStep{Step: s} }))
			helps, err := f.placesEach(ctx, with, s.ref, domains)
			if err != nil {
				return nil, err
			}
			if helps {
				steps, parts, r.Commands = with, append(parts, fmt.Sprintf("for %s: %s", s.Qualified(), change.Change)), append(r.Commands, change.Commands...)
				break
			}
		}
	}
	if len(steps) == 0 {
		return nil, nil
	}
	r.What = words.Few(parts)
	return f.trySteps(ctx, r, answer, steps, domains)
}

// placesEach reports whether each pod of the workload has a node at the peak after the steps, and after the worst loss then.
func (f *finder) placesEach(ctx context.Context, steps []scenario.LoadedStep, workload cluster.Ref, domains []domain) (bool, error) {
	top, err := f.runSteps(ctx, steps)
	if err != nil || top.shortages[workload] != nil {
		return false, err
	}
	if len(domains) == 0 {
		return true, nil
	}
	losses, err := f.loseEach(ctx, f.worlds, top, f.present(top, domains[0]))
	return err == nil && !slices.ContainsFunc(losses, func(l lost) bool { return l.shortages[workload] != nil }), err
}
