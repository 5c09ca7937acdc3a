package outcome

import (
	"math/big"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/outcome"
	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// NewExact puts exact outcomes into the model. The version is Faultline's own.
func NewExact(found *outcome.Exact, version string) *Report {
	r := newOutcomes(found.First, "exact", version)
	r.Notes = append(slices.Clip(r.Notes), found.Notes...)
	r.Exact = &ExactMethod{Runs: found.Runs, States: found.States}
	for i := range found.Steps {
		r.Steps = append(r.Steps, exactStep(&found.Steps[i]))
	}
	return r
}

// NewTrials puts what trials found into the model. The version is Faultline's own.
func NewTrials(found *outcome.TrialSet, version string) *Report {
	r := newOutcomes(found.First, "trials", version)
	r.Trials = &TrialsMethod{N: found.N, Seed: found.Seed, Confidence: outcome.Confidence, Until: found.Until, Reached: found.Reached}
	for i := range found.Steps {
		r.Steps = append(r.Steps, trialStep(&found.Steps[i]))
	}
	return r
}

func newOutcomes(first *simulation.Result, method, version string) *Report {
	nodes := first.Initial.Nodes
	return &Report{
		Head: report.NewHead(first, Kind, version), Method: method, Nodes: report.NewNodes(nodes, topology.Levels(nodes, first.Scenario.LevelKeys...)),
	}
}

func exactStep(step *outcome.ExactStep) Step {
	s := Step{Name: step.Name, Action: step.Action}
	different, pending := new(big.Int), new(big.Rat)
	for i := range step.Classes {
		c := &step.Classes[i]
		different.Add(different, c.Ways)
		if c.Metrics.Pending > 0 {
			pending.Add(pending, c.All())
		}
		if len(c.Placements) == 0 {
			p := newPlacement(c.Placement, exactly(c.Each))
			p.Ways = c.Ways.String()
			s.Placements = append(s.Placements, p)
		}
		for _, placement := range c.Placements {
			s.Placements = append(s.Placements, newPlacement(placement, exactly(c.Each)))
		}
	}
	s.Different, s.AnyPending = different.String(), exactly(pending)
	s.Pending = variationOf(step.Classes, func(m *metric.Metrics) float64 { return float64(m.Pending) })
	for l, level := range step.Classes[0].Metrics.Levels {
		s.Levels = append(s.Levels, LevelVariation{
			TopologyKey: level.TopologyKey,
			Skew:        variationOf(step.Classes, func(m *metric.Metrics) float64 { return float64(m.Levels[l].Skew) }),
			Radius:      variationOf(step.Classes, func(m *metric.Metrics) float64 { return m.Levels[l].Radius }),
		})
	}
	return s
}

func exactly(p *big.Rat) Chance {
	share, _ := p.Float64()
	return Chance{Share: share, Probability: p.RatString()}
}

// variationOf finds the quantiles by their exact probabilities.
func variationOf(classes []outcome.Class, value func(*metric.Metrics) float64) Variation {
	type part struct {
		value float64
		p     *big.Rat
	}
	var parts []part
	for i := range classes {
		parts = append(parts, part{value(classes[i].Metrics), classes[i].All()})
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		if a.value < b.value {
			return -1
		} else if a.value > b.value {
			return 1
		}
		return 0
	})
	quantile := func(q *big.Rat) float64 {
		sum := new(big.Rat)
		for _, part := range parts {
			if sum.Add(sum, part.p); sum.Cmp(q) >= 0 {
				return part.value
			}
		}
		return parts[len(parts)-1].value
	}
	return Variation{Median: quantile(big.NewRat(1, 2)), P95: quantile(big.NewRat(19, 20)), Worst: parts[len(parts)-1].value}
}

func trialStep(step *outcome.TrialStep) Step {
	s := Step{Name: step.Name, Action: step.Action, Different: big.NewInt(int64(step.Different)).String()}
	s.AnyPending, s.Pending = frequency(step.AnyPending), newVariation(step.Pending)
	for _, level := range step.Levels {
		s.Levels = append(s.Levels, LevelVariation{TopologyKey: level.TopologyKey, Skew: newVariation(level.Skew), Radius: newVariation(level.Radius)})
	}
	for _, f := range step.Placements {
		p := newPlacement(f.Placement, frequency(f.Seen))
		p.Seed = &f.Seed
		s.Placements = append(s.Placements, p)
	}
	return s
}

func frequency(p stats.Proportion) Chance {
	low, high := p.Wilson(outcome.Confidence)
	return Chance{Share: p.Value(), Seen: p.Successes, Low: &low, High: &high}
}

func newVariation(s outcome.Spread) Variation {
	return Variation{Median: s.Median, Low: &s.Low, High: &s.High, P95: s.P95, Worst: s.Worst, Seed: &s.Seed}
}

func newPlacement(placement outcome.Placement, chance Chance) Placement {
	p := Placement{Chance: chance, Pending: placement.Pending()}
	for _, w := range placement.Workloads {
		namespace := w.Owner.Namespace
		if namespace == "" {
			namespace = v1.NamespaceDefault
		}
		p.Workloads = append(p.Workloads, PlacedWorkload{Namespace: namespace, Workload: w.Owner.String(), Nodes: w.Nodes, Pending: w.Pending})
	}
	return p
}
