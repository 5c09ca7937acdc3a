package world

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// SelectNodes returns the names of the selected nodes in kubectl's order: nodes given by name first, as given, then the matches of the
// selector by name, as the API server lists them. The error joins a [Problem] for each field below path that selects no node.
func SelectNodes(state *cluster.State, path *field.Path, nodes scenario.Nodes) ([]string, error) {
	var problems []error
	wrong := func(path *field.Path, err error) { problems = append(problems, &Problem{path, err}) }
	known := make([]string, len(state.Nodes))
	for i, node := range state.Nodes {
		known[i] = node.Name
	}
	there := sets.New(known...)
	for i, name := range nodes.Names {
		if !there.Has(name) {
			wrong(path.Child("names").Index(i), &MissingError{Ref: cluster.Ref{Kind: "Node", Name: name}, Among: known})
		}
	}
	if len(nodes.Clusters) > 0 && state.Federation == nil {
		wrong(path.Child("clusters"), &scenario.NoMatchError{Why: "is for a federation; give names or a selector"})
	} else {
		for i, name := range nodes.Clusters {
			if state.Federation.Member(name) == nil {
				wrong(path.Child("clusters").Index(i), MissingCluster(state.Federation, name))
			}
		}
	}
	if nodes.Selector != "" {
		if err := scenario.CheckMatches(nodes.Selector, "node", scenario.NodeLabels(state.Nodes)); err != nil {
			wrong(path.Child("selector"), err)
		}
	}
	var names []string
	for _, node := range nodes.Select(state.Nodes) {
		names = append(names, node.Name)
	}
	if len(names)+len(problems) == 0 {
		wrong(path, fmt.Errorf("no node is selected by %s", strings.TrimSpace(strings.Join(slices.Concat(nodes.Names, nodes.Clusters), " ")+" "+nodes.Selector)))
	}
	named := func(name string) int {
		if i := slices.Index(nodes.Names, name); i >= 0 {
			return i
		}
		return len(nodes.Names)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(named(a), named(b)), cmp.Compare(a, b)) })
	return names, errors.Join(problems...)
}

// MissingCluster returns the error that no member cluster has the name at this step.
func MissingCluster(fed *cluster.Federation, name string) error {
	among := list.Map(fed.Members, func(m cluster.Member) string { return m.Name })
	return &MissingError{Ref: cluster.Ref{Kind: federation.KindCluster, Name: name}, Among: among}
}

// DescribeNodes returns the names of up to five nodes, or "7 nodes".
func DescribeNodes(names []string) string {
	if len(names) > 5 {
		return words.Count(len(names), "node")
	}
	return strings.Join(names, " ")
}
