package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// NodeGroup is a set of nodes that differ only in their names, their places in the topology and, by a little, in their sizes.
type NodeGroup struct {
	Name  string
	Zones []ZoneNodes
	// Price is the price of one node per hour; Priced means that it is known.
	Price  float64
	Priced bool
	// Kept means that the group keeps its nodes: they are control planes or cordoned, or nobody asked to size the group.
	Kept bool
	// ControlPlane means that the nodes are control planes.
	ControlPlane bool
}

// ZoneNodes are a group's nodes in one zone; Name is "" for nodes without a zone. New nodes are copies of Nodes, used in turn.
type ZoneNodes struct {
	Name  string
	Nodes []*v1.Node
	// newType is the type of new nodes if the scenario has no node of this type, and template names the node from which new nodes take all
	// other properties.
	newType  *topology.NodeType
	template []string
}

// poolLabels are the labels with which providers name groups of nodes.
var poolLabels = []string{"eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool", "karpenter.sh/nodepool",
	"node-pool", v1.LabelInstanceTypeStable}

// Groups returns the groups among the scenario's nodes, in the order of their first nodes. An invalid price is an error.
func Groups(s *scenario.Scenario) ([]NodeGroup, error) {
	var nodes []*v1.Node
	for _, obj := range s.Cluster {
		if node, ok := obj.(*v1.Node); ok {
			nodes = append(nodes, node)
		}
	}
	var published []*resourcev1.ResourceSlice
	for _, obj := range s.Objects() {
		if slice, ok := obj.(*resourcev1.ResourceSlice); ok {
			published = append(published, slice)
		}
	}
	return GroupsOf(nodes, s.Pods(), published, s.LevelKeys)
}

// GroupsOf returns the groups of the nodes. pods are the pods that run on them, published the slices that describe their devices, and
// levels further label keys that say where a node is.
func GroupsOf(nodes []*v1.Node, pods []*v1.Pod, published []*resourcev1.ResourceSlice, levels []string) ([]NodeGroup, error) {
	devices, controlPlanes := indexDevices(published), cluster.ControlPlanes(nodes, pods)
	var groups []NodeGroup
	position := map[string][]int{} // the groups of each kind, which differ in size
	for _, node := range nodes {
		price, priced, err := topology.Price(node)
		if err != nil {
			return nil, err
		}
		// A node that is not meant for workloads is kept: more of its kind would not help them.
		kept := controlPlanes[node.Name] || node.Spec.Unschedulable
		kind := signature(node, levels) + fmt.Sprint(kept, devices.describeDevices(node))
		at := slices.IndexFunc(position[kind], func(i int) bool { return haveSimilarSize(groups[i].Zones[0].Nodes[0], node) })
		if at < 0 {
			at = len(position[kind])
			position[kind] = append(position[kind], len(groups))
			groups = append(groups, NodeGroup{Name: groupName(node, levels), Price: price, Priced: priced, Kept: kept, ControlPlane: controlPlanes[node.Name]})
		}
		g := &groups[position[kind][at]]
		zone := topology.ZoneOf(node.Labels)
		z := slices.IndexFunc(g.Zones, func(z ZoneNodes) bool { return z.Name == zone })
		if z < 0 {
			z = len(g.Zones)
			g.Zones = append(g.Zones, ZoneNodes{Name: zone})
		}
		g.Zones[z].Nodes = append(g.Zones[z].Nodes, node)
	}
	used := map[string]int{}
	for i := range groups {
		name := groups[i].Name
		if used[name]++; used[name] > 1 {
			groups[i].Name = fmt.Sprintf("%s-%d", name, used[name])
		}
	}
	return groups, nil
}

// haveSimilarSize reports whether the nodes have similar sizes. For a node without a capacity, its allocatable resources are its size.
func haveSimilarSize(a, b *v1.Node) bool {
	sized := func(node *v1.Node) *v1.Node {
		if node.Status.Capacity != nil {
			return node
		}
		whole := *node
		whole.Status.Capacity = node.Status.Allocatable
		return &whole
	}
	return cluster.SimilarSize(sized(a), sized(b))
}

// signature returns a string that is equal for nodes of one group. Nodes with one signature may still differ in size.
func signature(node *v1.Node, levels []string) string {
	labels := maps.Clone(node.Labels)
	maps.DeleteFunc(labels, func(key, value string) bool {
		return key == v1.LabelHostname || value == node.Name || slices.Contains(levels, key) || topology.IsTopologyLabel(key)
	})
	return fmt.Sprint(labels, node.Spec.Taints, node.Spec.Unschedulable, node.Annotations[topology.PriceAnnotation])
}

// groupName returns the provider's name of the group; without one, the node's name without its places and number: "pool" for zone-a-pool-3.
func groupName(node *v1.Node, levels []string) string {
	for _, key := range poolLabels {
		if name := node.Labels[key]; name != "" {
			return name
		}
	}
	name := node.Name
	for _, key := range slices.Concat(levels, topology.PlaceKeys) {
		if value := strings.ToLower(node.Labels[key]); value != "" {
			name = strings.TrimPrefix(name, value+"-")
		}
	}
	return cmp.Or(strings.TrimRight(name, "-0123456789"), name)
}

// nodesLike returns that many nodes of the group in the zone, as a scenario describes them.
func (z *ZoneNodes) nodesLike(group string, count int) scenario.NodesLike {
	of := scenario.NodesLike{Count: count, Like: z.template, Name: strings.Trim(z.Name+"-"+group, "-"), Type: z.newType}
	if z.newType == nil {
		of.Like = list.Map(z.Nodes, func(n *v1.Node) string { return n.Name })
	}
	return of
}
