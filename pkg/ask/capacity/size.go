package capacity

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// SizeOptions are the options of Size.
type SizeOptions struct {
	Options
	// Groups are the names of the groups that may be resized; if empty, all but control planes.
	Groups []string
	// Free lets the number of nodes of a group differ from zone to zone.
	Free bool
	// Most is the maximum number of clusters to try.
	Most int
}

// Sizing is the cheapest cluster on which everything is placed, or comes back.
type Sizing struct {
	Groups []Group
	// Counts are the nodes by group and zone, in the order of Groups; nil if no numbers suffice.
	Counts [][]int
	// Priced means that costs are from the annotations of the nodes that may change; otherwise they are numbers of nodes. Cost is the cost
	// of all nodes that may change, Before that of the scenario's own.
	Priced       bool
	Cost, Before float64
	// Proven means that every cheaper cluster was tried, or has too few resources. Tried is the number tried.
	Proven bool
	Tried  int
	// Unbound is the number of pods that had nodes and were placed again.
	Unbound int
	// Foreign is the number of pods of schedulers that are not configured, which are left out.
	Foreign int
	// Fewer is what happens with one node fewer, for each number that can be lowered. If no numbers suffice, it is what happens with the
	// largest that were tried.
	Fewer []Fewer
}

// Fewer is what goes wrong on a smaller cluster.
type Fewer struct {
	// Group has one node fewer, in Zone, or in each of its zones if that is empty.
	Group, Zone string
	// Level and Domain are the failure that is not survived; empty if pods have no node even without a failure.
	Level, Domain string
	// Stranded is the number of pods without a node, and Refused the first of them.
	Stranded int
	Refused  *placement.Pending
}

// Size finds the cheapest numbers of nodes with which every pod of the scenario has a node after its last step, and comes back whichever
// domain of opts.Survive fails. Without prices, the fewest nodes are the cheapest. The error lists unknown groups, and steps that act on
// nodes by name.
func Size(ctx context.Context, s *scenario.Scenario, opts SizeOptions) (*Sizing, error) {
	z := &sizer{scenario: s, opts: opts, known: map[string]*Fewer{}}
	if err := z.prepare(); err != nil {
		return nil, err
	}
	world, err := simulation.NewWorld(s.Config, s.Ties)
	if err != nil {
		return nil, err
	}
	defer world.Close()
	z.world = world
	return z.search(ctx)
}

// InputError is what is wrong with the scenario or the options, one line per problem.
type InputError struct{ error }

// number is a number of nodes to find: of a group in one zone, or in each of several.
type number struct {
	group int
	zones []int
	cost  float64 // of one more
}

type sizer struct {
	scenario *scenario.Scenario
	opts     SizeOptions
	world    *simulation.World
	groups   []Group
	numbers  []number
	rest     []cluster.Object
	sizing   Sizing
	known    map[string]*Fewer
	needs    amounts // total requests of the pods; nil until a run has shown them
}

func (z *sizer) prepare() error {
	groups, err := Groups(z.scenario)
	problems := []error{err}
	for _, name := range z.opts.Groups {
		if !slices.ContainsFunc(groups, func(g Group) bool { return g.Name == name }) {
			var names []string
			for _, g := range groups {
				names = append(names, g.Name)
			}
			problems = append(problems, fmt.Errorf("no node group %q; %s", name, scenario.Choices(name, names)))
		}
	}
	for i := range z.scenario.Steps {
		step := &z.scenario.Steps[i]
		if step.Cordon != nil || step.Uncordon != nil || step.Drain != nil || step.Fail != nil || step.Restore != nil {
			problems = append(problems, fmt.Errorf("step %q acts on nodes by name; give an earlier one with --step", step.Name))
		}
	}
	priced := true
	for i := range groups {
		g := &groups[i]
		if len(z.opts.Groups) > 0 {
			g.Kept = !slices.Contains(z.opts.Groups, g.Name)
		}
		priced = priced && (g.Kept || g.Priced)
	}
	for i := range groups {
		if groups[i].Kept {
			continue
		}
		price := 1.0
		if priced {
			price = groups[i].Price
		}
		var all []int
		for zone := range groups[i].Zones {
			all = append(all, zone)
			z.sizing.Before += price * float64(len(groups[i].Zones[zone].Nodes))
			if z.opts.Free {
				z.numbers = append(z.numbers, number{i, []int{zone}, price})
			}
		}
		if !z.opts.Free {
			z.numbers = append(z.numbers, number{i, all, price * float64(len(all))})
		}
	}
	if len(z.numbers) == 0 && len(z.opts.Groups) == 0 {
		problems = append(problems, errors.New("no nodes to size; give a cluster with a node of each group, in each of its zones"))
	}
	if err := errors.Join(problems...); err != nil {
		return &InputError{err}
	}
	z.groups, z.sizing.Groups, z.sizing.Priced = groups, groups, priced
	z.afreshAll()
	return nil
}

// afreshAll unbinds the pods of the cluster and of the steps, since a dump can be either.
func (z *sizer) afreshAll() {
	z.rest = z.afresh(z.scenario.Cluster)
	s := *z.scenario
	s.Workloads, s.Steps = z.afresh(s.Workloads), slices.Clone(s.Steps)
	for i := range s.Steps {
		if s.Steps[i].Apply != nil {
			s.Steps[i].Objects = z.afresh(s.Steps[i].Objects)
		}
	}
	z.scenario = &s
}

// counts returns the nodes by group and zone.
func (z *sizer) counts(point []int) [][]int {
	counts := make([][]int, len(z.groups))
	for i, g := range z.groups {
		for _, zone := range g.Zones {
			n := 0
			if g.Kept {
				n = len(zone.Nodes)
			}
			counts[i] = append(counts[i], n)
		}
	}
	for i, number := range z.numbers {
		for _, zone := range number.zones {
			counts[number.group][zone] = point[i]
		}
	}
	return counts
}

func (z *sizer) with(point []int) *scenario.Scenario {
	s := *z.scenario
	var nodes []cluster.Object
	for i, counts := range z.counts(point) {
		for j, n := range counts {
			nodes = append(nodes, z.groups[i].Zones[j].nodes(z.groups[i].Name, n)...)
		}
	}
	s.Cluster = slices.Concat(nodes, z.rest)
	return &s
}

// try runs the scenario on a cluster with that many nodes. It returns nil if everything has a node and comes back.
func (z *sizer) try(ctx context.Context, point []int) (*Fewer, error) {
	key := fmt.Sprint(point)
	if fewer, found := z.known[key]; found {
		return fewer, nil
	}
	z.sizing.Tried++
	if z.opts.Progress != nil {
		z.opts.Progress("size", z.sizing.Tried)
	}
	fewer, err := z.run(ctx, point)
	if err == nil {
		z.known[key] = fewer
	}
	return fewer, err
}

func (z *sizer) run(ctx context.Context, point []int) (*Fewer, error) {
	result, err := z.world.Run(ctx, z.with(point), simulation.Options{})
	if err != nil {
		return nil, err
	}
	last := &result.Steps[len(result.Steps)-1]
	z.ask(last.State)
	if len(last.Pending) > 0 {
		return &Fewer{Stranded: len(last.Pending), Refused: &last.Pending[0]}, nil
	}
	for _, level := range z.opts.Survive {
		if domains, _ := topology.Domains(last.State.Nodes, level); len(domains) == 0 {
			continue // these groups are not in the level
		}
		v, err := survives(ctx, z.world, last.State, level, z.opts.Options)
		if err != nil {
			return nil, err
		}
		if !v.fits {
			return &Fewer{Level: level, Domain: v.domain, Stranded: v.stranded, Refused: v.refused}, nil
		}
	}
	return nil, nil
}

// ask adds up what the pods request, without those of DaemonSets, which follow the nodes.
func (z *sizer) ask(state *cluster.State) {
	if z.needs != nil {
		return
	}
	z.needs = amounts{}
	for _, pod := range state.Pods {
		if !cluster.Terminal(pod) && !slices.ContainsFunc(pod.OwnerReferences, followsNodes) {
			z.needs.add(requests(pod), 1)
		}
	}
}

func followsNodes(ref metav1.OwnerReference) bool {
	return ref.Kind == "DaemonSet" || ref.Kind == "Node"
}

// enough reports whether the nodes have the resources that the pods request in total.
func (z *sizer) enough(point []int) bool {
	has := amounts{}
	for i, counts := range z.counts(point) {
		for j, n := range counts {
			for range n {
				has.add(z.groups[i].Zones[j].Nodes[0].Status.Allocatable, 1)
			}
		}
	}
	for name, n := range z.needs {
		if n > has[name] {
			return false
		}
	}
	return true
}

func (z *sizer) search(ctx context.Context) (*Sizing, error) {
	found, fewer, err := z.some(ctx)
	if err != nil {
		return nil, err
	}
	if found == nil {
		z.sizing.Fewer = []Fewer{*fewer}
		return &z.sizing, nil
	}
	if found, err = z.lower(ctx, found); err != nil {
		return nil, err
	}
	if found, err = z.cheapest(ctx, found); err != nil {
		return nil, err
	}
	z.sizing.Counts, z.sizing.Cost = z.counts(found), z.cost(found)
	for i, n := range found {
		if n == 0 {
			continue
		}
		less := slices.Clone(found)
		less[i]--
		fewer, err := z.try(ctx, less)
		if err != nil {
			return nil, err
		}
		if fewer != nil {
			told := *fewer
			told.Group = z.groups[z.numbers[i].group].Name
			if len(z.numbers[i].zones) == 1 {
				told.Zone = z.groups[z.numbers[i].group].Zones[z.numbers[i].zones[0]].Name
			}
			z.sizing.Fewer = append(z.sizing.Fewer, told)
		}
	}
	return &z.sizing, nil
}

// some doubles all numbers together until they suffice. Once there are more nodes than pods, it gives up and returns the last result.
func (z *sizer) some(ctx context.Context) ([]int, *Fewer, error) {
	for n := 1; ; n *= 2 {
		point := slices.Repeat([]int{n}, len(z.numbers))
		fewer, err := z.try(ctx, point)
		if err != nil {
			return nil, nil, err
		}
		if fewer == nil {
			return point, nil, nil
		}
		if int64(n) > 2*z.needs[v1.ResourcePods] {
			return nil, fewer, nil
		}
	}
}

// lower bisects one number after another, the most expensive first, while the others stay.
func (z *sizer) lower(ctx context.Context, found []int) ([]int, error) {
	found = slices.Clone(found)
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(z.numbers[b].cost, z.numbers[a].cost) })
	for _, i := range order {
		for low, high := -1, found[i]; ; {
			if high-low <= 1 {
				found[i] = high
				break
			}
			point := slices.Clone(found)
			point[i] = (low + high) / 2
			if !z.enough(point) {
				low = point[i]
				continue
			}
			fewer, err := z.try(ctx, point)
			if err != nil {
				return nil, err
			}
			if fewer == nil {
				high = point[i]
			} else {
				low = point[i]
			}
		}
	}
	return found, nil
}

func (z *sizer) cost(point []int) float64 {
	cost := 0.0
	for i, n := range point {
		cost += float64(n) * z.numbers[i].cost
	}
	return math.Round(cost*1e6) / 1e6 // so that equal costs compare as equal
}

// visited limits how many clusters are examined, most of which have too few resources to be tried.
const visited = 200_000

// cheapest tries the clusters that are cheaper than found, the cheapest first.
func (z *sizer) cheapest(ctx context.Context, found []int) ([]int, error) {
	queue := &points{z: z, all: []point{{at: make([]int, len(z.numbers))}}}
	for n := 0; queue.Len() > 0; n++ {
		next := heap.Pop(queue).(point)
		if queue.compare(next, point{at: found, cost: z.cost(found)}) >= 0 {
			break
		}
		if z.enough(next.at) {
			if z.sizing.Tried >= z.opts.Most {
				return found, nil
			}
			fewer, err := z.try(ctx, next.at)
			if err != nil {
				return nil, err
			}
			if fewer == nil {
				z.sizing.Proven = true
				return next.at, nil
			}
		}
		if n >= visited {
			return found, nil
		}
		for i := next.last; i < len(next.at); i++ { // reach each point in one way
			more := slices.Clone(next.at)
			more[i]++
			heap.Push(queue, point{at: more, last: i, cost: z.cost(more)})
		}
	}
	z.sizing.Proven = true
	return found, nil
}

// point is a number of nodes for each of the sizer's numbers. In points derived from it, those before last stay the same.
type point struct {
	at   []int
	last int
	cost float64
}

// points is a heap with the cheapest on top; ties go to fewer nodes, then to the first.
type points struct {
	z   *sizer
	all []point
}

func (p *points) compare(a, b point) int {
	nodes := func(at []int) int {
		sum := 0
		for i, n := range at {
			sum += n * len(p.z.numbers[i].zones)
		}
		return sum
	}
	return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(nodes(a.at), nodes(b.at)), slices.Compare(b.at, a.at))
}

func (p *points) Len() int           { return len(p.all) }
func (p *points) Less(i, j int) bool { return p.compare(p.all[i], p.all[j]) < 0 }
func (p *points) Swap(i, j int)      { p.all[i], p.all[j] = p.all[j], p.all[i] }
func (p *points) Push(x any)         { p.all = append(p.all, x.(point)) }
func (p *points) Pop() any {
	last := p.all[len(p.all)-1]
	p.all = p.all[:len(p.all)-1]
	return last
}
