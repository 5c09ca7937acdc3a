package outcome

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Confidence is that of every interval.
const Confidence = 0.95

const (
	// checkEvery is after how many trials it is looked whether the intervals are narrow enough: at these counts alone, so that the
	// answer does not depend on which worker is how fast.
	checkEvery = 500
	// frequent is how many placements of a step are kept, the most frequent ones.
	frequent = 10
)

// TrialSet is what a number of runs found that differ only in their seeds.
type TrialSet struct {
	Scenario *scenario.Scenario
	// First is the run with the first seed.
	First *simulation.Result
	// N is the number of trials; trial i ran with seed Seed+i, so that anyone can repeat it.
	N    int
	Seed uint64
	// Until is how far the intervals may reach to each side, between 0 and 1; 0 means no limit. Reached says whether they reach no
	// further.
	Until   float64
	Reached bool
	Steps   []TrialStep
}

// TrialStep is what they found after one step.
type TrialStep struct {
	Name, Action string
	// AnyPending is in how many trials a pod was Pending.
	AnyPending stats.Proportion
	// Pending is the number of Pending pods.
	Pending Spread
	// Levels are the levels of failure domains, widest first.
	Levels []LevelSpread
	// Different is the number of different placements that were seen, and Placements are the most frequent ones.
	Different  int
	Placements []Frequency
}

// LevelSpread is how skew and blast radius of a level vary; see metric.LevelMetrics.
type LevelSpread struct {
	TopologyKey  string
	Skew, Radius Spread
}

// Spread is how a number varies over the trials.
type Spread struct {
	// Median has an interval that holds the true one with Confidence, from order statistics. P95 is what 95 % of the trials do not
	// exceed.
	Median, Low, High float64
	P95, Worst        float64
	// Seed is the lowest that shows the worst.
	Seed uint64
}

// Frequency is how often a placement was seen.
type Frequency struct {
	Placement Placement
	Seen      stats.Proportion
	// Seed is the lowest that shows it.
	Seed uint64
}

// observed is what a step came to. Trials that come to the same share it.
type observed struct {
	placement Placement
	pending   int
	metrics   *metric.Metrics
}

// RunTrials runs the scenario n times with random ties, the i-th time with seed s.Ties.Seed+i. With until above 0 it stops as soon as,
// after a multiple of 500 trials, these shares have Wilson intervals of at most until to each side: after each step, that of the
// trials with a Pending pod, and that of each of the ten most frequent placements. If the context ends, the answer is that of the first trials
// as far as all of them were carried out, and its run says that it is Partial; nil if there is none.
func RunTrials(ctx context.Context, s *scenario.Scenario, n int, until float64, opts Options) (*TrialSet, error) {
	random := *s
	random.Ties.Random = true
	set := &TrialSet{Scenario: &random, Seed: s.Ties.Seed, Until: until}
	crew := &crew{scenario: &random, seen: map[string]*observed{}, trials: make([][]*observed, n), opts: opts}
	defer crew.close()
	if err := crew.hire(parallel.Options{Workers: opts.Workers}.Count(n)); err != nil {
		return nil, err
	}
	for set.N < n && !set.Reached {
		next := n
		if until > 0 {
			next = min(n, set.N+checkEvery)
		}
		if err := crew.run(ctx, set.N, next); err != nil {
			if ctx.Err() == nil || !crew.known(set) {
				return nil, err
			}
			set.First.Partial = fmt.Sprintf("interrupted after %s", words.Count(set.N, "trial"))
			set.Steps = summed(set, crew.trials[:set.N])
			return set, err
		}
		set.N = next
		set.First = crew.first
		if until > 0 {
			set.Steps = summed(set, crew.trials[:set.N])
			set.Reached = set.narrow()
		}
	}
	set.Steps = summed(set, crew.trials[:set.N])
	return set, nil
}

// known makes the set that of the first trials that were carried out, without a gap; false if the very first was not.
func (c *crew) known(set *TrialSet) bool {
	set.First, set.N = c.first, 0
	for set.N < len(c.trials) && c.first != nil && len(c.trials[set.N]) == len(c.first.Steps) {
		set.N++
	}
	return set.N > 0
}

// crew are workers with a world each.
type crew struct {
	scenario *scenario.Scenario
	opts     Options
	worlds   []world.World
	trials   [][]*observed // by trial and step
	first    *simulation.Result

	mutex sync.Mutex
	seen  map[string]*observed
}

func (c *crew) hire(workers int) error {
	for range workers {
		w, err := simulation.NewWorld(c.scenario)
		if err != nil {
			return err
		}
		c.worlds = append(c.worlds, w)
	}
	return nil
}

func (c *crew) close() {
	for _, w := range c.worlds {
		w.Close()
	}
}

// run carries out the trials from the first up to the last, which is not one of them.
func (c *crew) run(ctx context.Context, first, last int) error {
	opts := parallel.Options{Workers: len(c.worlds)}
	if c.opts.Progress != nil {
		opts.Progress = func(_, done int) { c.opts.Progress("trials", first+done, len(c.trials)) }
	}
	return parallel.Each(ctx, last-first, opts, func(ctx context.Context, worker, i int) error {
		return c.trial(ctx, c.worlds[worker], first+i)
	})
}

func (c *crew) trial(ctx context.Context, w world.World, trial int) error {
	s := *c.scenario
	s.Ties.Seed += uint64(trial)
	result, err := simulation.Run(ctx, &s, simulation.Options{World: w})
	if err != nil {
		return err
	}
	for i := range result.Steps {
		o, err := c.observe(ctx, w, i, result)
		if err != nil {
			return err
		}
		c.trials[trial] = append(c.trials[trial], o)
	}
	if trial == 0 {
		c.first = result
	}
	return nil
}

// observe looks at a step, once for all trials in which the pods and the nodes come to the same.
func (c *crew) observe(ctx context.Context, w world.World, step int, result *simulation.Result) (*observed, error) {
	state := result.Steps[step].State
	placement := PlacementOf(state)
	key := string(rune(step)) + placement.key() + conditions(state)
	c.mutex.Lock()
	known := c.seen[key]
	c.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	metrics, err := metric.Of(ctx, w, c.scenario, state, metric.Options{})
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if known = c.seen[key]; known == nil {
		known = &observed{placement: placement, pending: placement.Pending(), metrics: metrics}
		c.seen[key] = known
	}
	return known, nil
}

// conditions returns the nodes that exist, with their taints: on other nodes the same placement is another outcome.
func conditions(state *cluster.State) string {
	var text []byte
	for _, node := range state.Nodes {
		if len(node.Spec.Taints) == 0 && !node.Spec.Unschedulable {
			text = append(text, '.')
			continue
		}
		text = append(text, node.Name...)
		for i := range node.Spec.Taints {
			text = append(text, node.Spec.Taints[i].ToString()...)
		}
	}
	return string(text)
}

// summed puts the trials together, step by step.
func summed(set *TrialSet, trials [][]*observed) []TrialStep {
	var steps []TrialStep
	for i := range trials[0] {
		step := TrialStep{Name: set.First.Steps[i].Name, Action: set.First.Steps[i].Action}
		step.AnyPending.N = len(trials)
		places := map[string]*Frequency{}
		keys := map[*observed]string{}
		for trial, found := range trials {
			o := found[i]
			if o.pending > 0 {
				step.AnyPending.Successes++
			}
			key, known := keys[o]
			if !known {
				key = o.placement.key()
				keys[o] = key
			}
			f := places[key]
			if f == nil {
				f = &Frequency{Placement: o.placement, Seen: stats.Proportion{N: len(trials)}, Seed: set.Seed + uint64(trial)}
				places[key] = f
			}
			f.Seen.Successes++
		}
		step.Different = len(places)
		for _, f := range places {
			step.Placements = append(step.Placements, *f)
		}
		slices.SortFunc(step.Placements, func(a, b Frequency) int {
			return cmp.Or(cmp.Compare(b.Seen.Successes, a.Seen.Successes), cmp.Compare(a.Seed, b.Seed))
		})
		step.Placements = step.Placements[:min(frequent, len(step.Placements))]
		step.Pending = spread(set.Seed, trials, func(found []*observed) float64 { return float64(found[i].pending) })
		for l, level := range trials[0][i].metrics.Levels {
			of := func(found []*observed) *metric.LevelMetrics { return &found[i].metrics.Levels[l] }
			step.Levels = append(step.Levels, LevelSpread{
				TopologyKey: level.TopologyKey,
				Skew:        spread(set.Seed, trials, func(found []*observed) float64 { return float64(of(found).Skew) }),
				Radius:      spread(set.Seed, trials, func(found []*observed) float64 { return of(found).Radius }),
			})
		}
		steps = append(steps, step)
	}
	return steps
}

func spread(seed uint64, trials [][]*observed, value func([]*observed) float64) Spread {
	values := make([]float64, len(trials))
	s := Spread{Seed: seed}
	for i, found := range trials {
		values[i] = value(found)
		if i == 0 || values[i] > s.Worst {
			s.Worst, s.Seed = values[i], seed+uint64(i)
		}
	}
	slices.Sort(values)
	s.Median, s.P95 = stats.Quantile(values, 0.5), stats.Quantile(values, 0.95)
	s.Low, s.High = stats.MedianInterval(values, Confidence)
	return s
}

// narrow reports whether every share is known as precisely as requested.
func (t *TrialSet) narrow() bool {
	enough := func(p stats.Proportion) bool {
		low, high := p.Wilson(Confidence)
		return high-low <= 2*t.Until
	}
	for _, step := range t.Steps {
		if !enough(step.AnyPending) || slices.ContainsFunc(step.Placements, func(f Frequency) bool { return !enough(f.Seen) }) {
			return false
		}
	}
	return true
}
