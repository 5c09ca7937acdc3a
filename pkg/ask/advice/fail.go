package advice

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// In a large cluster nearly all of the time would go to failures: the loss of a zone is hundreds of evictions, one by one. So these are
// simulated last, and not for a candidate of which all else already says that it is beaten, or at best as good as another.

// recovers adds the levels whose failures are looked at. Where the only domain is lost, nothing comes back, whatever the rule.
func (r *runs) recovers(looked *metric.Options, state *cluster.State) {
	looked.Worst = metric.DefaultWorst
	if worst := r.scenario.Failures.Worst; worst != nil {
		looked.Worst = *worst
	}
	for _, key := range looked.Levels {
		if domains, _ := topology.Domains(state.Nodes, key); len(domains) > 1 {
			looked.Recover = append(looked.Recover, key)
		}
	}
}

// atLeast returns how many pods of the workload failures strand at least, for each level whose failures are looked at. That is none, unless
// they are a StatefulSet's whose nodes no longer answer: no pod takes the name of one that is still Terminating.
func (r *runs) atLeast(metrics *metric.Metrics, state *cluster.State) map[string]float64 {
	running := 0
	owner := state.Owners()
	for _, pod := range state.Pods {
		if pod.Spec.NodeName != "" && cluster.Active(pod) && owner(pod) == r.owner {
			running++
		}
	}
	mode := node.FailureMode(r.scenario.Failures.Mode)
	stay := r.owner.Kind == "StatefulSet" && (mode == "" || mode == node.Unreachable)
	least := map[string]float64{}
	for _, level := range metrics.Levels {
		switch {
		case level.Domains < 2:
		case stay:
			least[level.TopologyKey] = math.Round(level.Radius * float64(running))
		default:
			least[level.TopologyKey] = 0
		}
	}
	return least
}

// fail simulates failures of the workload as it is, of no rule, with which it is compared, and of every candidate that no other beats: of those
// that are as good as each other in all else the first, and the next ones if it strands more than it must, unless they leave more pods Pending
// than there are now. What is left is beaten, at best as good, or not to be advised. The candidates are ranked before and after.
func (r *runs) fail(ctx context.Context, candidates []Candidate) error {
	for {
		next := unsettled(candidates)
		if len(next) == 0 {
			break
		}
		name := func(i int) string { return "failures with " + next[i].Name }
		err := r.each(ctx, name, len(next), func(ctx context.Context, w world.World, i int) error {
			c := next[i]
			looked := metric.Options{Workloads: []cluster.Ref{r.owner}, Levels: r.levels(), Holding: true, From: c.last.Mark()}
			if len(next) == 1 && r.opts.Workers < 1 {
				looked.Among = r.worlds
			}
			r.recovers(&looked, c.last.State)
			metrics, err := metric.Of(ctx, w, c.scenario, c.last.State, looked)
			if err != nil {
				return err
			}
			c.Metrics, c.atLeast = *metrics, nil
			return nil
		})
		for _, c := range next {
			c.goals = c.figures()
		}
		if err != nil {
			return err
		}
	}
	rank(candidates)
	if err := r.trials(ctx, candidates); err != nil { // of those that failures have brought to the front
		return err
	}
	rank(candidates)
	return nil
}

// unsettled returns the candidates whose failures are to be simulated next.
func unsettled(candidates []Candidate) []*Candidate {
	first := !slices.ContainsFunc(candidates, func(c Candidate) bool { return c.known() })
	now := asItIs(candidates)
	var next []*Candidate
	for i := range candidates {
		c := &candidates[i]
		covered := func(other Candidate) bool { return other.known() && other.covers(c) }
		switch {
		case c.known(), !first && c.Pending > now.Pending:
		case first && (!c.Changed() || len(c.Rules) == 0):
			next = append(next, c)
		case !slices.ContainsFunc(candidates, covered) && !slices.ContainsFunc(next, func(other *Candidate) bool { return other.covers(c) }):
			next = append(next, c)
		}
	}
	return next
}

// asItIs returns the candidate that changes nothing.
func asItIs(candidates []Candidate) *Candidate {
	return &candidates[slices.IndexFunc(candidates, func(c Candidate) bool { return !c.Changed() })]
}

// keepKnown leaves of interrupted advice the candidates whose failures were simulated, and says so. It reports whether there is anything to
// compare the workload as it is with.
func (r *runs) keepKnown(a *Advice) bool {
	total := len(a.Candidates)
	a.Candidates = slices.DeleteFunc(a.Candidates, func(c Candidate) bool { return !c.known() })
	if len(a.Candidates) < 2 || !slices.ContainsFunc(a.Candidates, func(c Candidate) bool { return !c.Changed() }) {
		return false
	}
	r.result.Partial = fmt.Sprintf("interrupted after the failures of %d of %s; the ranking covers these alone", len(a.Candidates), words.Count(total, "candidate"))
	rank(a.Candidates)
	return true
}
