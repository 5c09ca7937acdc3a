package outcome

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// nameNewNodes returns names for the nodes that a decider has added, which it names by chance: "new m5.large in zone-1", and "new m5.large in
// zone-1 (2)" for the next one with other pods. The same nodes with the same pods have the same names in each trial.
func nameNewNodes(initial, state *cluster.State, placed Distribution) map[string]string {
	alike := map[string][]string{}
	var kinds []string
	for _, node := range state.Nodes {
		if len(node.OwnerReferences) == 0 || initial.Node(node.Name) != nil {
			continue
		}
		kind := "new " + cmp.Or(node.Labels[v1.LabelInstanceTypeStable], "node")
		if zone := node.Labels[v1.LabelTopologyZone]; zone != "" {
			kind += " in " + zone
		}
		if alike[kind] == nil {
			kinds = append(kinds, kind)
		}
		alike[kind] = append(alike[kind], node.Name)
	}
	names := map[string]string{}
	for _, kind := range kinds {
		slices.SortFunc(alike[kind], func(a, b string) int {
			return cmp.Or(cmp.Compare(placed.partOn(b), placed.partOn(a)), cmp.Compare(a, b))
		})
		for i, node := range alike[kind] {
			names[node] = kind
			if i > 0 {
				names[node] = fmt.Sprintf("%s (%d)", kind, i+1)
			}
		}
	}
	return names
}

// rename returns the distribution with other names for some nodes.
func (p Distribution) rename(names map[string]string) Distribution {
	if len(names) == 0 {
		return p
	}
	var next Distribution
	for _, w := range p.Workloads {
		nodes := map[string]int{}
		for node, n := range w.Nodes {
			nodes[cmp.Or(names[node], node)] = n
		}
		w.Nodes = nodes
		next.Workloads = append(next.Workloads, w)
	}
	return next
}
