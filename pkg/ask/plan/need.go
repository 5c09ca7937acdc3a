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

// findNeeds finds, for each loss that strands pods, how many nodes of which groups the pods need, and which pods no node helps.
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
		w.SetHooks(world.Hooks{})
		n := &need{planner: p, world: w, loss: stranding[i], state: stranding[i].state, stillStranded: stranding[i].stranded}
		return n.findGroups(ctx)
	})
}

// need is the search for the nodes that one loss needs.
type need struct {
	*planner
	world world.World
	*loss
	// state is the cluster after the loss, with the nodes that were found so far, and [need.stillStranded] are the pods that are still stranded
	// there.
	state         *cluster.State
	stillStranded []strandedPod
}

// findGroups joins nodes of one group after another: first of the group that most of the stranded pods could use, and among such groups of the
// cheapest.
func (n *need) findGroups(ctx context.Context) error {
	tried := map[int]bool{}
	for len(n.stillStranded) > 0 {
		best, most := -1, 0
		for g := range n.groups {
			usable := len(n.podsThatCanUse(g))
			if tried[g] || n.groups[g].Kept || usable == 0 || !n.groupServes(g) {
				continue
			}
			if usable > most || usable == most && n.isCheaper(g, best) {
				best, most = g, usable
			}
		}
		if best < 0 {
			break
		}
		tried[best] = true
		if len(n.remainingZones(best)) == 0 { // the loss takes the only node of the group, so there is no node to copy: the whole plan tries the new ones
			users := n.podsThatCanUse(best)
			n.needs[best] += n.minNodesFor(best, users)
			n.stillStranded = list.Without(n.stillStranded, func(pod strandedPod) bool { return slices.Contains(users, pod) })
			continue
		}
		if err := n.joinGroup(ctx, best); err != nil {
			return err
		}
	}
	n.blocked, n.open = n.stillStranded, false
	return nil
}

// isCheaper reports whether the group's nodes cost less than the other's; false if one of the prices is not known.
func (n *need) isCheaper(g, other int) bool {
	a, b := &n.groups[g], &n.groups[other]
	return a.Priced && b.Priced && cmp.Less(a.Price, b.Price)
}

// remainingZones returns the zones in which the loss leaves nodes of the group.
func (n *need) remainingZones(g int) []int {
	var zones []int
	for z := range n.groups[g].Zones {
		if n.templateNode(g, z, n.level, n.domain) != nil {
			zones = append(zones, z)
		}
	}
	return zones
}

// groupServes reports whether new nodes of the group survive the loss in some zone.
func (n *need) groupServes(g int) bool {
	for z := range n.groups[g].Zones {
		if n.serves(g, z, n.loss) {
			return true
		}
	}
	return false
}

// podsThatCanUse returns the stranded pods that could use a node of the group: its labels attract them, and its taints do not repel them.
func (n *need) podsThatCanUse(g int) []strandedPod {
	return list.Where(n.stillStranded, func(pod strandedPod) bool {
		return pod.Spec.NodeName == "" && slices.ContainsFunc(n.groups[g].Zones, func(zone capacity.ZoneNodes) bool {
			like := zone.Nodes[0]
			return !cluster.Repels(like, pod.Pod) && cluster.Attracts(like, pod.Pod)
		})
	})
}

// joinGroup joins the fewest nodes of the group that help as many pods as any number of them does. It doubles the number as long as more nodes
// help more pods, or as long as the nodes of a zone are full, since other pods may have taken the room first. Then it bisects the number.
func (n *need) joinGroup(ctx context.Context, g int) error {
	users := n.podsThatCanUse(g)
	type try struct {
		nodes   int
		state   *cluster.State
		rest    []strandedPod
		waiting []placement.Pending
	}
	join := func(nodes int) (try, error) {
		var record world.Record
		state, err := n.joinNodes(ctx, g, nodes, &record)
		if err != nil {
			return try{}, err
		}
		stranded, _ := n.findStranded(state)
		return try{nodes, state, stranded, record.Pending}, nil
	}
	guess := n.minNodesFor(g, users)
	best, err := join(guess)
	if err != nil {
		return err
	}
	low, last := 0, best
	for most := n.maxNodesFor(g, users); len(last.rest) > len(n.stillStranded)-len(users) && last.nodes < most; {
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
	if len(best.rest) >= len(n.stillStranded) {
		n.addRefusals(last.waiting)
		return nil // the group helps no pod
	}
	if len(best.rest) == len(n.stillStranded)-len(users) {
		low = max(low, guess-1) // fewer nodes have too few resources for all of them
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
	n.state, n.stillStranded = best.state, best.rest
	n.addRefusals(best.waiting)
	return nil
}

// maxNodesFor returns a number of nodes with which each pod that could use one has a node for itself, including the pods that are Pending today.
func (n *need) maxNodesFor(g int, users []strandedPod) int {
	most := len(users)
	for _, of := range n.crewsBefore {
		for _, pod := range of.Waiting {
			if like := n.groups[g].Zones[0].Nodes[0]; !cluster.Repels(like, pod) && cluster.Attracts(like, pod) {
				most++
			}
		}
	}
	return most
}

// isFull reports whether one of the pods finds no room on the new nodes of some zone, so that more of them may help. If a pod has room in
// every zone, a rule keeps it away.
func (n *need) isFull(state *cluster.State, pods []strandedPod) bool {
	old := list.KeySet(n.state.Nodes, func(node *v1.Node) string { return node.Name })
	free, zoneOf := map[string]v1.ResourceList{}, map[string]string{}
	for _, node := range state.Nodes {
		if !old[node.Name] {
			free[node.Name], zoneOf[node.Name] = node.Status.Allocatable, node.Labels[v1.LabelTopologyZone]
		}
	}
	for _, pod := range state.Pods {
		if has, is := free[pod.Spec.NodeName]; is && !cluster.IsTerminal(pod) {
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

// joinNodes returns the cluster after the loss with that many nodes of the group, spread over its remaining zones, once nothing moves any
// more.
func (n *need) joinNodes(ctx context.Context, g, nodes int, to *world.Record) (*cluster.State, error) {
	zones := n.remainingZones(g)
	n.world.Reset()
	state := n.state
	for i, count := range divideEvenly(nodes, zones) {
		if count == 0 {
			continue
		}
		var err error
		if state, err = addNodesLike(ctx, n.world, state, n.templateNode(g, zones[i], n.level, n.domain), count); err != nil {
			return nil, err
		}
	}
	return n.world.Settle(ctx, state, to)
}

// minNodesFor returns a lower bound on the group's nodes that the pods need, by resources alone. Each node also runs the DaemonSets' pods.
func (n *need) minNodesFor(g int, pods []strandedPod) int {
	free := n.emptyNodeResources(g, n.state)
	nodes := 1
	for name, sum := range sumRequests(pods) {
		if has := free[name]; has.Sign() > 0 {
			nodes = max(nodes, ceil(sum.AsApproximateFloat64()/has.AsApproximateFloat64()))
		}
	}
	return min(nodes, max(1, len(pods)))
}
