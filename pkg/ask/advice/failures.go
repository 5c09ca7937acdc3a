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

// In a large cluster, failures take nearly all of the time: the loss of a zone is hundreds of evictions, one by one. So the failures of
// such a cluster are simulated last, and only for candidates that could still come out best. A candidate is left out if its other figures
// already say that it is beaten, or at best as good as another.

// addFailureLevels adds the levels whose failures are simulated: levels with at least two domains. If the only domain is lost, no pod comes back,
// whatever the rule.
func (r *evaluator) addFailureLevels(looked *metric.Options, state *cluster.State) {
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

// boundStranded returns, for each level whose failures are simulated, how many pods of the workload they strand at least. That number is 0,
// except for a StatefulSet on nodes that no longer answer: its lost pods stay Terminating, and no new pod takes the name of a Terminating
// one.
func (r *evaluator) boundStranded(metrics *metric.Metrics, state *cluster.State) map[string]float64 {
	running := 0
	owner := state.Owners()
	for _, pod := range state.Pods {
		if pod.Spec.NodeName != "" && cluster.IsActive(pod) && owner(pod) == r.owner {
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

// simulateFailures simulates failures of the workload as it is, of the candidate without a rule, and of every candidate that no other beats. Among
// candidates that are equally good otherwise, it starts with the first, and goes on to the next if failures of the first strand more pods
// than the lower bound; it skips a candidate that leaves more pods Pending than there are now. The candidates that stay without failures
// are beaten, at best as good as another, or not to be advised. The candidates must be ranked before, and are ranked again.
func (r *evaluator) simulateFailures(ctx context.Context, candidates []Candidate) error {
	for {
		next := selectForFailures(candidates)
		if len(next) == 0 {
			break
		}
		name := func(i int) string { return "failures with " + next[i].Name }
		err := r.runParallel(ctx, name, len(next), func(ctx context.Context, w world.World, i int) error {
			c := next[i]
			looked := metric.Options{Workloads: []cluster.Ref{r.owner}, Levels: r.levels(), Holding: true, From: c.lastStep.Mark()}
			if len(next) == 1 && r.opts.Workers < 1 {
				looked.Among = r.worlds
			}
			r.addFailureLevels(&looked, c.lastStep.State)
			metrics, err := metric.Measure(ctx, w, c.scenario, c.lastStep.State, looked)
			if err != nil {
				return err
			}
			c.Metrics, c.minStranded = *metrics, nil
			return nil
		})
		for _, c := range next {
			c.goals = c.computeGoals()
		}
		if err != nil {
			return err
		}
	}
	rank(candidates)
	if err := r.runTrials(ctx, candidates); err != nil { // of the candidates that failures brought to the front
		return err
	}
	rank(candidates)
	return nil
}

// selectForFailures returns the candidates whose failures have to be simulated next; none if no other candidate can come out best.
func selectForFailures(candidates []Candidate) []*Candidate {
	first := !slices.ContainsFunc(candidates, func(c Candidate) bool { return c.failuresSimulated() })
	now := findUnchanged(candidates)
	var next []*Candidate
	for i := range candidates {
		c := &candidates[i]
		covered := func(other Candidate) bool { return other.failuresSimulated() && other.covers(c) }
		switch {
		case c.failuresSimulated(), !first && c.Pending > now.Pending:
		case first && (!c.Changed() || len(c.Rules) == 0):
			next = append(next, c)
		case !slices.ContainsFunc(candidates, covered) && !slices.ContainsFunc(next, func(other *Candidate) bool { return other.covers(c) }):
			next = append(next, c)
		}
	}
	return next
}

// findUnchanged returns the candidate that changes nothing.
func findUnchanged(candidates []Candidate) *Candidate {
	return &candidates[slices.IndexFunc(candidates, func(c Candidate) bool { return !c.Changed() })]
}

// keepSimulated keeps only the candidates whose failures were simulated, in advice that was interrupted, and notes this in Result.Partial. It
// reports whether the workload as it is and another candidate are among them.
func (r *evaluator) keepSimulated(a *Advice) bool {
	total := len(a.Candidates)
	a.Candidates = slices.DeleteFunc(a.Candidates, func(c Candidate) bool { return !c.failuresSimulated() })
	if len(a.Candidates) < 2 || !slices.ContainsFunc(a.Candidates, func(c Candidate) bool { return !c.Changed() }) {
		return false
	}
	r.result.Partial = fmt.Sprintf("interrupted after the failures of %d of %s; the ranking covers these alone", len(a.Candidates), words.Count(total, "candidate"))
	rank(a.Candidates)
	return true
}
