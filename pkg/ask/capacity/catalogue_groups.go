package capacity

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/variant"
)

// mixNodeTypes replaces each group that may change by one group for each node type of the catalogue. The new groups have the labels, the taints
// and the zones of the old one, and the size and the price of the type. Nodes of the type that the scenario already has become the first
// nodes of the new group. Groups that differ only in the node type that they replace become one.
func mixNodeTypes(groups []NodeGroup, types []topology.NodeType, nodes *variant.NodeMaker) []NodeGroup {
	var all []NodeGroup
	position := map[string][2]int{} // the group and the zone that already have these nodes
	for _, g := range groups {
		if g.Kept {
			all = append(all, g)
			continue
		}
		for i := range types {
			t := &types[i]
			of := NodeGroup{Name: g.Name, Price: *t.PricePerHour, Priced: true}
			if of.Name != t.Name {
				of.Name += " " + t.Name
			}
			for _, zone := range g.Zones {
				if len(t.Zones) > 0 && !slices.Contains(t.Zones, zone.Name) {
					continue
				}
				made := zone.nodesOfType(of.Name, t, nodes)
				key := fmt.Sprint(zone.Name, poolSignature(made.Nodes[0]))
				at, known := position[key]
				switch {
				case !known:
					position[key] = [2]int{len(all), len(of.Zones)}
					of.Zones = append(of.Zones, made)
				case made.newType == nil && at[0] < len(all):
					all[at[0]].Zones[at[1]] = made
				}
			}
			if len(of.Zones) > 0 {
				all = append(all, of)
			}
		}
	}
	return all
}

// poolSignature returns a string that is equal for nodes that differ only in size and price.
func poolSignature(node *v1.Node) string {
	sizeless := *node
	sizeless.Status.Allocatable, sizeless.Annotations = nil, nil
	return signature(&sizeless, nil)
}

// nodesOfType returns the nodes of the type that are in the zone; without any, one node of the type that is otherwise a copy of a node in the
// zone.
func (z *ZoneNodes) nodesOfType(group string, t *topology.NodeType, nodes *variant.NodeMaker) ZoneNodes {
	isOf := func(node *v1.Node) bool { return node.Labels[v1.LabelInstanceTypeStable] == t.Name }
	if there := slices.DeleteFunc(slices.Clone(z.Nodes), func(node *v1.Node) bool { return !isOf(node) }); len(there) > 0 {
		return ZoneNodes{Name: z.Name, Nodes: there}
	}
	of := ZoneNodes{Name: z.Name, newType: t, template: []string{z.Nodes[0].Name}}
	of.Nodes = []*v1.Node{nodes.Make(of.nodesLike(group, 1))[0].(*v1.Node)}
	return of
}
