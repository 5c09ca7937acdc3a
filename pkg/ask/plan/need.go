package plan

import (
	"cmp"
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	quota "k8s.io/apiserver/pkg/quota/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
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
	n.blocked, n.open = n.rest, false
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
	return list.Where(n.rest, func(pod strandedPod) bool {
		return pod.Spec.NodeName == "" && slices.ContainsFunc(n.groups[g].Zones, func(zone capacity.ZoneNodes) bool {
			like := zone.Nodes[0]
			return !cluster.Repels(like, pod.Pod) && cluster.Attracts(like, pod.Pod)
		})
	})
}

// take joins the fewest nodes of the group that help as many pods as any number does. Twice as many are tried as long as more help more, or have no
// room in a zone, since others take it first; then the number is bisected.
func (n *need) take(ctx context.Context, g int) error {
	users := n.usersOf(g)
	type try struct {
		nodes   int
		state   *cluster.State
		rest    []strandedPod
		waiting []placement.Pending
	}
	join := func(nodes int) (try, error) {
		var record world.Record
		state, err := n.joined(ctx, g, nodes, &record)
		if err != nil {
			return try{}, err
		}
		stranded, _ := n.strandedIn(state)
		return try{nodes, state, stranded, record.Pending}, nil
	}
	guess := n.nodesFor(g, users)
	best, err := join(guess)
	if err != nil {
		return err
	}
	low, last := 0, best
	for most := n.mostOf(g, users); len(last.rest) > len(n.rest)-len(users) && last.nodes < most; {
		more, err := join(min(2*last.nodes, most))
		if err != nil {
			return err
		}
		if len(more.rest) < len(best.rest) {
			best, low = more, last.nodes
		} else if !n.isFull(more.state, more.rest) {
			break
		}
		last = more
	}
	if len(best.rest) >= len(n.rest) {
		n.refuse(last.waiting)
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
	n.refuse(best.waiting)
	return nil
}

// mostOf is a number of nodes of the group with which each pod that could use one, also of those that wait today, has one for itself.
func (n *need) mostOf(g int, users []strandedPod) int {
	most := len(users)
	for _, of := range n.before {
		for _, pod := range of.Waiting {
			if like := n.groups[g].Zones[0].Nodes[0]; !cluster.Repels(like, pod) && cluster.Attracts(like, pod) {
				most++
			}
		}
	}
	return most
}

// isFull reports whether the new nodes of a zone have no room for one of the pods: more of them may help. A pod that has room in every zone is kept
// away by a rule.
func (n *need) isFull(state *cluster.State, pods []strandedPod) bool {
	old := list.Set(n.state.Nodes, func(node *v1.Node) string { return node.Name })
	free, zoneOf := map[string]v1.ResourceList{}, map[string]string{}
	for _, node := range state.Nodes {
		if !old[node.Name] {
			free[node.Name], zoneOf[node.Name] = node.Status.Allocatable, node.Labels[v1.LabelTopologyZone]
		}
	}
	for _, pod := range state.Pods {
		if has, is := free[pod.Spec.NodeName]; is && !cluster.Terminal(pod) {
			free[pod.Spec.NodeName] = quota.Subtract(has, podRequests(pod))
		}
	}
	return slices.ContainsFunc(pods, func(pod strandedPod) bool {
		asks, room := podRequests(pod.Pod), map[string]bool{}
		for name, has := range free {
			fits, _ := quota.LessThanOrEqual(asks, has)
			room[zoneOf[name]] = room[zoneOf[name]] || fits
		}
		return slices.Contains(slices.Collect(maps.Values(room)), false)
	})
}

// joined returns the cluster after the loss with so many nodes of the group, spread over its zones that are left, once nothing moves any more.
func (n *need) joined(ctx context.Context, g, nodes int, to *world.Record) (*cluster.State, error) {
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
	return n.world.Settle(ctx, state, to)
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
