package capacity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/variant"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Size finds the cheapest numbers of nodes with which every pod of the scenario has a node after its last step, and comes back whichever
// domain of opts.Survive fails. Without prices, the fewest nodes are the cheapest. Unknown groups, and steps that act on nodes by name, are
// an [InputError]. If the context ends, Size returns its error and the best answer known by then, which is Partial; nil if there is none.
func Size(ctx context.Context, s *scenario.Scenario, opts SizeOptions) (*Sizing, error) {
	fixed := *s
	fixed.Autoscaler = nil // it would add the nodes that the search removes
	z := &sizer{unsized: &fixed, scenario: &fixed, autoscaler: s.Autoscaler, opts: opts, results: map[string]clusterResult{}, weakDomains: map[string]string{}, aside: map[failure]map[cluster.Ref]int{}}
	z.sizing.scenario = z.unsized
	if err := z.prepare(); err != nil {
		return nil, err
	}
	z.worlds = simulation.NewWorlds(z.scenario)
	defer z.worlds.Close()
	var err error
	if z.world, err = z.worlds.First(); err != nil {
		return nil, err
	}
	return z.search(ctx)
}

// largeWork is the number of pods to place, in all tries together, above which fewer are tried.
const largeWork = 100_000

// sizingWork is the same for the clusters that Size tries. A cluster that is cheaper than the one found, and has enough resources by
// arithmetic, hardly ever holds all pods: on nine clusters of 120 nodes, 81 tries found the same as 33.
const sizingWork = 40_000

// InputError is an error in the scenario or the options, one line per problem.
type InputError struct{ error }

type sizer struct {
	// scenario is the scenario without its nodes, in which all pods are unbound; unsized is the scenario as it is.
	scenario, unsized *scenario.Scenario
	// autoscaler is the scenario's autoscaler, which says at the end how many nodes it would add.
	autoscaler   *scenario.Autoscaler
	opts         SizeOptions
	world        world.World
	worlds       *simulation.Worlds // world is the first of them
	groups       []NodeGroup
	priced       bool // all prices are known; otherwise each node of a group that may change costs 1
	numbers      []number
	nodeMaker    *variant.NodeMaker
	sizing       Sizing
	results      map[string]clusterResult // by point
	weakDomains  map[string]string        // by level: the domain whose failure was the last to strand pods; the next try loses it first
	aside        map[failure]map[cluster.Ref]int
	state        *cluster.State // after the first run
	pending      []placement.Pending
	demands      map[demandKey]*demand
	bounds       []*bound             // the bounds that follow from demands; nil: to be computed again, since pods were set aside
	agents       map[*v1.Node]amounts // the requests of the pods that come with a node, by the first node of a group in a zone
	fewer        []fewerTried
	unevenCounts [][]int // the counts of sizing.Uneven
	triedBelow   float64 // cheapest has tried all clusters below this cost
}

func (z *sizer) prepare() error {
	groups, err := Groups(z.scenario)
	problems := []error{err}
	for _, name := range z.opts.Groups {
		if !slices.ContainsFunc(groups, func(g NodeGroup) bool { return g.Name == name }) {
			var names []string
			for _, g := range groups {
				names = append(names, g.Name)
			}
			problems = append(problems, fmt.Errorf("no node group %q; %s", name, scenario.ListChoices(name, names)))
		}
	}
	for i := range z.scenario.Steps {
		step := &z.scenario.Steps[i]
		if step.Cordon != nil || step.Uncordon != nil || step.Drain != nil || step.Fail != nil || step.Restore != nil || step.AddNodes != nil || step.RemoveNodes != nil || step.ReplaceNodes != nil {
			problems = append(problems, fmt.Errorf("step %q acts on nodes by name; give an earlier one with --step", step.Name))
		}
	}
	for i := range groups {
		if g := &groups[i]; len(z.opts.Groups) > 0 {
			g.Kept = !slices.Contains(z.opts.Groups, g.Name)
		}
	}
	priced := z.sumPresentNodes(groups)
	z.nodeMaker = variant.NewNodeMaker(z.scenario)
	if z.opts.Catalogue != nil {
		groups, priced = mixNodeTypes(groups, z.opts.Catalogue.Types, z.nodeMaker), true
	}
	for i := range groups {
		if groups[i].Kept {
			continue
		}
		price := 1.0
		if priced {
			price = groups[i].Price
		}
		z.sizing.Even = z.sizing.Even || !z.opts.Free && len(groups[i].Zones) > 1
		var all []int
		for zone := range groups[i].Zones {
			all = append(all, zone)
			if z.opts.Free {
				z.numbers = append(z.numbers, number{i, []int{zone}, price})
			}
		}
		if !z.opts.Free {
			z.numbers = append(z.numbers, number{i, all, price * float64(len(all))})
		}
	}
	if len(groups) == 0 {
		problems = append(problems, errors.New("no nodes to size; give a cluster with a node of each group, in each of its zones"))
	}
	if err := errors.Join(problems...); err != nil {
		return &InputError{err}
	}
	z.groups, z.priced = groups, priced
	z.sizing.Groups, _ = z.describeGroups(nil)
	if z.sizing.Survive = z.opts.Survive; len(z.opts.Survive) > 0 {
		z.sizing.Mode = string(z.opts.Mode)
	}
	z.scenario, z.sizing.Unbound, z.sizing.Foreign = variant.UnbindAllPods(z.scenario)
	return nil
}

// sumPresentNodes sums up the nodes that may change, and their cost if all their prices are known. It reports whether they are.
func (z *sizer) sumPresentNodes(groups []NodeGroup) bool {
	cost, priced := 0.0, true
	for _, g := range groups {
		if g.Kept {
			continue
		}
		price, known := g.Price, g.Priced
		if of := z.opts.Catalogue.FindType(g.Zones[0].Nodes[0].Labels[v1.LabelInstanceTypeStable]); !known && of != nil {
			price, known = *of.PricePerHour, true
		}
		priced = priced && known
		for _, zone := range g.Zones {
			z.sizing.Before += len(zone.Nodes)
			cost += price * float64(len(zone.Nodes))
		}
	}
	if priced {
		z.sizing.CostBefore = &cost
	}
	return priced
}

// clusterResult is what a cluster lacks. It may lack more if the run ended at the first failure that strands pods.
type clusterResult struct {
	lacks          []lack
	done, complete bool
	counted        bool // the search has asked for it
}

// tryCluster runs the scenario on a cluster with that many nodes, and returns the workloads whose pods lack a node; none if every pod has a node
// and comes back. Unless whole is set, the run ends with the first failure that strands pods. Other cores meanwhile try the clusters that
// are likely to come next.
func (z *sizer) tryCluster(ctx context.Context, whole bool, point []int, likely ...[]int) ([]lack, error) {
	key := fmt.Sprint(point)
	known := z.results[key]
	if !known.counted {
		z.sizing.Tried++
		known.counted = true
		z.results[key] = known
	}
	if known.done && (known.complete || !whole) {
		return known.lacks, nil
	}
	if z.opts.Progress != nil {
		z.opts.Progress("sizing", z.sizing.Tried, -1)
	}
	all := [][]int{point}
	for _, next := range likely {
		if !z.results[fmt.Sprint(next)].done {
			all = append(all, next)
		}
	}
	all = all[:parallel.Options{}.WorkerCount(len(all))]
	found, err := z.runClusters(ctx, all, whole)
	if err != nil {
		return nil, err
	}
	for i, next := range all {
		known := z.results[fmt.Sprint(next)]
		if lacks := found[i]; lacks != nil {
			known.lacks, known.done, known.complete = lacks, true, whole || len(lacks) == 0 || len(z.opts.Survive) == 0
			z.results[fmt.Sprint(next)] = known
		}
	}
	for _, lack := range found[0] {
		z.weakDomains[lack.level] = lack.domain
	}
	return found[0], nil
}

// runClusters runs the scenario on several clusters at once. An error matters only for the first; another cluster with an error gets nil.
func (z *sizer) runClusters(ctx context.Context, points [][]int, whole bool) ([][]lack, error) {
	found := make([][]lack, len(points))
	err := z.worlds.Each(ctx, len(points), parallel.Options{Workers: len(points)}, func(ctx context.Context, w world.World, i int) (err error) {
		if found[i], err = z.runCluster(ctx, w, points[i], whole); i > 0 {
			return nil
		}
		return err
	})
	return found, err
}

func (z *sizer) runCluster(ctx context.Context, w world.World, point []int, whole bool) ([]lack, error) {
	result, err := simulation.Run(ctx, z.withNodes(point), simulation.Options{World: w})
	if err != nil {
		return nil, err
	}
	last := result.Last()
	if z.state == nil { // the first try runs alone
		z.state, z.pending = last.State, last.Pending
		z.sizing.State = last.State
	}
	all := z.countLacks(failure{}, last.State, last.Pending)
	for _, level := range z.opts.Survive {
		if len(all) > 0 && (!whole || all[0].failure == failure{}) {
			break
		}
		if domains, _ := topology.Domains(last.State.Nodes, level); len(domains) == 0 {
			continue // these nodes have no such label
		}
		lost := losses{level: level, mode: z.opts.Mode, recoverer: recoverIn(w), exhaustive: whole}
		lost.excused = func(domain string, r *blast.Recovery) bool {
			return len(z.countLacks(failure{level, domain}, r.State, r.Pending)) == 0
		}
		if !whole {
			lost.firstDomain = z.weakDomains[level]
		}
		failures, err := lost.examine(ctx, last)
		if err != nil {
			return nil, err
		}
		for _, f := range failures {
			all = append(all, z.countLacks(failure{level, f.Domains[0]}, f.Recovery.State, f.Recovery.Pending)...)
		}
	}
	return append([]lack{}, all...), nil // not nil
}

func (z *sizer) search(ctx context.Context) (*Sizing, error) {
	found, lacks, err := z.findSufficient(ctx)
	if err != nil && z.sizing.Pods == 0 { // the requests of the pods are not known yet
		return nil, err
	} else if err != nil {
		return z.interruptedSizing(ctx, err)
	}
	if found == nil {
		z.sizing.Fewer = []Fewer{worstFailure(lacks)}
		return &z.sizing, nil
	}
	if found, err = z.lowerNumbers(ctx, found, false); err == nil {
		found, err = z.cheapest(ctx, found)
	}
	z.sizing.Found, z.sizing.Cost = true, z.costOf(found)
	z.sizing.Groups, z.sizing.Nodes = z.describeGroups(z.counts(found))
	if err != nil {
		return z.interruptedSizing(ctx, err)
	}
	var less [][]int
	for i, n := range found {
		if n > 0 {
			less = append(less, slices.Clone(found))
			less[len(less)-1][i]--
		}
	}
	for i, n := range found {
		if n == 0 {
			continue
		}
		point := less[0]
		lacks, err := z.tryCluster(ctx, true, point, less[1:]...)
		less = less[1:]
		if err != nil {
			return z.interruptedSizing(ctx, err)
		}
		if len(lacks) > 0 {
			fewer := worstFailure(lacks)
			fewer.Group = z.groups[z.numbers[i].group].Name
			if len(z.numbers[i].zones) == 1 {
				fewer.Zone = z.groups[z.numbers[i].group].Zones[z.numbers[i].zones[0]].Name
			}
			z.sizing.Fewer = append(z.sizing.Fewer, fewer)
			z.fewer = append(z.fewer, fewerTried{fewer, z.counts(point), lacks})
		}
	}
	if err = z.lowerByZone(ctx, found); err == nil {
		err = z.autoscale(ctx)
	}
	if err != nil {
		return z.interruptedSizing(ctx, err)
	}
	z.addClaims(found)
	return &z.sizing, nil
}

// lowerByZone reduces the numbers that were found zone by zone, so that the answer can say what it costs to keep the zones of a group equal.
func (z *sizer) lowerByZone(ctx context.Context, even []int) error {
	free := *z
	free.numbers, free.results = nil, map[string]clusterResult{}
	var found []int
	for i, number := range z.numbers {
		for _, zone := range number.zones {
			free.numbers = append(free.numbers, number.inZone(zone))
			found = append(found, even[i])
		}
	}
	if len(free.numbers) == len(z.numbers) || z.sizing.Tried >= z.opts.Most {
		return nil
	}
	found, err := free.lowerNumbers(ctx, found, true)
	z.sizing.Tried = free.sizing.Tried
	if free.cost(found) < z.cost(even) {
		z.unevenCounts = free.counts(found)
		groups, nodes := free.describeGroups(z.unevenCounts)
		z.sizing.Uneven = &Cheaper{Nodes: nodes, Cost: free.costOf(found), Groups: slices.DeleteFunc(groups, func(g Group) bool { return g.Kept })}
	}
	return err
}

// interruptedSizing returns what is known when the context has ended: the nodes that suffice, if any were found, and a lower bound. Clusters below the
// bound were tried, or have too few resources.
func (z *sizer) interruptedSizing(ctx context.Context, err error) (*Sizing, error) {
	if ctx.Err() == nil {
		return nil, err
	}
	least, most := z.lowerCostBound(), float64(z.sizing.Nodes)
	if z.sizing.Cost != nil {
		most = *z.sizing.Cost
	}
	if z.priced {
		z.sizing.CostAtLeast = &least
	} else {
		z.sizing.AtLeast = ptr.To(int(least))
	}
	z.sizing.Proven = z.sizing.Proven || z.sizing.Found && least >= most
	even := ""
	if z.sizing.Even {
		even = ", as many of a group in each of its zones"
	}
	var said string
	switch {
	case z.sizing.Proven:
		said = fmt.Sprintf("%s%s, and no fewer", z.describeCost(most), even)
	case z.sizing.Found:
		said = fmt.Sprintf("at least %g, at most %s%s", least, z.describeCost(most), even)
	default:
		said = fmt.Sprintf("at least %s%s; no number that will do is known yet", z.describeCost(least), even)
	}
	z.sizing.Partial = fmt.Sprintf("interrupted after %s: %s", words.Count(z.sizing.Tried, "cluster"), said)
	return &z.sizing, err
}

// findSufficient doubles the present numbers until they suffice. It sets aside the pods that twice as many nodes do not help. Once each pod could
// have a node of its own, it gives up and returns what still lacks a node.
func (z *sizer) findSufficient(ctx context.Context) ([]int, []lack, error) {
	point := z.presentCounts()
	lacks, err := z.tryCluster(ctx, true, point)
	if err != nil {
		return nil, nil, err
	}
	if err := z.sumDemands(ctx, lacks); err != nil {
		return nil, nil, err
	}
	if z.sizing.Pods = z.countPodsToPlace(); z.allSetAside() {
		return nil, lacks, nil
	}
	if len(z.opts.Survive) == 0 { // the first run stays valid: only the pods set aside change
		z.results[fmt.Sprint(point)] = clusterResult{lacks: z.countLacks(failure{}, z.state, z.pending), done: true, complete: true}
	}
	if z.opts.Less {
		z.opts.Most = min(z.opts.Most, max(20, sizingWork/(max(1, len(z.state.Pods))*(1+4*len(z.opts.Survive)))))
	}
	for {
		if lacks, err = z.tryCluster(ctx, true, point); err != nil || len(lacks) == 0 {
			return point, nil, err
		}
		if len(point) == 0 { // all nodes are kept
			return nil, lacks, nil
		}
		more := make([]int, len(point))
		for i, n := range point {
			more[i] = 2 * n
		}
		if slices.Min(point) > len(z.state.Pods) {
			return nil, lacks, nil
		}
		still, err := z.tryCluster(ctx, true, more)
		if err != nil || len(still) == 0 {
			return more, nil, err
		}
		if lacksFewer(lacks, still) {
			point = more
			continue
		}
		z.setAside(still, false)
		if z.allSetAside() {
			return nil, still, nil
		}
	}
}
