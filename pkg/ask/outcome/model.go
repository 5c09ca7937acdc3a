package outcome

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/cluster"
)

// ExactMethod is the work that it took to follow every way to decide the ties.
type ExactMethod struct {
	// Runs is the number of runs of a step. States is the number of different states at ties that the runs met.
	Runs   int `json:"runs"`
	States int `json:"states"`
}

// TrialsMethod says how the trials were made.
type TrialsMethod struct {
	// N is the number of trials. Trial i, from 0, is the run with --ties random and --seed Seed+i.
	N    int    `json:"n"`
	Seed uint64 `json:"seed"`
	// Confidence is the confidence of every interval, such as 0.95.
	Confidence float64 `json:"confidence"`
	// Until is the largest distance, between 0 and 1, of an interval's bounds from its share, if a bound was asked for. Reached says whether
	// the intervals of a Pending pod, and of each placement listed, keep to it.
	Until   float64 `json:"until,omitempty"`
	Reached bool    `json:"reached,omitempty"`
}

// Step has the possible outcomes of one step.
type Step struct {
	// Name is the step's name.
	Name string `json:"name"`
	// Action says in a few words what was done, as a kubectl command would.
	Action string `json:"action"`
	// Different is the number of different placements: of the possible ones, or of the ones that trials showed. It is a text, since it can
	// have any number of digits.
	Different string `json:"different"`
	// AnyPending is the chance that a pod is Pending.
	AnyPending Chance `json:"anyPending"`
	// Pending is the number of Pending pods.
	Pending Variation `json:"pending"`
	// Levels are the levels of failure domains, widest first.
	Levels []LevelVariation `json:"levels,omitempty"`
	// Placements are distributions of pods over nodes, the likeliest first. The least likely are left out if there are very many, and in
	// trials if there are more than ten.
	Placements []Placement `json:"placements"`
	// Preempted are the workloads that lose pods to preemption in a trial, the most frequent first; missing if chances are exact.
	Preempted []PreemptedWorkload `json:"preempted,omitempty"`
	// Decided is what the deciders did, in trials, the most frequent first; missing without deciders, or if they did nothing in any trial.
	Decided []Decided `json:"decided,omitempty"`
}

// PreemptedWorkload is a workload with the share of the trials in which pods of it are preempted.
type PreemptedWorkload struct {
	cluster.WorkloadRef
	Chance
}

// Decided is what the deciders did in some trials.
type Decided struct {
	Chance
	// Did says what they did: "karpenter adds 2 nodes (0.20 an hour more)"; empty for nothing.
	Did string `json:"did"`
}

// Chance is a probability, or its estimate from trials.
type Chance struct {
	// Share is the probability, or the share of the trials, between 0 and 1.
	Share float64 `json:"share"`
	// Probability is the exact probability as a fraction; missing for trials.
	Probability string `json:"probability,omitempty"`
	// Seen is the number of trials with this outcome. Low and High are the bounds of the Wilson interval of the share.
	Seen int      `json:"seen,omitempty"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// Placement is a distribution of pods over nodes.
type Placement struct {
	Chance
	// Ways is the number of placements that this one stands for, each with the same chance: the others have interchangeable nodes exchanged.
	// Missing if the placement stands only for itself.
	Ways string `json:"ways,omitempty"`
	// Seed is the lowest seed that shows the placement; missing if chances are exact.
	Seed *uint64 `json:"seed,omitempty"`
	// Pending is the number of pods without a node.
	Pending int `json:"pending"`
	Distribution
}

// LevelVariation says how the skew and the blast radius of a level vary.
type LevelVariation struct {
	// TopologyKey is the node label whose values are the domains.
	TopologyKey string `json:"topologyKey"`
	// Skew is the number of pods by which a workload's fullest domain exceeds its emptiest, for the workload with the worst spread.
	Skew Variation `json:"skew"`
	// Radius is the largest share of any workload that the loss of one domain takes, between 0 and 1.
	Radius Variation `json:"radius"`
}

// Variation says how a number varies.
type Variation struct {
	// Median is the median by probability. Low and High are the bounds of its interval, in trials.
	Median float64  `json:"median"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	// P95 is the value that 95 % of the outcomes do not exceed. Worst is the largest value.
	P95   float64 `json:"p95"`
	Worst float64 `json:"worst"`
	// Seed is the lowest seed that shows the worst value, in trials.
	Seed *uint64 `json:"seed,omitempty"`
}

// NewStep sums up the classes of a step, which are sorted by probability, the most probable first.
func NewStep(name, action string, classes []Class) Step {
	s := Step{Name: name, Action: action}
	different, pending := new(big.Int), new(big.Rat)
	for i := range classes {
		c := &classes[i]
		different.Add(different, c.Ways)
		if c.Metrics.Pending > 0 {
			pending.Add(pending, c.Total())
		}
		if len(c.Placements) == 0 {
			s.Placements = append(s.Placements, Placement{Chance: exactChance(c.Each), Ways: c.Ways.String(), Pending: c.Placement.Pending(), Distribution: c.Placement})
		}
		for _, p := range c.Placements {
			s.Placements = append(s.Placements, Placement{Chance: exactChance(c.Each), Pending: p.Pending(), Distribution: p})
		}
	}
	s.Different, s.AnyPending = different.String(), exactChance(pending)
	s.Pending = exactVariation(classes, func(m *metric.Metrics) float64 { return float64(m.Pending) })
	for l, level := range classes[0].Metrics.Levels {
		s.Levels = append(s.Levels, LevelVariation{
			TopologyKey: level.TopologyKey,
			Skew:        exactVariation(classes, func(m *metric.Metrics) float64 { return float64(m.Levels[l].Skew) }),
			Radius:      exactVariation(classes, func(m *metric.Metrics) float64 { return m.Levels[l].Radius }),
		})
	}
	return s
}

func exactChance(p *big.Rat) Chance {
	share, _ := p.Float64()
	return Chance{Share: share, Probability: p.RatString()}
}

// exactVariation finds the quantiles by exact probabilities.
func exactVariation(classes []Class, value func(*metric.Metrics) float64) Variation {
	type part struct {
		value float64
		p     *big.Rat
	}
	var parts []part
	for i := range classes {
		parts = append(parts, part{value(classes[i].Metrics), classes[i].Total()})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.value, b.value) })
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

// Frequency estimates a chance from its share of the trials, with a Wilson interval.
func Frequency(p stats.Proportion) Chance {
	low, high := p.Wilson(Confidence)
	return Chance{Share: p.Value(), Seen: p.Successes, Low: &low, High: &high}
}
