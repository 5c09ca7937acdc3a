package scenario

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
)

// Nodes selects nodes: named nodes, nodes that the selector matches, and all nodes of clusters. Give at least one of the three.
type Nodes struct {
	// Names lists names of nodes.
	Names []string `json:"names,omitempty"`
	// Selector is a label selector, as for kubectl -l, for example topology.kubernetes.io/zone=west-1a.
	Selector string `json:"selector,omitempty"`
	// Clusters lists member clusters of a federation, all of whose nodes are selected.
	Clusters []string `json:"clusters,omitempty"`
}

// Selects reports whether any field is given.
func (n Nodes) Selects() bool { return len(n.Names)+len(n.Clusters) > 0 || n.Selector != "" }

// Select returns the nodes that are named, that the selector matches, or that are in the clusters, in their order. A selector that does not
// parse matches none.
func (n Nodes) Select(among []*v1.Node) []*v1.Node {
	selector := labels.Nothing()
	if parsed, err := labels.Parse(n.Selector); err == nil && n.Selector != "" {
		selector = parsed
	}
	var selected []*v1.Node
	for _, node := range among {
		if slices.Contains(n.Names, node.Name) || slices.Contains(n.Clusters, node.Labels[cluster.MemberLabel]) || selector.Matches(labels.Set(node.Labels)) {
			selected = append(selected, node)
		}
	}
	return selected
}

// validate is the whole validation of actions that only select nodes.
func (n *Nodes) validate(c *actionChecks) { validateNodes(c.Problems, c.path, *n) }

func (n *Nodes) selected() *Nodes { return n }

func validateNodes(p *Problems, path *field.Path, nodes Nodes) {
	if !nodes.Selects() {
		p.Add(path, "selects no node; give names, or a selector such as topology.kubernetes.io/zone=zone-1")
	}
	validateSelector(p, path.Child("selector"), nodes.Selector)
}

// NodesInTurn selects nodes that are acted on one after the other: named nodes, nodes that the selector matches, and all nodes of clusters.
// Give at least one of the three.
type NodesInTurn struct {
	Nodes `json:",inline"`
	// Together acts on all nodes in one moment. Otherwise controllers and scheduler act between one node and the next, as they do while
	// kubectl goes through its list: the first node that comes back can take all pods that were waiting. Default: false.
	Together bool `json:"together,omitempty"`
}
