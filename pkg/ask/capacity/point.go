package capacity

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// A point has a value for each number of nodes that Size searches for; see [number].

// number is a number of nodes that the search has to find: of a group in one zone, or the same number in each of several zones.
type number struct {
	group int
	zones []int
	cost  float64 // of one node more in each of the zones
}

// inZone returns the number for one of the zones.
func (n number) inZone(zone int) number {
	return number{n.group, []int{zone}, n.cost / float64(len(n.zones))}
}

// counts returns the number of nodes by group and zone.
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

// describeGroups returns the groups with the given numbers of nodes, by group and zone, and how many of these nodes may change. counts is nil if no
// cluster was found.
func (z *sizer) describeGroups(counts [][]int) (groups []Group, nodes int) {
	for i, of := range z.groups {
		g := Group{Name: of.Name, Kept: of.Kept, ControlPlane: of.ControlPlane}
		if of.Priced {
			g.Price = &of.Price
		}
		for j, zone := range of.Zones {
			in := Zone{Zone: zone.Name}
			if zone.newType == nil {
				in.Before = len(zone.Nodes)
			}
			if counts != nil {
				in.Nodes = counts[i][j]
			}
			if !g.Kept {
				nodes += in.Nodes
			}
			g.Zones = append(g.Zones, in)
		}
		groups = append(groups, g)
	}
	return groups, nodes
}

// costOf returns the cost of the nodes of a point; nil if prices are not known.
func (z *sizer) costOf(point []int) *float64 {
	if !z.priced {
		return nil
	}
	cost := z.cost(point)
	return &cost
}

// withNodes returns the scenario with the nodes of a point.
func (z *sizer) withNodes(point []int) *scenario.Scenario {
	s := *z.scenario
	var nodes []cluster.Object
	for _, of := range z.nodesOf(z.counts(point)) {
		nodes = append(nodes, z.nodeMaker.Make(of)...)
	}
	s.Cluster = slices.Concat(nodes, z.scenario.Cluster)
	return &s
}

// nodesOf returns that many nodes, by group and zone, as a scenario describes them.
func (z *sizer) nodesOf(counts [][]int) []scenario.NodesLike {
	var all []scenario.NodesLike
	for i, zones := range counts {
		for j, n := range zones {
			all = append(all, z.groups[i].Zones[j].nodesLike(z.groups[i].Name, n))
		}
	}
	return all
}

// describeCost describes a cost: "12 nodes", or "3.5 an hour".
func (z *sizer) describeCost(cost float64) string {
	if z.priced {
		return fmt.Sprintf("%g an hour", cost)
	}
	return words.Count(int(cost), "node")
}

// presentCounts returns the numbers of nodes that the scenario has; for zones that share a number, the largest.
func (z *sizer) presentCounts() []int {
	point := make([]int, len(z.numbers))
	for i, number := range z.numbers {
		for _, zone := range number.zones {
			point[i] = max(point[i], len(z.groups[number.group].Zones[zone].Nodes))
		}
	}
	return point
}
