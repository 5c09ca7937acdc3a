package outcome

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// maxStepRuns is the largest number of runs of a step that Exact makes in total. A run takes about a millisecond in a small cluster, and a
// few in a rolling update, so this is at most half a minute. After that time, a thousand trials are worth more than waiting for the rest.
const maxStepRuns = 10_000

// maxTiedNodes bounds the work if there are many pods and nodes: it is the largest number of ties of all runs, times the nodes of the cluster.
// It takes about ten seconds.
const maxTiedNodes = 2_500_000

// maxListedPlacements is the number of distributions of a step that are listed node by node.
const maxListedPlacements = 1000

// TooMany says that a scenario has more outcomes than Exact follows.
type TooMany struct {
	// Step is the name of the step in which Exact gave up, after Runs runs of a step that met States different states.
	Step         string
	Runs, States int
}

// Error returns the counts, and recommends trials instead.
func (e *TooMany) Error() string {
	return fmt.Sprintf("too many outcomes: step %q was not at its end after %d runs, which met %d different states; use --trials N instead", e.Step, e.Runs, e.States)
}

// Exact has every outcome that ties among nodes lead to in a scenario.
type Exact struct {
	// Scenario is the scenario that was run. Exact decided its ties.
	Scenario *scenario.Scenario
	// First is the run in which the first tied node by name won every tie.
	First *simulation.Result
	Steps []ExactStep
	ExactMethod
	// Notes say what else is left to chance and was held fixed.
	Notes []string
}

// ExactStep has every outcome of one step.
type ExactStep struct {
	Step
	// Classes are the distributions of pods over nodes, the most probable first.
	Classes []Class
}

// Class is a distribution, together with the distributions that exchanging interchangeable nodes turns it into.
type Class struct {
	// Placement is one distribution of the class, and Ways the number of its distributions.
	Placement Distribution
	Ways      *big.Int
	// Each is the exact probability of each distribution of the class.
	Each *big.Rat
	// Placements are all distributions of the class; empty if they are too many to list.
	Placements []Distribution
	// Metrics hold for each distribution of the class, except for the names of nodes and domains.
	Metrics *metric.Metrics
}

// Total returns the probability of the whole class.
func (c *Class) Total() *big.Rat {
	return new(big.Rat).Mul(c.Each, new(big.Rat).SetInt(c.Ways))
}

// Options are the options of [RunExact] and [RunTrials].
type Options struct {
	// Progress, if set, is called with the name of the step, the work done so far and the total.
	Progress func(step string, done, total int)
	// Workers is the number of trials that run at the same time; below 1 means one per core.
	Workers int

	keepNodesApart bool // for tests: no node stands for another
	maxRuns        int  // for tests: the bound in place of maxReplays, if above 0
}

// RunExact follows every way to decide the ties among nodes. It returns a *TooMany if there are too many.
func RunExact(ctx context.Context, s *scenario.Scenario, opts Options) (*Exact, error) {
	fixed := *s
	fixed.Ties.Random, fixed.Ties.Arrivals = false, false
	alone, err := world.NewCluster(s.Config, fixed.Ties)
	if err != nil {
		return nil, err
	}
	defer alone.Close()
	anchor, _, err := s.Admit()
	if err != nil {
		return nil, err
	}
	w := &walker{ctx: ctx, opts: opts, world: alone, keyer: newKeyer(&fixed, anchor, !opts.keepNodesApart), nodes: len(anchor.Nodes), exact: &Exact{Scenario: &fixed}}
	err = w.walkSteps()
	var tooMany *TooMany
	if errors.As(err, &tooMany) { // the error may wrap it, from any depth of a run
		return nil, tooMany
	}
	if err != nil {
		return nil, err
	}
	w.exact.Notes = fixedNotes(&fixed, len(anchor.Nodes))
	return w.exact, nil
}

func fixedNotes(s *scenario.Scenario, nodes int) []string {
	notes := []string{"The probabilities are exact if ties among nodes are all that chance decides. A real control plane leaves more to it, which is held here " +
		"at the fixed order that is used with upstream ties: which of equal pods a controller deletes, at which node preemption begins to look, " +
		"in which order pods arrive, and when a refused pod is tried again."}
	if s.Config.Samples(nodes) {
		notes = append(notes, "In a cluster of this size the scheduler stops looking once it has found enough feasible nodes. "+
			"Where it begins to look is held fixed too, so that nodes which it does not look at are in no outcome.")
	}
	return notes
}

// walker follows every way to decide the ties of a scenario, step by step.
type walker struct {
	ctx   context.Context
	opts  Options
	world *world.Cluster
	*keyer
	nodes     int // the number of nodes of the cluster
	tiedNodes int // the number of ties so far, times nodes
	exact     *Exact
}

// weightedState is the result before a step, with its probability.
type weightedState struct {
	result *simulation.Result // nil before the cluster's own first moves
	p      *big.Rat
}

func (w *walker) walkSteps() error {
	starts := []weightedState{{p: big.NewRat(1, 1)}}
	for step := range len(simulation.StepsOf(w.exact.Scenario)) + 1 {
		next := map[string]int{}
		var ends, merged []weightedState
		for _, from := range starts {
			found, err := w.walkStep(step-1, from)
			if err != nil {
				return err
			}
			for _, end := range found {
				ends = append(ends, end)
				key := w.stateKey(w.exact.Scenario, end.result)
				if at, known := next[key]; known {
					merged[at].p = new(big.Rat).Add(merged[at].p, end.p)
				} else {
					next[key] = len(merged)
					merged = append(merged, end)
				}
			}
		}
		starts = merged
		w.exact.First = merged[0].result
		if step > 0 {
			if err := w.appendStep(ends); err != nil {
				return err
			}
		}
	}
	return nil
}

// tieState is a state at a tie or, without choices, at the end of a step.
type tieState struct {
	script  []int // the choices of nodes that lead to the state
	choices []choice
	result  *simulation.Result
}

// choice is a tied node that stands for all tied nodes that are interchangeable with it.
type choice struct {
	node, orbitSize int
	tied            int // the number of tied nodes
	next            *tieState
}

var errKnownState = errors.New("the state is known")

// walkStep follows every run of one step from a state, and returns the ends of these runs with their probabilities.
//
// A run follows a script of choices, and takes the first choice at each tie after the script, until it meets a known state or ends. The
// other choices of the states that it meets are left for further runs.
func (w *walker) walkStep(step int, from weightedState) ([]weightedState, error) {
	root := &choice{}
	open := []*branch{{choice: root}}
	ties, ends := map[string]*tieState{}, map[string]*tieState{}
	var order []*tieState // the ends, in the order in which runs met them
	for len(open) > 0 {
		b := open[len(open)-1]
		open = open[:len(open)-1]
		tooMany := &TooMany{Step: w.stepName(step), Runs: w.exact.Runs, States: w.exact.States + len(ties)}
		if w.exact.Runs++; w.exact.Runs > cmp.Or(w.opts.maxRuns, maxStepRuns) {
			return nil, tooMany
		}
		w.resetRun()
		at, made := b.choice, 0
		script := slices.Clone(b.script)
		w.world.Choose = func(state *cluster.State, tie *sched.Tie) (int, error) {
			if w.tiedNodes += w.nodes; w.tiedNodes > maxTiedNodes {
				return 0, tooMany
			}
			if made < len(b.script) {
				made++
				return b.script[made-1], nil
			}
			key, sets := w.tieKey(step, state, tie)
			if known := ties[key]; known != nil {
				at.next = known
				return 0, errKnownState
			}
			m := &tieState{script: script}
			m.choices = list.Map(sets, func(set []int) choice { return choice{node: set[0], orbitSize: len(set), tied: len(tie.Nodes)} })
			ties[key], at.next = m, m
			for i := len(m.choices) - 1; i > 0; i-- {
				open = append(open, &branch{choice: &m.choices[i], script: append(slices.Clone(script), m.choices[i].node)})
			}
			at = &m.choices[0]
			script = append(slices.Clone(script), at.node)
			return at.node, nil
		}
		result, err := w.runStep(from)
		w.world.Choose = nil
		if errors.Is(err, errKnownState) {
			continue
		}
		if err != nil {
			return nil, err
		}
		key := w.endKey(result)
		if ends[key] == nil {
			ends[key] = &tieState{result: result}
			order = append(order, ends[key])
		}
		at.next = ends[key]
		if w.opts.Progress != nil {
			w.opts.Progress(w.stepName(step), w.exact.Runs, w.exact.Runs+len(open))
		}
	}
	w.exact.States += len(ties)
	p := propagateProbabilities(root.next, from.p)
	found := list.Map(order, func(end *tieState) weightedState { return weightedState{result: end.result, p: p[end]} })
	return found, nil
}

// branch is a choice that no run has made yet, with the script that leads to it.
type branch struct {
	choice *choice
	script []int
}

func (w *walker) runStep(from weightedState) (*simulation.Result, error) {
	if from.result == nil {
		return simulation.Begin(w.ctx, w.world, w.exact.Scenario)
	}
	return simulation.Next(w.ctx, w.world, from.result, simulation.Options{})
}

func (w *walker) stepName(step int) string {
	if step == beforeSteps {
		return "cluster"
	}
	return simulation.StepsOf(w.exact.Scenario)[step].Name
}

// endKey returns the key of an end: what the next steps depend on, and what is reported.
func (w *walker) endKey(result *simulation.Result) string {
	placement := newDistribution(result.State())
	pods := placement.pendingPart()
	shape := w.newShape(placement.partOn)
	return w.stateKey(w.exact.Scenario, result) + pods + shape.code + w.partOnNewNodes(placement)
}

// partOnNewNodes returns the part of the distribution on nodes that came after the first step.
func (w *walker) partOnNewNodes(p Distribution) string {
	text := ""
	for _, node := range slices.Sorted(maps.Keys(p.Nodes())) {
		if w.anchor[node] == nil {
			text += node + " " + p.partOn(node) + "\n"
		}
	}
	return text
}

// propagateProbabilities returns the probability of each state that the first one leads to: the sum over all ways to it.
func propagateProbabilities(first *tieState, p *big.Rat) map[*tieState]*big.Rat {
	var order []*tieState // each state after the states that it leads to
	seen := map[*tieState]bool{}
	var visit func(m *tieState)
	visit = func(m *tieState) {
		if seen[m] {
			return
		}
		seen[m] = true
		for _, c := range m.choices {
			visit(c.next)
		}
		order = append(order, m)
	}
	visit(first)
	all := map[*tieState]*big.Rat{first: p}
	slices.Reverse(order)
	for _, m := range order {
		for _, c := range m.choices {
			if all[c.next] == nil {
				all[c.next] = new(big.Rat)
			}
			part := new(big.Rat).Mul(all[m], big.NewRat(int64(c.orbitSize), int64(c.tied)))
			all[c.next].Add(all[c.next], part)
		}
	}
	return all
}

// appendStep appends a step, with the ends grouped by their distributions of pods over nodes.
func (w *walker) appendStep(ends []weightedState) error {
	type found struct {
		result *simulation.Result
		shape  *shape
		p      *big.Rat
	}
	classes := map[string]*found{}
	var order []*found
	for _, end := range ends {
		placement := newDistribution(end.result.State())
		shape := w.newShape(placement.partOn)
		key := placement.pendingPart() + shape.code + w.partOnNewNodes(placement)
		if f := classes[key]; f != nil {
			f.p = new(big.Rat).Add(f.p, end.p)
			continue
		}
		classes[key] = &found{end.result, shape, end.p}
		order = append(order, classes[key])
	}
	last := &ends[0].result.Steps[len(ends[0].result.Steps)-1]
	var step ExactStep
	for _, f := range order {
		state := f.result.State()
		metrics, err := metric.Measure(w.ctx, w.world, w.exact.Scenario, state, metric.Options{})
		if err != nil {
			return err
		}
		c := Class{Placement: newDistribution(state), Ways: f.shape.countWays(), Metrics: metrics}
		c.Each = new(big.Rat).Quo(f.p, new(big.Rat).SetInt(c.Ways))
		step.Classes = append(step.Classes, c)
	}
	slices.SortStableFunc(step.Classes, func(a, b Class) int {
		return cmp.Or(b.Each.Cmp(a.Each), a.Ways.Cmp(b.Ways), cmp.Compare(a.Placement.key(), b.Placement.key()))
	})
	room := maxListedPlacements
	for i := range step.Classes {
		c := &step.Classes[i]
		if c.Ways.Cmp(big.NewInt(int64(room))) > 0 {
			continue
		}
		for _, from := range w.newShape(c.Placement.partOn).arrangements(room) {
			c.Placements = append(c.Placements, c.Placement.permute(from))
		}
		slices.SortFunc(c.Placements, func(a, b Distribution) int { return cmp.Compare(a.key(), b.key()) })
		c.Placement = c.Placements[0]
		room -= len(c.Placements)
	}
	step.Step = NewStep(last.Name, last.Action, step.Classes)
	w.exact.Steps = append(w.exact.Steps, step)
	return nil
}
