package report

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/topology"
)

// Node is a node and the failure domains that it is in.
type Node struct {
	Name string `json:"name"`
	// Topology has the node's values for the levels of the cluster. A missing key is a label that the node lacks.
	Topology map[string]string `json:"topology,omitempty"`
	// CPU is its allocatable CPU in cores, Memory its allocatable memory in bytes, and Pods the number of pods that it allows.
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
	Pods   int64   `json:"pods"`
	// Taints are its taints in the form of kubectl taint: key=value:effect.
	Taints []string `json:"taints,omitempty"`
	// Unschedulable means that the node is cordoned, NotReady that its Ready condition is not True.
	Unschedulable bool `json:"unschedulable,omitempty"`
	NotReady      bool `json:"notReady,omitempty"`
}

// maxLabelValues is the largest number of values that a label may have by which nodes are grouped.
const maxLabelValues = 60

// GroupingLabels returns for each node the labels by which nodes can be grouped: those with 2 to maxValues values in the cluster.
func GroupingLabels(nodes []*v1.Node) map[string]map[string]string {
	values := map[string]map[string]bool{}
	for _, node := range nodes {
		for key, value := range node.Labels {
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			values[key][value] = true
		}
	}
	all := map[string]map[string]string{}
	for _, node := range nodes {
		labels := maps.Clone(node.Labels)
		maps.DeleteFunc(labels, func(key, _ string) bool { return len(values[key]) < 2 || len(values[key]) > maxLabelValues })
		if len(labels) > 0 {
			all[node.Name] = labels
		}
	}
	return all
}

// NewNodes describes the nodes, in their order, with their domains at these levels.
func NewNodes(nodes []*v1.Node, levels []string) []Node {
	all := make([]Node, len(nodes))
	for i, node := range nodes {
		n := Node{
			Name:          node.Name,
			CPU:           node.Status.Allocatable.Cpu().AsApproximateFloat64(),
			Memory:        node.Status.Allocatable.Memory().Value(),
			Pods:          node.Status.Allocatable.Pods().Value(),
			Unschedulable: node.Spec.Unschedulable,
		}
		for _, key := range levels {
			if value, found := topology.Value(node.Labels, key); found {
				if n.Topology == nil {
					n.Topology = map[string]string{}
				}
				n.Topology[key] = value
			}
		}
		n.Taints = list.Map(node.Spec.Taints, func(taint v1.Taint) string { return taint.ToString() })
		n.NotReady = slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
			return c.Type == v1.NodeReady && c.Status != v1.ConditionTrue
		})
		all[i] = n
	}
	return all
}
