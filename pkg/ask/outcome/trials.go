package outcome

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Confidence is the confidence of every interval.
const Confidence = 0.95

const (
	// checkInterval is the number of trials between two checks of the intervals. They are checked only then, so that the answer does not depend
	// on the speed of the workers.
	checkInterval = 500
	// maxListedInTrials is the number of placements of a step that are listed, the most frequent first.
	maxListedInTrials = 10
)

// TrialSet has the results of runs that differ only in their seeds.
type TrialSet struct {
	Scenario *scenario.Scenario
	// First is the run with the first seed.
	First *simulation.Result
	TrialsMethod
	Steps []Step
}

// observation is the outcome of a step. Trials with the same outcome share it.
type observation struct {
	placement Distribution
	pending   int
	metrics   *metric.Metrics
	decided   string // what the deciders did
	preempted []cluster.WorkloadRef
}

// RunTrials runs the scenario n times with random ties; run i, from 0, has the seed s.Ties.Seed+i. If until is above 0, RunTrials checks
// some intervals after every 500 trials, and stops if none of their bounds is farther than until from its share: after each step, the share
// of trials with a Pending pod, and the shares of the ten most frequent placements. If the context ends, the answer has the first trials up
// to the first one that is missing, and says that it is Partial; it is nil if there are none.
func RunTrials(ctx context.Context, s *scenario.Scenario, n int, until float64, opts Options) (*TrialSet, error) {
	random := *s
	random.Ties.Random = true
	set := &TrialSet{Scenario: &random, TrialsMethod: TrialsMethod{Seed: s.Ties.Seed, Confidence: Confidence, Until: until}}
	crew := &trialRunner{scenario: &random, observations: map[string]*observation{}, trials: make([][]*observation, n), opts: opts}
	defer crew.close()
	if err := crew.startWorkers(parallel.Options{Workers: opts.Workers}.WorkerCount(n)); err != nil {
		return nil, err
	}
	for set.N < n && !set.Reached {
		next := n
		if until > 0 {
			next = min(n, set.N+checkInterval)
		}
		if err := crew.runTrials(ctx, set.N, next); err != nil {
			if ctx.Err() == nil || !crew.keepFinished(set) {
				return nil, err
			}
			set.First.Partial = fmt.Sprintf("interrupted after %s", words.Count(set.N, "trial"))
			set.Steps = summarizeTrials(set, crew.trials[:set.N])
			return set, err
		}
		set.N = next
		set.First = crew.first
		if until > 0 {
			set.Steps = summarizeTrials(set, crew.trials[:set.N])
			set.Reached = set.isNarrow()
		}
	}
	set.Steps = summarizeTrials(set, crew.trials[:set.N])
	return set, nil
}

// keepFinished reduces the set to the first trials, up to the first one that is missing. It returns false if there are none.
func (c *trialRunner) keepFinished(set *TrialSet) bool {
	set.First, set.N = c.first, 0
	for set.N < len(c.trials) && c.first != nil && len(c.trials[set.N]) == len(c.first.Steps) {
		set.N++
	}
	return set.N > 0
}

// trialRunner runs trials on several workers, which have a world each.
type trialRunner struct {
	scenario *scenario.Scenario
	opts     Options
	worlds   []world.World
	trials   [][]*observation // by trial and step
	first    *simulation.Result

	mutex        sync.Mutex
	observations map[string]*observation
}

func (c *trialRunner) startWorkers(workers int) error {
	for range workers {
		w, err := simulation.NewWorld(c.scenario)
		if err != nil {
			return err
		}
		c.worlds = append(c.worlds, w)
	}
	return nil
}

func (c *trialRunner) close() {
	for _, w := range c.worlds {
		w.Close()
	}
}

// runTrials runs the trials from first to last-1.
func (c *trialRunner) runTrials(ctx context.Context, first, last int) error {
	opts := parallel.Options{Workers: len(c.worlds)}
	if c.opts.Progress != nil {
		opts.Progress = func(_, done int) { c.opts.Progress("trials", first+done, len(c.trials)) }
	}
	return parallel.Each(ctx, last-first, opts, func(ctx context.Context, worker, i int) error {
		return c.runTrial(ctx, c.worlds[worker], first+i)
	})
}

func (c *trialRunner) runTrial(ctx context.Context, w world.World, trial int) error {
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
func (c *trialRunner) observe(ctx context.Context, w world.World, step int, result *simulation.Result) (*observation, error) {
	state := result.Steps[step].State
	placement := newDistribution(state)
	names := nameNewNodes(result.Initial, state, placement)
	placement = placement.rename(names)
	var did []string
	for _, by := range result.Steps[step].Decided(state) {
		by.Elsewhere = nil // where the pods are is the placement
		if said := by.Describe(); said != "" {
			did = append(did, said)
		}
	}
	preempted := preemptedWorkloads(&result.Steps[step])
	key := string(rune(step)) + placement.key() + describeNodes(state, names) + strings.Join(did, "; ") + fmt.Sprint(preempted)
	c.mutex.Lock()
	known := c.observations[key]
	c.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	metrics, err := metric.Measure(ctx, w, c.scenario, state, metric.Options{})
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if known = c.observations[key]; known == nil {
		known = &observation{placement: placement, pending: placement.Pending(), metrics: metrics, decided: strings.Join(did, "; "), preempted: preempted}
		c.observations[key] = known
	}
	return known, nil
}

// preemptedWorkloads returns the workloads with pods that the step preempts, in order.
func preemptedWorkloads(step *simulation.Step) []cluster.WorkloadRef {
	owner := step.State.Owners()
	workloads := list.Map(step.Preempted, func(p placement.Preemption) cluster.WorkloadRef { return owner(p.Victim).Workload() })
	slices.SortFunc(workloads, cluster.WorkloadRef.Compare)
	return slices.Compact(workloads)
}

// describeNodes describes the nodes that exist and their taints: with other nodes, the same placement is another outcome.
func describeNodes(state *cluster.State, names map[string]string) string {
	var text []byte
	for _, node := range state.Nodes {
		if len(node.Spec.Taints) == 0 && !node.Spec.Unschedulable {
			text = append(text, '.')
			continue
		}
		text = append(text, cmp.Or(names[node.Name], node.Name)...)
		for i := range node.Spec.Taints {
			text = append(text, node.Spec.Taints[i].ToString()...)
		}
	}
	return string(text)
}

// summarizeTrials sums up the trials, step by step.
func summarizeTrials(set *TrialSet, trials [][]*observation) []Step {
	var steps []Step
	for i := range trials[0] {
		step := Step{Name: set.First.Steps[i].Name, Action: set.First.Steps[i].Action}
		pending, places, decided, preempted := 0, map[string]*Placement{}, map[string]int{}, map[cluster.WorkloadRef]int{}
		keys := map[*observation]string{}
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
			decided[o.decided]++
			for _, workload := range o.preempted {
				preempted[workload]++
			}
		}
		step.Decided = countDecided(decided, len(trials))
		step.Preempted = countPreempted(preempted, len(trials))
		step.Different = strconv.Itoa(len(places))
		step.AnyPending = Frequency(stats.Proportion{Successes: pending, N: len(trials)})
		for _, p := range places {
			p.Chance = Frequency(stats.Proportion{Successes: p.Seen, N: len(trials)})
			step.Placements = append(step.Placements, *p)
		}
		slices.SortFunc(step.Placements, func(a, b Placement) int {
			return cmp.Or(cmp.Compare(b.Seen, a.Seen), cmp.Compare(*a.Seed, *b.Seed))
		})
		step.Placements = step.Placements[:min(maxListedInTrials, len(step.Placements))]
		step.Pending = trialVariation(set.Seed, trials, func(found []*observation) float64 { return float64(found[i].pending) })
		for l, level := range trials[0][i].metrics.Levels {
			of := func(found []*observation) *metric.LevelMetrics { return &found[i].metrics.Levels[l] }
			step.Levels = append(step.Levels, LevelVariation{
				TopologyKey: level.TopologyKey,
				Skew:        trialVariation(set.Seed, trials, func(found []*observation) float64 { return float64(of(found).Skew) }),
				Radius:      trialVariation(set.Seed, trials, func(found []*observation) float64 { return of(found).Radius }),
			})
		}
		steps = append(steps, step)
	}
	return steps
}

// countDecided returns what the deciders did in the trials, the most frequent first; nil if they did nothing in all of them.
func countDecided(times map[string]int, n int) []Decided {
	if times[""] == n {
		return nil
	}
	var all []Decided
	for said, seen := range times {
		all = append(all, Decided{Did: said, Chance: Frequency(stats.Proportion{Successes: seen, N: n})})
	}
	slices.SortFunc(all, func(a, b Decided) int { return cmp.Or(cmp.Compare(b.Seen, a.Seen), cmp.Compare(a.Did, b.Did)) })
	return all
}

// countPreempted returns the workloads with pods that are preempted in any trial, the most frequent first.
func countPreempted(times map[cluster.WorkloadRef]int, n int) []PreemptedWorkload {
	var all []PreemptedWorkload
	for workload, seen := range times {
		all = append(all, PreemptedWorkload{WorkloadRef: workload, Chance: Frequency(stats.Proportion{Successes: seen, N: n})})
	}
	slices.SortFunc(all, func(a, b PreemptedWorkload) int {
		return cmp.Or(cmp.Compare(b.Seen, a.Seen), a.WorkloadRef.Compare(b.WorkloadRef))
	})
	return all
}

// trialVariation returns how a number varies over the trials. The interval of its median is from order statistics.
func trialVariation(seed uint64, trials [][]*observation, value func([]*observation) float64) Variation {
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

// isNarrow reports whether every share is as precise as requested.
func (t *TrialSet) isNarrow() bool {
	enough := func(c Chance) bool { return *c.High-*c.Low <= 2*t.Until }
	for _, step := range t.Steps {
		if !enough(step.AnyPending) || slices.ContainsFunc(step.Placements, func(p Placement) bool { return !enough(p.Chance) }) {
			return false
		}
	}
	return true
}
