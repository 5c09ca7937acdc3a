package outcome

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Confidence is the confidence of every interval.
const Confidence = 0.95

const (
	// checkEvery is the number of trials between two checks of the intervals. They are checked only then, so that the answer does not depend
	// on the speed of the workers.
	checkEvery = 500
	// frequent is the number of placements of a step that are listed, the most frequent first.
	frequent = 10
)

// TrialSet has the results of runs that differ only in their seeds.
type TrialSet struct {
	Scenario *scenario.Scenario
	// First is the run with the first seed.
	First *simulation.Result
	TrialsMethod
	Steps []Step
}

// observed is the outcome of a step. Trials with the same outcome share it.
type observed struct {
	placement Distribution
	pending   int
	metrics   *metric.Metrics
}

// RunTrials runs the scenario n times with random ties; run i, from 0, has the seed s.Ties.Seed+i. If until is above 0, RunTrials checks
// some intervals after every 500 trials, and stops if none of their bounds is farther than until from its share: after each step, the share
// of trials with a Pending pod, and the shares of the ten most frequent placements. If the context ends, the answer has the first trials up
// to the first one that is missing, and says that it is Partial; it is nil if there are none.
func RunTrials(ctx context.Context, s *scenario.Scenario, n int, until float64, opts Options) (*TrialSet, error) {
	random := *s
	random.Ties.Random = true
	set := &TrialSet{Scenario: &random, TrialsMethod: TrialsMethod{Seed: s.Ties.Seed, Confidence: Confidence, Until: until}}
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

// known reduces the set to the first trials, up to the first one that is missing. It returns false if there are none.
func (c *crew) known(set *TrialSet) bool {
	set.First, set.N = c.first, 0
	for set.N < len(c.trials) && c.first != nil && len(c.trials[set.N]) == len(c.first.Steps) {
		set.N++
	}
	return set.N > 0
}

// crew runs trials on several workers, which have a world each.
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

// run runs the trials from first to last-1.
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

// observe returns the outcome of a step. Trials with the same pods and nodes share one.
func (c *crew) observe(ctx context.Context, w world.World, step int, result *simulation.Result) (*observed, error) {
	state := result.Steps[step].State
	placement := DistributionOf(state)
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

// conditions describes the nodes that exist and their taints: with other nodes, the same placement is another outcome.
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

// summed sums up the trials, step by step.
func summed(set *TrialSet, trials [][]*observed) []Step {
	var steps []Step
	for i := range trials[0] {
		step := Step{Name: set.First.Steps[i].Name, Action: set.First.Steps[i].Action}
		pending, places := 0, map[string]*Placement{}
		keys := map[*observed]string{}
		for trial, found := range trials {
			o := found[i]
			if o.pending > 0 {
				pending++
			}
			key, known := keys[o]
			if !known {
				key = o.placement.key()
				keys[o] = key
			}
			p := places[key]
			if p == nil {
				p = &Placement{Seed: ptr.To(set.Seed + uint64(trial)), Pending: o.pending, Distribution: o.placement}
				places[key] = p
			}
			p.Seen++
		}
		step.Different = strconv.Itoa(len(places))
		step.AnyPending = Frequency(stats.Proportion{Successes: pending, N: len(trials)})
		for _, p := range places {
			p.Chance = Frequency(stats.Proportion{Successes: p.Seen, N: len(trials)})
			step.Placements = append(step.Placements, *p)
		}
		slices.SortFunc(step.Placements, func(a, b Placement) int {
			return cmp.Or(cmp.Compare(b.Seen, a.Seen), cmp.Compare(*a.Seed, *b.Seed))
		})
		step.Placements = step.Placements[:min(frequent, len(step.Placements))]
		step.Pending = spread(set.Seed, trials, func(found []*observed) float64 { return float64(found[i].pending) })
		for l, level := range trials[0][i].metrics.Levels {
			of := func(found []*observed) *metric.LevelMetrics { return &found[i].metrics.Levels[l] }
			step.Levels = append(step.Levels, LevelVariation{
				TopologyKey: level.TopologyKey,
				Skew:        spread(set.Seed, trials, func(found []*observed) float64 { return float64(of(found).Skew) }),
				Radius:      spread(set.Seed, trials, func(found []*observed) float64 { return of(found).Radius }),
			})
		}
		steps = append(steps, step)
	}
	return steps
}

// spread returns how a number varies over the trials. The interval of its median is from order statistics.
func spread(seed uint64, trials [][]*observed, value func([]*observed) float64) Variation {
	values := make([]float64, len(trials))
	var v Variation
	for i, found := range trials {
		values[i] = value(found)
		if i == 0 || values[i] > v.Worst {
			v.Worst, v.Seed = values[i], ptr.To(seed+uint64(i))
		}
	}
	slices.Sort(values)
	v.Median, v.P95 = stats.Quantile(values, 0.5), stats.Quantile(values, 0.95)
	low, high := stats.MedianInterval(values, Confidence)
	v.Low, v.High = &low, &high
	return v
}

// narrow reports whether every share is as precise as requested.
func (t *TrialSet) narrow() bool {
	enough := func(c Chance) bool { return *c.High-*c.Low <= 2*t.Until }
	for _, step := range t.Steps {
		if !enough(step.AnyPending) || slices.ContainsFunc(step.Placements, func(p Placement) bool { return !enough(p.Chance) }) {
			return false
		}
	}
	return true
}
