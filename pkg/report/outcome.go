package report

import (
	"math/big"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/outcome"
	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// OutcomesKind is the kind of a report on every outcome.
const OutcomesKind = "OutcomesReport"

// OutcomesReport is what a scenario can come to, where chance decides among equals.
type OutcomesReport struct {
	Head
	// Method is exact, where every way to decide the ties among nodes was followed, or trials.
	Method string `json:"method" jsonschema:"enum=exact,enum=trials"`
	// Exact says how much it took to follow every way.
	Exact *ExactMethod `json:"exact,omitempty"`
	// Trials says how many trials there were, and with which seeds.
	Trials *TrialsMethod `json:"trials,omitempty"`
	// Nodes are the cluster's nodes before the first step, in its order.
	Nodes []Node `json:"nodes,omitempty"`
	// Steps are what can come of each step, in order.
	Steps []OutcomeStep `json:"steps"`
}

// ExactMethod is how every way was followed.
type ExactMethod struct {
	// Runs is the number of runs of a step that were made, States the number of different states at ties that they met.
	Runs   int `json:"runs"`
	States int `json:"states"`
}

// TrialsMethod is how many trials there were.
type TrialsMethod struct {
	// N is the number of trials. Trial i, from 0, is the run with --ties random and --seed Seed+i.
	N    int    `json:"n"`
	Seed uint64 `json:"seed"`
	// Confidence is that of every interval, such as 0.95.
	Confidence float64 `json:"confidence"`
	// Until is how far the intervals of shares may reach to each side, between 0 and 1, where that was asked for. Reached tells whether
	// those of a Pending pod, and of each placement listed, reach no further.
	Until   float64 `json:"until,omitempty"`
	Reached bool    `json:"reached,omitempty"`
}

// OutcomeStep is what can come of one step.
type OutcomeStep struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Action says in a few words what was done, as kubectl would be asked to.
	Action string `json:"action"`
	// Different is the number of different placements: of those that are possible, or of those that were seen. It is a text, since it
	// can have any number of digits.
	Different string `json:"different"`
	// AnyPending is how likely it is that a pod is Pending.
	AnyPending Chance `json:"anyPending"`
	// Pending is how many pods are.
	Pending Variation `json:"pending"`
	// Levels are the levels of failure domains, widest first.
	Levels []LevelVariation `json:"levels,omitempty"`
	// Placements are distributions of pods over nodes, the likeliest first. Of very many, and in trials of more than ten, the least
	// likely are left out.
	Placements []OutcomePlacement `json:"placements"`
}

// Chance is how likely something is.
type Chance struct {
	// Share is its probability, or its share of the trials, between 0 and 1.
	Share float64 `json:"share"`
	// Probability is the exact one, as a fraction; of trials there is none.
	Probability string `json:"probability,omitempty"`
	// Seen is the number of trials in which it was so; Low and High are the bounds of the Wilson interval of the share.
	Seen int      `json:"seen,omitempty"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// OutcomePlacement is a distribution of pods over nodes.
type OutcomePlacement struct {
	Chance
	// Ways is the number of placements that this one stands for, each with the same chance, where nodes that nothing tells apart
	// change places; missing where it stands for itself.
	Ways string `json:"ways,omitempty"`
	// Seed is the lowest that shows it; missing where chances are exact.
	Seed *uint64 `json:"seed,omitempty"`
	// Pending is the number of pods without a node.
	Pending int `json:"pending"`
	// Workloads are the workloads that have pods.
	Workloads []PlacedWorkload `json:"workloads"`
}

// PlacedWorkload is how the pods of a workload are distributed.
type PlacedWorkload struct {
	Namespace string `json:"namespace"`
	// Workload is the outermost owner, or the pod itself, as kind/name in lower case.
	Workload string `json:"workload"`
	// Nodes are the numbers of pods by node; Pending is the number of pods without one.
	Nodes   map[string]int `json:"nodes"`
	Pending int            `json:"pending,omitempty"`
}

// LevelVariation is how skew and blast radius of a level vary.
type LevelVariation struct {
	// TopologyKey is the node label whose values make the domains.
	TopologyKey string `json:"topologyKey"`
	// Skew is by how many pods a workload's fullest domain is ahead of its emptiest, for the workload that is spread worst.
	Skew Variation `json:"skew"`
	// Radius is the largest share of any workload that the loss of one domain takes, between 0 and 1.
	Radius Variation `json:"radius"`
}

// Variation is how a number varies.
type Variation struct {
	// Median has at least half of the chances on each side; Low and High are the bounds of its interval, in trials.
	Median float64  `json:"median"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	// P95 is what 95 % do not exceed, Worst the largest.
	P95   float64 `json:"p95"`
	Worst float64 `json:"worst"`
	// Seed is the lowest that shows the worst, in trials.
	Seed *uint64 `json:"seed,omitempty"`
}

// NewExactOutcomes puts exact outcomes into the model. The version is Faultline's own.
func NewExactOutcomes(found *outcome.Exact, version string) *OutcomesReport {
	r := newOutcomes(found.First, "exact", version)
	r.Notes = append(slices.Clip(r.Notes), found.Notes...)
	r.Exact = &ExactMethod{Runs: found.Runs, States: found.States}
	for i := range found.Steps {
		r.Steps = append(r.Steps, exactStep(&found.Steps[i]))
	}
	return r
}

// NewTrialOutcomes puts what trials found into the model. The version is Faultline's own.
func NewTrialOutcomes(found *outcome.TrialSet, version string) *OutcomesReport {
	r := newOutcomes(found.First, "trials", version)
	r.Trials = &TrialsMethod{N: found.N, Seed: found.Seed, Confidence: outcome.Confidence, Until: found.Until, Reached: found.Reached}
	for i := range found.Steps {
		r.Steps = append(r.Steps, trialStep(&found.Steps[i]))
	}
	return r
}

func newOutcomes(first *simulation.Result, method, version string) *OutcomesReport {
	nodes := first.Initial.Nodes
	return &OutcomesReport{
		Head: newHead(first, OutcomesKind, version), Method: method, Nodes: newNodes(nodes, topology.Levels(nodes, first.Scenario.LevelKeys...)),
	}
}

func exactStep(step *outcome.ExactStep) OutcomeStep {
	s := OutcomeStep{Name: step.Name, Action: step.Action}
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

func trialStep(step *outcome.TrialStep) OutcomeStep {
	s := OutcomeStep{Name: step.Name, Action: step.Action, Different: big.NewInt(int64(step.Different)).String()}
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

func newPlacement(placement outcome.Placement, chance Chance) OutcomePlacement {
	p := OutcomePlacement{Chance: chance, Pending: placement.Pending()}
	for _, w := range placement.Workloads {
		namespace := w.Owner.Namespace
		if namespace == "" {
			namespace = v1.NamespaceDefault
		}
		p.Workloads = append(p.Workloads, PlacedWorkload{Namespace: namespace, Workload: w.Owner.String(), Nodes: w.Nodes, Pending: w.Pending})
	}
	return p
}
