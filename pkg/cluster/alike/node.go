// Package alike finds nodes and pods that are interchangeable, so that what comes of one comes of the other.
//
// The plugins of the scheduler compare values of topology labels with each other, and never look at what they are, unless a rule names one;
// names of nodes they look at only if a rule, a volume or a pod names one. So every object is searched for the names of nodes and the values
// of levels, and what is found anywhere as a text is part of the look of its nodes.
package alike

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Text is the object as JSON.
func Text(obj any) string {
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err) // every Kubernetes object has a JSON
	}
	return string(data)
}

// Names are the names of nodes and the values of their labels of some keys, and which of these stand in objects.
type Names struct {
	keys []string
	// mentioned has every name and value, and the operators that compare values.
	mentioned map[string]bool
}

// NewNames returns the names of the nodes and their values of the keys, none of them mentioned yet.
func NewNames(nodes []*v1.Node, keys ...string) *Names {
	n := &Names{keys: keys, mentioned: map[string]bool{string(v1.NodeSelectorOpGt): false, string(v1.NodeSelectorOpLt): false}}
	for _, node := range nodes {
		n.mentioned[node.Name] = false
		for _, key := range keys {
			n.mentioned[node.Labels[key]] = false
		}
	}
	return n
}

// Mention finds the names in a JSON, or in a single text. Names and values have no characters that JSON escapes, so that they stand between
// two quotes.
func (n *Names) Mention(json string) {
	for text := range strings.SplitSeq(json, `"`) {
		if _, known := n.mentioned[text]; known {
			n.mentioned[text] = true
		}
	}
}

// Look is the node as the scheduler sees it, without what describes the machine, and without its name and its values of the keys where
// nothing means them.
func (n *Names) Look(node *v1.Node) string {
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
		if value, labelled := node.Labels[key]; labelled && !n.means(value) {
			meta.Labels[key] = ""
		}
	}
	return Text(&plain)
}

// means reports whether something could mean the value.
func (n *Names) means(value string) bool {
	_, err := strconv.ParseInt(value, 10, 64)
	return n.mentioned[value] || err == nil && n.Compares()
}

// Compares reports whether something compares values as numbers, which need not name them.
func (n *Names) Compares() bool {
	return n.mentioned[string(v1.NodeSelectorOpGt)] || n.mentioned[string(v1.NodeSelectorOpLt)]
}
