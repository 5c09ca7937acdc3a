package outcome

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/stats"
)

// ExactMethod is how much it took to follow every way.
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
	// Until is how far the intervals of shares may reach to each side, between 0 and 1, where that was asked for. Reached says whether
	// those of a Pending pod, and of each placement listed, reach no further.
	Until   float64 `json:"until,omitempty"`
	Reached bool    `json:"reached,omitempty"`
}

// Step is what can come of one step.
type Step struct {
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
	Placements []Placement `json:"placements"`
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

// Placement is a distribution of pods over nodes.
type Placement struct {
	Chance
	// Ways is the number of placements that this one stands for, each with the same chance, where interchangeable
	// nodes change places; missing where it stands for itself.
	Ways string `json:"ways,omitempty"`
	// Seed is the lowest that shows it; missing where chances are exact.
	Seed *uint64 `json:"seed,omitempty"`
	// Pending is the number of pods without a node.
	Pending int `json:"pending"`
	Distribution
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

// NewStep sums up the classes of a step, the most probable first.
func NewStep(name, action string, classes []Class) Step {
	s := Step{Name: name, Action: action}
	different, pending := new(big.Int), new(big.Rat)
	for i := range classes {
		c := &classes[i]
		different.Add(different, c.Ways)
		if c.Metrics.Pending > 0 {
			pending.Add(pending, c.All())
		}
		if len(c.Placements) == 0 {
			s.Placements = append(s.Placements, Placement{Chance: exactly(c.Each), Ways: c.Ways.String(), Pending: c.Placement.Pending(), Distribution: c.Placement})
		}
		for _, p := range c.Placements {
			s.Placements = append(s.Placements, Placement{Chance: exactly(c.Each), Pending: p.Pending(), Distribution: p})
		}
	}
	s.Different, s.AnyPending = different.String(), exactly(pending)
	s.Pending = variationOf(classes, func(m *metric.Metrics) float64 { return float64(m.Pending) })
	for l, level := range classes[0].Metrics.Levels {
		s.Levels = append(s.Levels, LevelVariation{
			TopologyKey: level.TopologyKey,
			Skew:        variationOf(classes, func(m *metric.Metrics) float64 { return float64(m.Levels[l].Skew) }),
			Radius:      variationOf(classes, func(m *metric.Metrics) float64 { return m.Levels[l].Radius }),
		})
	}
	return s
}

func exactly(p *big.Rat) Chance {
	share, _ := p.Float64()
	return Chance{Share: share, Probability: p.RatString()}
}

// variationOf finds the quantiles by their exact probabilities.
func variationOf(classes []Class, value func(*metric.Metrics) float64) Variation {
	type part struct {
		value float64
		p     *big.Rat
	}
	var parts []part
	for i := range classes {
		parts = append(parts, part{value(classes[i].Metrics), classes[i].All()})
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

// Frequency is the chance that so many of the trials show.
func Frequency(p stats.Proportion) Chance {
	low, high := p.Wilson(Confidence)
	return Chance{Share: p.Value(), Seen: p.Successes, Low: &low, High: &high}
}
