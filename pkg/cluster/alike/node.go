// Package alike finds nodes and pods that are interchangeable: the scheduler treats one exactly as it treats the other.
//
// The scheduler's plugins compare the values of topology labels with each other. They look at a particular value only if a rule names it,
// and at the name of a node only if a rule, a volume or a pod names it. So this package searches every object for node names and topology
// values. A name or value that occurs anywhere becomes part of the look of the nodes that have it; other names and values are left out.
package alike

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// EncodeJSON returns the object as JSON.
func EncodeJSON(obj any) string {
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err) // JSON can encode every Kubernetes object
	}
	return string(data)
}

// NodeNames holds the names of nodes and the values of some of their labels, and records which of them objects mention.
type NodeNames struct {
	keys []string
	// mentioned has every name and value, and the operators that compare values.
	mentioned map[string]bool
}

// NewNodeNames returns the names of the nodes and the values of their labels with these keys. None is mentioned yet.
func NewNodeNames(nodes []*v1.Node, keys ...string) *NodeNames {
	n := &NodeNames{keys: keys, mentioned: map[string]bool{string(v1.NodeSelectorOpGt): false, string(v1.NodeSelectorOpLt): false}}
	for _, node := range nodes {
		n.mentioned[node.Name] = false
		for _, key := range keys {
			n.mentioned[node.Labels[key]] = false
		}
	}
	return n
}

// Mention records the names that occur in a JSON document, or in a single string. JSON escapes no character of a name or value, so each
// stands between two quotes.
func (n *NodeNames) Mention(json string) {
	for text := range strings.SplitSeq(json, `"`) {
		if _, known := n.mentioned[text]; known {
			n.mentioned[text] = true
		}
	}
}

// Look returns the node as the scheduler sees it, without the fields that describe the machine. It leaves out the node's name and topology
// values unless an object refers to them.
func (n *NodeNames) Look(node *v1.Node) string {
	plain := *node
	meta := &plain.ObjectMeta
	meta.UID, meta.ResourceVersion, meta.ManagedFields = "", "", nil
	meta.CreationTimestamp.Reset()
	plain.Spec.ProviderID, plain.Spec.PodCIDR, plain.Spec.PodCIDRs = "", "", nil
	plain.Status.Addresses, plain.Status.NodeInfo = nil, v1.NodeSystemInfo{}
	if !n.mentioned[node.Name] {
		meta.Name = ""
	}
	meta.Labels = maps.Clone(node.Labels)
	for _, key := range n.keys {
		if value, labelled := node.Labels[key]; labelled && !n.isReferenced(value) {
			meta.Labels[key] = ""
		}
	}
	return EncodeJSON(&plain)
}

// isReferenced reports whether an object could refer to the value.
func (n *NodeNames) isReferenced(value string) bool {
	_, err := strconv.ParseInt(value, 10, 64)
	return n.mentioned[value] || err == nil && n.HasComparison()
}

// HasComparison reports whether an object compares label values as numbers (Gt, Lt). Such a rule affects values that it does not name.
func (n *NodeNames) HasComparison() bool {
	return n.mentioned[string(v1.NodeSelectorOpGt)] || n.mentioned[string(v1.NodeSelectorOpLt)]
}
