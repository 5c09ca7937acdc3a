package report

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/topology"
)

// Node is a node and the failure domains that it is in.
type Node struct {
	Name string `json:"name"`
	// Topology holds its values for the levels of the cluster; a missing key is a label that it lacks.
	Topology map[string]string `json:"topology,omitempty"`
	// CPU is its allocatable CPU in cores, Memory its allocatable memory in bytes, Pods how many pods it takes.
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
	Pods   int64   `json:"pods"`
	// Taints are its taints, as kubectl taint takes them: key=value:effect.
	Taints []string `json:"taints,omitempty"`
	// Unschedulable means that it is cordoned, NotReady that its Ready condition is not True.
	Unschedulable bool `json:"unschedulable,omitempty"`
	NotReady      bool `json:"notReady,omitempty"`
}

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
		for _, taint := range node.Spec.Taints {
			n.Taints = append(n.Taints, taint.ToString())
		}
		n.NotReady = slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
			return c.Type == v1.NodeReady && c.Status != v1.ConditionTrue
		})
		all[i] = n
	}
	return all
}
