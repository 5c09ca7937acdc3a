package scenario

import (
	"strings"

	"github.com/faultline/faultline/pkg/topology"
)

// ReplaceNodes puts nodes of another type in the place of those that are selected, in the same regions and zones. If a node has the label of
// the new ones, they are like it: of several, the one that has most labels in common with those that go. Otherwise they are like those that
// go, with cpu and memory as given; what the system reserves of these is as much as before.
type ReplaceNodes struct {
	Nodes `json:",inline"`
	// Label is the label of the new type, as KEY=VALUE: node.kubernetes.io/instance-type=m5.4xlarge.
	Label string `json:"label"`
	// Count is how many new nodes there are. Default: as many as have at least the cpu and the memory of those that go.
	Count int `json:"count,omitempty" jsonschema:"minimum=1,maximum=10000"`
	// CPU of a new node, whatever node has the label. It goes with memory.
	CPU topology.Quantity `json:"cpu,omitempty"`
	// Memory of a new node, whatever node has the label. It goes with cpu.
	Memory topology.Quantity `json:"memory,omitempty"`
	// Pods is how many pods a new node with cpu and memory can hold. Default: as many as those that go.
	Pods topology.Quantity `json:"pods,omitempty"`
}

// Type returns the given type of the new nodes.
func (r *ReplaceNodes) Type() *topology.NodeType {
	return &topology.NodeType{CPU: r.CPU, Memory: r.Memory, Pods: r.Pods}
}

func (*ReplaceNodes) instead() string {
	return "give the new nodes of a member in clusters, and make the old ones fail, with mode: deleted"
}

func (r *ReplaceNodes) validate(c *checks) {
	r.Nodes.validate(c)
	if key, value, _ := strings.Cut(r.Label, "="); key == "" || value == "" {
		c.Add(c.path.Child("label"), "%q is not KEY=VALUE; give the label of the new nodes, such as node.kubernetes.io/instance-type=m5.4xlarge", r.Label)
	}
	if r.Count < 0 || r.Count > maxAdded {
		c.Add(c.path.Child("count"), "%d is not from 1 to %d", r.Count, maxAdded)
	}
	validateSize(c, r.CPU, r.Memory, r.Pods, "like one that has the label")
	_, invalid := r.Type().Size(c.path)
	for _, err := range invalid {
		c.AddAt(err)
	}
}

// validateSize finds whether a size of new nodes lacks a part. Without any they are like another node.
func validateSize(c *checks, cpu, memory, pods topology.Quantity, like string) {
	if (cpu == "") != (memory == "") || cpu == "" && pods != "" {
		c.Add(c.path, "cpu and memory go together, and pods with both; give cpu and memory, or neither for nodes %s", like)
	}
}
