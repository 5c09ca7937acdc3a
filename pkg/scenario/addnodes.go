package scenario

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/faultline/faultline/pkg/topology"
)

// maxAddedNodes is the largest number of nodes that one step adds.
const maxAddedNodes = 10000

// ExceedsNodes reports whether the step makes more nodes than one step may.
func (s *Step) ExceedsNodes() bool {
	return s.AddNodes != nil && s.AddNodes.Count > maxAddedNodes || s.ReplaceNodes != nil && s.ReplaceNodes.Count > maxAddedNodes
}

// AddNodes adds nodes that are ready and have no pods. They have the labels, taints, resources and devices of a node that exists, or
// existed. A label whose value is that node's name, such as kubernetes.io/hostname, gets the name of the new node as its value.
type AddNodes struct {
	// Count is the number of nodes, from 0 to 10000.
	Count int `json:"count" jsonschema:"minimum=0,maximum=10000"`
	// Like is the name of the node that the new nodes copy.
	Like string `json:"like"`
	// InPlaceOf is the name of a node that exists, or existed: the new nodes are in its region and zone, and are named after it. Default:
	// the node of like.
	InPlaceOf string `json:"inPlaceOf,omitempty"`
	// Labels are labels of the new nodes that add to, or replace, the labels of the node of like. Default: none.
	Labels map[string]string `json:"labels,omitempty"`
	// CPU of a new node. It goes with memory. Default: that of the node of like.
	CPU topology.Quantity `json:"cpu,omitempty"`
	// Memory of a new node. It goes with cpu. Default: that of the node of like.
	Memory topology.Quantity `json:"memory,omitempty"`
	// Pods is the number of pods that a new node with cpu and memory can hold. Default: that of the node of like.
	Pods topology.Quantity `json:"pods,omitempty"`
	// After is how long the new nodes take to become ready, as a duration such as 2m. Default: 0s.
	After string `json:"after,omitempty"`
}

// Type returns the given size of the new nodes.
func (a *AddNodes) Type() *topology.NodeType {
	return &topology.NodeType{CPU: a.CPU, Memory: a.Memory, Pods: a.Pods}
}

// Startup returns how long the new nodes take to become ready.
func (a *AddNodes) Startup() time.Duration { return parseDuration(a.After) }

func (a *AddNodes) validate(c *actionChecks) {
	if a.Count < 0 || a.Count > maxAddedNodes {
		c.Add(c.path.Child("count"), "%d is not from 0 to %d", a.Count, maxAddedNodes)
	}
	if a.Like == "" {
		c.Add(c.path.Child("like"), "is missing; give the name of the node that the new ones are like")
	}
	for _, key := range slices.Sorted(maps.Keys(a.Labels)) {
		value := a.Labels[key]
		for _, wrong := range append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...) {
			c.Add(c.path.Child("labels").Key(key), "%q is no label: %s", key+"="+value, wrong)
		}
	}
	validateSize(c, a.CPU, a.Memory, a.Pods, "like the node of like")
	_, invalid := a.Type().Size(c.path)
	for _, err := range invalid {
		c.addAt(err)
	}
	validateDuration(c.Problems, c.path.Child("after"), a.After)
}

func (a *AddNodes) selected() *Nodes { return &Nodes{Names: []string{a.Like}} }
