// Package roll replaces the nodes of a pool in turn, as the upgrade of a node pool does. It does ordinary steps: add nodes, drain, remove
// nodes. A scenario with these steps gives the same.
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
	// Surge is how many new nodes a turn adds before it drains, MaxUnavailable how many nodes it drains without a new one. A turn replaces as
	// many nodes as both are together.
	Surge, MaxUnavailable int
	Order                 Order
	// New is what the new nodes are like; of its fields Count and InPlaceOf are not used. Without Like each is like the node that it replaces.
	New scenario.AddNodes
	// Drain is how nodes are drained; its Nodes and Together are not used.
	Drain scenario.Drain
	// KeepGoing goes on with the next node after a drain that does not end. The node is open to pods again, and the new node stays in the place
	// of one of the next turn.
	KeepGoing bool
	// First are the steps to do before the first turn; the answer is about what comes after them.
	First []scenario.Step
	// Progress, if set, is called after each turn with the number of nodes that have been replaced, and of all.
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

// Orders are all orders, the default first.
func Orders() []string { return []string{string(ByName), string(ByZone), string(FewestPods)} }

// Answer is what comes of it.
type Answer struct {
	// Pool is the label of the nodes.
	Pool           string `json:"pool"`
	Surge          int    `json:"surge"`
	MaxUnavailable int    `json:"maxUnavailable"`
	Order          Order  `json:"order"`
	// Nodes is the number of nodes to replace, Replaced of those that were replaced.
	Nodes    int `json:"nodes"`
	Replaced int `json:"replaced"`
	// Seconds is the time from the first turn to the end.
	Seconds float64 `json:"seconds"`
	// Evicted is the number of evictions.
	Evicted int `json:"evicted"`
	// Moves count the pods by how often they had to move.
	Moves []Moves `json:"moves,omitempty"`
	// NotReplaced is the number of pods in whose place no other was created.
	NotReplaced int `json:"notReplaced,omitempty"`
	// Waited are the pods that were Pending for a second or longer, and not before the first turn: the longest first.
	Waited []Wait `json:"waited,omitempty"`
	// MostPending is the largest number of pods that were Pending at the same time, without those that were so before.
	MostPending int `json:"mostPending"`
	// Pending are the pods that are Pending at the end, but for as many of their workload as were so before.
	Pending []placement.StrandedPod `json:"pending,omitempty"`
	// Lost are the workloads of which replicas that ran are among them, the one that has lost most first.
	Lost []Lost `json:"lost,omitempty"`
	// StillPending is the number of pods that are Pending as before.
	StillPending int `json:"stillPending,omitempty"`
	// Worst is the moment at which fewest pods are ready; missing if there are always as many as before.
	Worst *Moment `json:"worst,omitempty"`
	// Delays are the budgets that refused an eviction at first.
	Delays []Delay `json:"delays,omitempty"`
	// Blocked are the nodes whose drains do not end, in order; missing if all nodes are replaced. KeepsGoing means that the turns of others came
	// after the first of them.
	Blocked    []Blocked `json:"blocked,omitempty"`
	KeepsGoing bool      `json:"keepsGoing,omitempty"`
	// Levels are how the pods are spread at the start, in the worst moment and at the end.
	Levels []Level `json:"levels,omitempty"`
	// Turns are the turns in order.
	Turns []Turn `json:"turns"`
	// Start is the cluster before the first turn.
	Start Sample `json:"start"`
	// Plan is what was done before the first turn; missing if no plan was asked for.
	Plan *Plan `json:"plan,omitempty"`

	// Steps are the steps that were done.
	Steps []scenario.Step `json:"-"`
	// End is the cluster at the end.
	End *cluster.State `json:"-"`
}

// Done reports whether all nodes are replaced.
func (a *Answer) Done() bool { return len(a.Blocked) == 0 }

// Longest is the longest time for which a pod was Pending, also if it still is; 0 if none was.
func (a *Answer) Longest() time.Duration {
	if len(a.Waited) == 0 {
		return 0
	}
	return seconds(a.Waited[0].Seconds)
}

// Moves is how many pods moved so often.
type Moves struct {
	Moves int `json:"moves"`
	Pods  int `json:"pods"`
}

// Wait is the time for which a pod was Pending.
type Wait struct {
	cluster.PodRef
	Seconds float64 `json:"seconds"`
	// Turn is the one in which the pod was created, from 1.
	Turn int `json:"turn"`
}

// Moment is how the pods are at one time.
type Moment struct {
	// Turn is the turn, from 1, Seconds the time since the start.
	Turn    int     `json:"turn"`
	Seconds float64 `json:"seconds"`
	// Unavailable is how many ready pods the workloads lack against the start; Pending is the number of pods without a node.
	Unavailable int `json:"unavailable"`
	Pending     int `json:"pending"`
	// Workloads are those that lack pods, the one that lacks most first.
	Workloads []Lack `json:"workloads"`
}

// Lack is how many ready pods a workload has, and had at the start.
type Lack struct {
	cluster.WorkloadRef
	Ready int `json:"ready"`
	Of    int `json:"of"`
}

// Lost is a workload that lost replicas: they are Pending in the end.
type Lost struct {
	cluster.WorkloadRef
	Replicas int `json:"replicas"`
}

// Delay is a budget because of which evictions had to wait.
type Delay struct {
	// Budget is its name, after its namespace.
	Budget string `json:"budget"`
	// Pods is the number of pods that had to wait, Seconds the longest time.
	Pods    int     `json:"pods"`
	Seconds float64 `json:"seconds"`
}

// Blocked is a node that cannot be replaced.
type Blocked struct {
	// Turn is the turn, from 1, Node the node whose drain does not end, and Number its place among all nodes to replace, from 1.
	Turn   int    `json:"turn"`
	Node   string `json:"node"`
	Number int    `json:"number"`
	// Stays are the pods that keep the drain from its end.
	Stays []world.BlockedPod `json:"stays"`
	// Budget is the budget that refuses the eviction of the first of them; missing if none does.
	Budget *Budget `json:"budget,omitempty"`

	budgets []*policyv1.PodDisruptionBudget // those that refuse the evictions of its pods
}

// Budget is a PodDisruptionBudget in numbers.
type Budget struct {
	// Name is the name, after the namespace.
	Name string `json:"name"`
	// Needs is how many healthy pods it needs, Healthy how many there are.
	Needs   int `json:"needs"`
	Healthy int `json:"healthy"`
}

// Level is how the pods are spread over the domains of a level.
type Level struct {
	TopologyKey string `json:"topologyKey"`
	Start       Spread `json:"start"`
	// Worst is at the worst moment; missing if there is none.
	Worst *Spread `json:"worst,omitempty"`
	End   Spread  `json:"end"`
}

// Spread is how the pods are spread.
type Spread struct {
	// Radius is the blast radius: the largest share of a workload of two or more replicas that the loss of one domain takes.
	Radius float64 `json:"radius"`
	// Skew is by how many pods a workload's fullest domain is ahead of its emptiest, for the workload with the worst spread.
	Skew int `json:"skew"`
}

// Turn is the replacement of nodes that are drained together.
type Turn struct {
	// Old are the nodes that go, New those that come.
	Old []string `json:"old"`
	New []string `json:"new,omitempty"`
	// Seconds is how long it took, Evicted how many pods were evicted.
	Seconds float64 `json:"seconds"`
	Evicted int     `json:"evicted"`
	Sample
}

// Sample is the cluster during a turn.
type Sample struct {
	// Total is the number of nodes after it.
	Total int `json:"total"`
	// Unavailable is the largest number of ready pods that the workloads lacked; Pending the largest number of pods without a node.
	Unavailable int `json:"unavailable"`
	Pending     int `json:"pending"`
	// Price is what the nodes cost in an hour after it; missing if not all have a price.
	Price *float64 `json:"price,omitempty"`
}

// Run replaces the nodes of the pool after the last step of the result, in a world of its scenario. The error names the problem if no node is
// of the pool.
func Run(ctx context.Context, w *world.Cluster, result *simulation.Result, opts Options) (*Answer, error) {
	r := &roll{opts: opts, ask: result.Scenario, answer: &Answer{Pool: opts.Pool, Surge: opts.Surge, MaxUnavailable: opts.MaxUnavailable, Order: opts.Order, KeepsGoing: opts.KeepGoing}}
	course, err := simulation.GoOn(w, result, simulation.Options{Moved: func(state *cluster.State) {
		if r.tracker != nil {
			r.follow(state)
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
	nodes, err := r.nodes()
	if err != nil {
		return nil, err
	}
	if err = r.all(ctx, nodes); err == nil {
		err = r.conclude(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r.answer, nil
}

// roll is a roll under way.
type roll struct {
	*tracker
	opts   Options
	ask    *scenario.Scenario
	course *simulation.Course
	answer *Answer
	done   int // nodes whose turn has been
	spare  int // new nodes in whose place none has gone
}

// conclude sums up.
func (r *roll) conclude(ctx context.Context) error {
	a, end := r.answer, r.course.State()
	a.Steps, a.End, a.Seconds = r.course.Did, end, end.Now.Sub(r.start.Now.Time).Seconds()
	before := r.start.Crews()
	newly := cluster.NewlyPending(before, end)
	r.finish(a, end, newly)
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
		m, err := metric.Of(ctx, nil, r.ask, state, metric.Options{})
		if err != nil {
			return err
		}
		lost, err := blast.Lost(state, blast.Options{LevelKeys: r.ask.LevelKeys, Simultaneous: 1})
		if err != nil {
			return err
		}
		for i := range lost.Levels { // the loss of a single replica is no matter of the spread
			if level := m.Level(lost.Levels[i].TopologyKey); level != nil {
				level.Radius = lost.Levels[i].Replicated.Share
			}
		}
		found = append(found, m)
	}
	for i := range found[0].Levels {
		key := found[0].Levels[i].TopologyKey
		level := Level{TopologyKey: key, Start: *spreadOf(found[0], key), End: *spreadOf(found[1], key)}
		if len(found) > 2 {
			level.Worst = spreadOf(found[2], key)
		}
		a.Levels = append(a.Levels, level)
	}
	return nil
}

func spreadOf(m *metric.Metrics, key string) *Spread {
	level := m.Level(key)
	if level == nil {
		return &Spread{}
	}
	return &Spread{level.Radius, level.Skew}
}

// price is what the nodes cost in an hour; nil if not all have a price.
func (r *roll) price(nodes []*v1.Node) *float64 {
	sum := 0.0
	for _, node := range nodes {
		one, priced, _ := r.ask.Autoscaler.Price(node) // metric.Of says what is wrong with it
		if !priced {
			return nil
		}
		sum += one
	}
	return &sum
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// NeverPending returns the smallest surge of the answers that replaces all nodes without a pod that is Pending for a second; -1 if none does.
func NeverPending(answers []*Answer) int {
	smallest := -1
	for _, a := range answers {
		if a.Done() && len(a.Waited)+len(a.Pending) == 0 && (smallest < 0 || a.Surge < smallest) {
			smallest = a.Surge
		}
	}
	return smallest
}

// Compare rolls the pool once for each of the options, each time from the end of the result. Progress is called with how many of how many are done.
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
