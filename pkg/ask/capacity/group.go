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
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// NodeGroup is a number of nodes that differ only in their names, their places in the topology and, by a little, in their sizes.
type NodeGroup struct {
	Name  string
	Zones []ZoneNodes
	// Price is a node's price per hour; Priced means that it is known.
	Price  float64
	Priced bool
	// Kept means that its nodes stay as they are: they are control planes or cordoned, or were not asked for.
	Kept bool
	// ControlPlane means that they are control planes.
	ControlPlane bool
}

// ZoneNodes are a group's nodes in one zone; Name is empty if nodes have none. Nodes are the templates of new ones, used in turn.
type ZoneNodes struct {
	Name    string
	Nodes   []*v1.Node
	devices *devices
	made    bool // the scenario has no such nodes
}

// pools are labels with which providers name groups of nodes.
var pools = []string{"eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool", "karpenter.sh/nodepool",
	"node-pool", v1.LabelInstanceTypeStable}

// Groups returns the groups among the scenario's nodes, in order. It is an error if a price is invalid.
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

// GroupsOf returns the groups of the nodes, on which the pods run, and whose devices are published in the slices; levels are further keys of
// their places.
func GroupsOf(nodes []*v1.Node, pods []*v1.Pod, published []*resourcev1.ResourceSlice, levels []string) ([]NodeGroup, error) {
	devices, controlPlanes := devicesOf(published), cluster.ControlPlanes(nodes, pods)
	var groups []NodeGroup
	position := map[string][]int{} // of the groups of a kind, which differ in size
	for _, node := range nodes {
		price, priced, err := topology.Price(node)
		if err != nil {
			return nil, err
		}
		// A node that is not meant for workloads is kept: more of its kind would not help them.
		kept := controlPlanes[node.Name] || node.Spec.Unschedulable
		kind := signature(node, levels) + fmt.Sprint(kept, devices.kinds(node))
		at := slices.IndexFunc(position[kind], func(i int) bool { return similar(groups[i].Zones[0].Nodes[0], node) })
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
			g.Zones = append(g.Zones, ZoneNodes{Name: zone, devices: devices})
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

// similar reports whether the nodes are of a size. A node that does not say what it has has what pods can have.
func similar(a, b *v1.Node) bool {
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

// signature returns the same string for nodes of one group, which are of a size besides.
func signature(node *v1.Node, levels []string) string {
	labels := maps.Clone(node.Labels)
	maps.DeleteFunc(labels, func(key, value string) bool {
		return key == v1.LabelHostname || value == node.Name || slices.Contains(levels, key) || topology.IsPlace(key)
	})
	return fmt.Sprint(labels, node.Spec.Taints, node.Spec.Unschedulable, node.Annotations[topology.PriceAnnotation])
}

// groupName returns the provider's name of the group, or the node's name without its places and number.
func groupName(node *v1.Node, levels []string) string {
	for _, key := range pools {
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

// nodes returns that many nodes of the group in the zone: existing ones first, then new ones created from them, with their devices.
func (z *ZoneNodes) nodes(group string, count int) []cluster.Object {
	var all []cluster.Object
	for i := range count {
		if i < len(z.Nodes) {
			all = append(all, z.Nodes[i])
			continue
		}
		node, like := z.node(group, i)
		all = append(append(all, node), z.devices.published(node, like)...)
	}
	return all
}

// node returns the group's i-th node in the zone, and the one that it is like.
func (z *ZoneNodes) node(group string, i int) (node, like *v1.Node) {
	like = z.Nodes[i%len(z.Nodes)]
	node = like.DeepCopy()
	node.Name = strings.ToLower(strings.Trim(fmt.Sprintf("%s-%s-new-%d", z.Name, strings.ReplaceAll(group, " ", "-"), i+1), "-"))
	node.UID = ""
	if _, labelled := node.Labels[v1.LabelHostname]; labelled {
		node.Labels[v1.LabelHostname] = node.Name
	}
	return node, like
}

// afresh returns the objects without nodes, and with all pods unbound, to be placed again. Pods of DaemonSets and static pods follow the
// nodes. Those of another scheduler are left out, since nothing here could place them.
func (z *sizer) afresh(objects []cluster.Object) (rest []cluster.Object) {
	for _, obj := range objects {
		switch o := obj.(type) {
		case *v1.Node:
			continue
		case *resourcev1.ResourceClaim:
			unallocated := *o
			unallocated.Status, unallocated.Finalizers = resourcev1.ResourceClaimStatus{}, nil
			obj = &unallocated
		case *v1.Pod:
			if cluster.Terminal(o) || slices.ContainsFunc(o.OwnerReferences, followsNodes) {
				continue
			}
			if cluster.Dumped(o) && !slices.Contains(z.scenario.Config.SchedulerNames(), o.Spec.SchedulerName) {
				z.sizing.Foreign++
				continue
			}
			if o.Spec.NodeName != "" {
				z.sizing.Unbound++
				pod := *o
				pod.Spec.NodeName, pod.Status = "", v1.PodStatus{Phase: v1.PodPending, QOSClass: o.Status.QOSClass}
				obj = &pod
			}
		}
		rest = append(rest, obj)
	}
	return rest
}
