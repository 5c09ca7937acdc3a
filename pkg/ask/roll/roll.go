// Package roll replaces the nodes of a pool in turn, as the upgrade of a node pool does. It only does ordinary steps, which add, drain and
// remove nodes, so a scenario with these steps gives the same result.
package roll

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// Options say which nodes are replaced, and how.
type Options struct {
	// Pool is the label of the nodes, as KEY=VALUE.
	Pool string
	// Surge is the number of new nodes that a turn adds before it drains. MaxUnavailable is the number of nodes that a turn drains without a
	// new one. A turn replaces Surge + MaxUnavailable nodes.
	Surge, MaxUnavailable int
	Order                 Order
	// New is what the new nodes are like; its fields Count and InPlaceOf are not used. Without Like, each new node is like the node that it
	// replaces.
	New scenario.AddNodes
	// Drain is how nodes are drained; its fields Nodes and Together are not used.
	Drain scenario.Drain
	// KeepGoing continues with the next node after a drain that does not end. The blocked node is uncordoned, and its new node replaces a node
	// of the next turn.
	KeepGoing bool
	// First are steps to do before the first turn. The answer covers only what comes after them.
	First []scenario.Step
	// Progress, if set, is called after each turn with the number of nodes whose turn is over, and the number of all nodes to replace.
	Progress func(done, total int)
}

// Order is the order in which nodes are replaced.
type Order string

const (
	// ByName is the order of the names.
	ByName Order = "name"
	// ByZone replaces the nodes of one zone after those of another.
	ByZone Order = "zone"
	// FewestPods replaces first the node that has the fewest pods when its turn begins.
	FewestPods Order = "fewest-pods"
)

// Orders returns all orders, the default first.
func Orders() []string { return []string{string(ByName), string(ByZone), string(FewestPods)} }

// Answer is what happens to the pods while the nodes are replaced.
type Answer struct {
	// Pool is the label of the nodes.
	Pool           string `json:"pool"`
	Surge          int    `json:"surge"`
	MaxUnavailable int    `json:"maxUnavailable"`
	Order          Order  `json:"order"`
	// Nodes is the number of nodes to replace, and Replaced the number of nodes that were replaced.
	Nodes    int `json:"nodes"`
	Replaced int `json:"replaced"`
	// Seconds is the time from the first turn to the end.
	Seconds float64 `json:"seconds"`
	// Evicted is the number of evictions.
	Evicted int `json:"evicted"`
	// Moves counts the pods by the number of their moves.
	Moves []Moves `json:"moves,omitempty"`
	// NotReplaced is the number of evicted pods for which no new pod was created.
	NotReplaced int `json:"notReplaced,omitempty"`
	// Waited are the pods that were Pending for a second or longer, and not before the first turn. The longest wait comes first.
	Waited []Wait `json:"waited,omitempty"`
	// MostPending is the largest number of pods that were Pending at the same time, not counting as many pods of each workload as were before.
	MostPending int `json:"mostPending"`
	// Pending are the pods that are Pending at the end, not counting as many pods of each workload as were Pending before.
	Pending []placement.StrandedPod `json:"pending,omitempty"`
	// Lost are the workloads that run fewer replicas at the end than at the start, the one that has lost most first.
	Lost []Lost `json:"lost,omitempty"`
	// StillPending is the number of pods that are Pending at the end and were Pending before.
	StillPending int `json:"stillPending,omitempty"`
	// Worst is the moment with the fewest ready pods; missing if there were never fewer than before.
	Worst *Moment `json:"worst,omitempty"`
	// Delays are the budgets that refused an eviction at first and allowed it later.
	Delays []Delay `json:"delays,omitempty"`
	// Blocked are the nodes whose drains do not end, in order; missing if all nodes are replaced. KeepsGoing means that the roll continued
	// after the first of them.
	Blocked    []Blocked `json:"blocked,omitempty"`
	KeepsGoing bool      `json:"keepsGoing,omitempty"`
	// Levels has the spread of the pods at the start, in the worst moment and at the end.
	Levels []Level `json:"levels,omitempty"`
	// Turns are the turns in order.
	Turns []Turn `json:"turns"`
	// Start is the cluster before the first turn.
	Start Sample `json:"start"`
	// Plan has the steps before the first turn; missing if no plan was asked for.
	Plan *Plan `json:"plan,omitempty"`

	// Steps are the steps that were done.
	Steps []scenario.Step `json:"-"`
	// End is the cluster at the end.
	End *cluster.State `json:"-"`
}

// Done reports whether all nodes are replaced.
func (a *Answer) Done() bool { return len(a.Blocked) == 0 }

// Longest returns the longest time for which a pod was Pending, including pods that still are; 0 if no pod was.
func (a *Answer) Longest() time.Duration {
	if len(a.Waited) == 0 {
		return 0
	}
	return toDuration(a.Waited[0].Seconds)
}

// Moves is the number of pods that moved a certain number of times.
type Moves struct {
	Moves int `json:"moves"`
	Pods  int `json:"pods"`
}

// Wait is the time for which a pod was Pending.
type Wait struct {
	cluster.PodRef
	Seconds float64 `json:"seconds"`
	// Turn is the turn in which the pod was created, from 1.
	Turn int `json:"turn"`
}

// Moment has the state of the pods at one time.
type Moment struct {
	// Turn is the turn, from 1, and Seconds the time since the start.
	Turn    int     `json:"turn"`
	Seconds float64 `json:"seconds"`
	// Unavailable is the number of ready pods that the workloads lack compared with the start. Pending is the number of pods without a node.
	Unavailable int `json:"unavailable"`
	Pending     int `json:"pending"`
	// Workloads are the workloads that lack pods, the one that lacks most first.
	Workloads []Lack `json:"workloads"`
}

// Lack is a workload with fewer ready pods than at the start: Ready of Of.
type Lack struct {
	cluster.WorkloadRef
	Ready int `json:"ready"`
	Of    int `json:"of"`
}

// Lost is a workload that lost replicas: they are Pending at the end.
type Lost struct {
	cluster.WorkloadRef
	Replicas int `json:"replicas"`
}

// Delay is a budget that made evictions wait.
type Delay struct {
	// Budget is the namespace and the name of the budget.
	Budget string `json:"budget"`
	// Pods is the number of pods that had to wait, and Seconds the longest wait.
	Pods    int     `json:"pods"`
	Seconds float64 `json:"seconds"`
}

// Blocked is a node that cannot be replaced.
type Blocked struct {
	// Turn is the turn, from 1. Node is the node whose drain does not end, and Number its place among all nodes to replace, from 1.
	Turn   int    `json:"turn"`
	Node   string `json:"node"`
	Number int    `json:"number"`
	// Stays are the pods because of which the drain does not end.
	Stays []world.BlockedPod `json:"stays"`
	// Budget is the budget that refuses the eviction of the first of these pods; missing if no budget does.
	Budget *Budget `json:"budget,omitempty"`

	budgets []*policyv1.PodDisruptionBudget // the budgets that refuse the evictions of the node's pods
}

// Budget is a PodDisruptionBudget in numbers.
type Budget struct {
	// Name is the budget's namespace and name.
	Name string `json:"name"`
	// Needs is the number of healthy pods that the budget needs, and Healthy the number of healthy pods.
	Needs   int `json:"needs"`
	Healthy int `json:"healthy"`
}

// Level has the spread of the pods over the domains of a level.
type Level struct {
	TopologyKey string `json:"topologyKey"`
	Start       Spread `json:"start"`
	// Worst is the spread at the worst moment; missing if there is none.
	Worst *Spread `json:"worst,omitempty"`
	End   Spread  `json:"end"`
}

// Spread measures how the pods are spread over domains.
type Spread struct {
	// Radius is the blast radius: the largest share of a workload of two or more replicas that the loss of one domain takes.
	Radius float64 `json:"radius"`
	// Skew is the number of pods by which a workload's fullest domain exceeds its emptiest, for the workload with the worst spread.
	Skew int `json:"skew"`
}

// Turn is the replacement of nodes that are drained together.
type Turn struct {
	// Old are the nodes that are replaced, and New the nodes that were added.
	Old []string `json:"old"`
	New []string `json:"new,omitempty"`
	// Seconds is the duration of the turn, and Evicted the number of evicted pods.
	Seconds float64 `json:"seconds"`
	Evicted int     `json:"evicted"`
	Sample
}

// Sample is the cluster during a turn.
type Sample struct {
	// Total is the number of nodes after the turn.
	Total int `json:"total"`
	// Unavailable is the largest number of ready pods that the workloads lacked. Pending is the largest number of pods without a node.
	Unavailable int `json:"unavailable"`
	Pending     int `json:"pending"`
	// Price is what all nodes cost an hour after the turn; missing if any node has no price.
	Price *float64 `json:"price,omitempty"`
}

// Run replaces the nodes of the pool after the last step of the result, in a world of its scenario. It is an error if the pool has no node.
func Run(ctx context.Context, w *world.Cluster, result *simulation.Result, opts Options) (*Answer, error) {
	r := &rollRun{opts: opts, scenario: result.Scenario, answer: &Answer{Pool: opts.Pool, Surge: opts.Surge, MaxUnavailable: opts.MaxUnavailable, Order: opts.Order, KeepsGoing: opts.KeepGoing}}
	course, err := simulation.Continue(w, result, simulation.Options{Moved: func(state *cluster.State) {
		if r.tracker != nil {
			r.observe(state)
		}
	}})
	if err != nil {
		return nil, err
	}
	for _, step := range opts.First {
		if _, err := course.Do(ctx, step); err != nil {
			return nil, err
		}
	}
	r.course, r.tracker = course, newTracker(course.State())
	nodes, err := r.selectNodes()
	if err != nil {
		return nil, err
	}
	if err = r.replaceAll(ctx, nodes); err == nil {
		err = r.fillAnswer(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r.answer, nil
}

// rollRun is the state of a roll between two turns.
type rollRun struct {
	*tracker
	opts       Options
	scenario   *scenario.Scenario
	course     *simulation.Course
	answer     *Answer
	doneNodes  int // the number of nodes whose turn is over
	spareNodes int // the number of new nodes that have not replaced a node yet
}

// fillAnswer fills the answer with what the whole roll did.
func (r *rollRun) fillAnswer(ctx context.Context) error {
	a, end := r.answer, r.course.State()
	a.Steps, a.End, a.Seconds = r.course.Did, end, end.Now.Sub(r.start.Now.Time).Seconds()
	before := r.start.PodsByWorkload()
	newly := cluster.NewlyPending(before, end)
	r.fillTrackedNumbers(a, end, newly)
	for _, s := range cluster.Shortfalls(before, end) {
		if s.Lost > 0 {
			a.Lost = append(a.Lost, Lost{s.Workload(), s.Lost})
		}
	}
	if n := len(r.course.Steps); n > 0 {
		for _, p := range r.course.Steps[n-1].Pending {
			if newly[p.Pod.UID] {
				a.Pending = append(a.Pending, p.Stranded(r.owner(p.Pod)))
			} else {
				a.StillPending++
			}
		}
	}
	states := []*cluster.State{r.start, end}
	if r.worstState != nil {
		states = append(states, r.worstState)
	}
	var found []*metric.Metrics
	for _, state := range states {
		m, err := metric.Measure(ctx, nil, r.scenario, state, metric.Options{})
		if err != nil {
			return err
		}
		lost, err := blast.Lost(state, blast.Options{LevelKeys: r.scenario.LevelKeys, Simultaneous: 1})
		if err != nil {
			return err
		}
		for i := range lost.Levels { // without the losses of workloads with one replica, which no spread can prevent
			if level := m.Level(lost.Levels[i].TopologyKey); level != nil {
				level.Radius = lost.Levels[i].Replicated.Share
			}
		}
		found = append(found, m)
	}
	for i := range found[0].Levels {
		key := found[0].Levels[i].TopologyKey
		level := Level{TopologyKey: key, Start: *newSpread(found[0], key), End: *newSpread(found[1], key)}
		if len(found) > 2 {
			level.Worst = newSpread(found[2], key)
		}
		a.Levels = append(a.Levels, level)
	}
	return nil
}

func newSpread(m *metric.Metrics, key string) *Spread {
	level := m.Level(key)
	if level == nil {
		return &Spread{}
	}
	return &Spread{level.Radius, level.Skew}
}

// pricePerHour returns what the nodes cost an hour; nil if any node has no price.
func (r *rollRun) pricePerHour(nodes []*v1.Node) *float64 {
	sum := 0.0
	for _, node := range nodes {
		one, priced, _ := r.scenario.Autoscaler.Price(node) // fillAnswer reports the error
		if !priced {
			return nil
		}
		sum += one
	}
	return &sum
}

func toDuration(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// NeverPending returns the smallest surge of the answers with which all nodes are replaced and no pod is Pending for a second, or -1 if
// there is none.
func NeverPending(answers []*Answer) int {
	smallest := -1
	for _, a := range answers {
		if a.Done() && len(a.Waited)+len(a.Pending) == 0 && (smallest < 0 || a.Surge < smallest) {
			smallest = a.Surge
		}
	}
	return smallest
}

// Compare rolls the pool once for each of the options, each time from the end of the result. It calls progress with the number of finished
// rolls and of all rolls.
func Compare(ctx context.Context, result *simulation.Result, all []Options, progress func(done, total int)) ([]*Answer, error) {
	answers := make([]*Answer, len(all))
	each := parallel.Options{Progress: func(_, done int) { progress(done, len(all)) }}
	err := simulation.Each(ctx, result.Scenario, len(all), each, func(ctx context.Context, w world.World, i int) (err error) {
		answers[i], err = Run(ctx, w.(*world.Cluster), result, all[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}
