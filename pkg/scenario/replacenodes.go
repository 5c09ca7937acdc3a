package scenario

import (
	"strings"

	"github.com/faultline/faultline/pkg/topology"
)

// ReplaceNodes replaces the selected nodes by nodes of another type, in the same regions and zones. If nodes have the label of the new
// nodes, the new nodes copy one of them: the one that shares most labels with the replaced nodes. Otherwise they copy the replaced nodes,
// with the given cpu and memory; the system reserves as much of these as before.
type ReplaceNodes struct {
	Nodes `json:",inline"`
	// Label is the label of the new type, as KEY=VALUE: node.kubernetes.io/instance-type=m5.4xlarge.
	Label string `json:"label"`
	// Count is the number of new nodes. Default: as many as have at least the cpu and the memory of the replaced nodes.
	Count int `json:"count,omitempty" jsonschema:"minimum=1,maximum=10000"`
	// CPU of a new node, even if a node has the label. It goes with memory.
	CPU topology.Quantity `json:"cpu,omitempty"`
	// Memory of a new node, even if a node has the label. It goes with cpu.
	Memory topology.Quantity `json:"memory,omitempty"`
	// Pods is the number of pods that a new node with cpu and memory can hold. Default: that of the replaced nodes.
	Pods topology.Quantity `json:"pods,omitempty"`
}

// Type returns the given type of the new nodes.
func (r *ReplaceNodes) Type() *topology.NodeType {
	return &topology.NodeType{CPU: r.CPU, Memory: r.Memory, Pods: r.Pods}
}

func (*ReplaceNodes) instead() string {
	return "give the new nodes of a member in clusters, and make the old ones fail, with mode: deleted"
}

func (r *ReplaceNodes) validate(c *actionChecks) {
	r.Nodes.validate(c)
	if key, value, _ := strings.Cut(r.Label, "="); key == "" || value == "" {
		c.Add(c.path.Child("label"), "%q is not KEY=VALUE; give the label of the new nodes, such as node.kubernetes.io/instance-type=m5.4xlarge", r.Label)
	}
	if r.Count < 0 || r.Count > maxAddedNodes {
		c.Add(c.path.Child("count"), "%d is not from 1 to %d", r.Count, maxAddedNodes)
	}
	validateSize(c, r.CPU, r.Memory, r.Pods, "like one that has the label")
	_, invalid := r.Type().Size(c.path)
	for _, err := range invalid {
		c.addAt(err)
	}
}

// validateSize reports a size of new nodes that lacks a part. Without a size, the new nodes are like another node.
func validateSize(c *actionChecks, cpu, memory, pods topology.Quantity, like string) {
	if (cpu == "") != (memory == "") || cpu == "" && pods != "" {
		c.Add(c.path, "cpu and memory go together, and pods with both; give cpu and memory, or neither for nodes %s", like)
	}
}
