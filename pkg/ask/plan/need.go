package plan

import (
	"cmp"
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/world"
)

// findNeeds finds for each loss that strands pods how many nodes of which groups they need, and which of them no node helps.
func (p *planner) findNeeds(ctx context.Context, losses []loss) error {
	var stranding []*loss
	for i := range losses {
		losses[i].needs, losses[i].blocked = map[int]int{}, nil
		if len(losses[i].stranded) > 0 {
			stranding = append(stranding, &losses[i])
		}
	}
	var each parallel.Options
	if p.opts.Progress != nil {
		each.Progress = func(last, done int) {
			p.opts.Progress("nodes for the loss of "+stranding[last].domain, done, len(stranding))
		}
	}
	return p.worlds.Each(ctx, len(stranding), each, func(ctx context.Context, w world.World, i int) error {
		w.Hook(world.Hooks{})
		n := &need{planner: p, world: w, loss: stranding[i], state: stranding[i].state, rest: stranding[i].stranded}
		return n.find(ctx)
	})
}

// need is the search for the nodes that one loss needs.
type need struct {
	*planner
	world world.World
	*loss
	// state is the cluster after the loss, with the nodes that were found by now, and rest the pods that they leave stranded.
	state *cluster.State
	rest  []strandedPod
}

// find takes one group after another, first the one that most of the stranded pods could use, and of such the cheapest.
func (n *need) find(ctx context.Context) error {
	tried := map[int]bool{}
	for len(n.rest) > 0 {
		best, most := -1, 0
		for g := range n.groups {
			usable := len(n.usersOf(g))
			if tried[g] || n.groups[g].Kept || usable == 0 || !n.servedBy(g) {
				continue
			}
			if usable > most || usable == most && n.cheaper(g, best) {
				best, most = g, usable
			}
		}
		if best < 0 {
			break
		}
		tried[best] = true
		if len(n.zonesOf(best)) == 0 { // the lost node is the only one of its group: another of its kind is tried when all is
			users := n.usersOf(best)
			n.needs[best] += n.nodesFor(best, users)
			n.rest = list.Without(n.rest, func(pod strandedPod) bool { return slices.Contains(users, pod) })
			continue
		}
		if err := n.take(ctx, best); err != nil {
			return err
		}
	}
	n.blocked = n.rest
	return nil
}

// cheaper reports whether nodes of the group cost less than those of the other; a price that is not known is no lower one.
func (n *need) cheaper(g, other int) bool {
	a, b := &n.groups[g], &n.groups[other]
	return a.Priced && b.Priced && cmp.Less(a.Price, b.Price)
}

// zonesOf returns the group's zones that the loss leaves.
func (n *need) zonesOf(g int) []int {
	var zones []int
	for z := range n.groups[g].Zones {
		if n.like(g, z, n.level, n.domain) != nil {
			zones = append(zones, z)
		}
	}
	return zones
}

// servedBy reports whether new nodes of the group survive the loss in any zone.
func (n *need) servedBy(g int) bool {
	for z := range n.groups[g].Zones {
		if n.serves(g, z, n.loss) {
			return true
		}
	}
	return false
}

// usersOf returns the stranded pods that a node of the group attracts and does not repel.
func (n *need) usersOf(g int) []strandedPod {
	like := n.groups[g].Zones[0].Nodes[0]
	return list.Where(n.rest, func(pod strandedPod) bool {
		return pod.Spec.NodeName == "" && !cluster.Repels(like, pod.Pod) && cluster.Attracts(like, pod.Pod)
	})
}

// take joins the fewest nodes of the group that help as many pods as any number does. Twice as many are tried as long as more help more; then
// the number is bisected.
func (n *need) take(ctx context.Context, g int) error {
	users := n.usersOf(g)
	type try struct {
		nodes int
		state *cluster.State
		rest  []strandedPod
	}
	join := func(nodes int) (try, error) {
		state, err := n.joined(ctx, g, nodes)
		if err != nil {
			return try{}, err
		}
		stranded, _ := n.strandedIn(state)
		return try{nodes, state, stranded}, nil
	}
	guess := n.nodesFor(g, users)
	best, err := join(guess)
	if err != nil {
		return err
	}
	low := 0
	for len(best.rest) > len(n.rest)-len(users) && best.nodes < len(users) {
		more, err := join(min(2*best.nodes, len(users)))
		if err != nil {
			return err
		}
		if len(more.rest) >= len(best.rest) {
			break
		}
		best, low = more, best.nodes
	}
	if len(best.rest) >= len(n.rest) {
		return nil // the group helps nobody
	}
	if len(best.rest) == len(n.rest)-len(users) {
		low = max(low, guess-1) // fewer have too little for all of them
	}
	for best.nodes-low > 1 {
		middle, err := join((low + best.nodes) / 2)
		if err != nil {
			return err
		}
		if len(middle.rest) > len(best.rest) {
			low = middle.nodes
		} else {
			best = middle
		}
	}
	n.needs[g] += best.nodes
	n.state, n.rest = best.state, best.rest
	return nil
}

// joined returns the cluster after the loss with so many nodes of the group, spread over its zones that are left, once nothing moves any more.
func (n *need) joined(ctx context.Context, g, nodes int) (*cluster.State, error) {
	zones := n.zonesOf(g)
	n.world.Reset()
	state := n.state
	for i, count := range spread(nodes, zones) {
		if count == 0 {
			continue
		}
		var err error
		if state, err = joined(ctx, n.world, state, n.like(g, zones[i], n.level, n.domain), count); err != nil {
			return nil, err
		}
	}
	return n.world.Settle(ctx, state, &world.Record{})
}

// nodesFor is the least number of nodes of the group whose resources suffice for the pods, beside the DaemonSets' pods that each node has.
func (n *need) nodesFor(g int, pods []strandedPod) int {
	free := n.emptyNodeOf(g, n.state)
	nodes := 1
	for name, sum := range requestsOf(pods) {
		if has := free[name]; has.Sign() > 0 {
			nodes = max(nodes, ceil(sum.AsApproximateFloat64()/has.AsApproximateFloat64()))
		}
	}
	return min(nodes, max(1, len(pods)))
}
