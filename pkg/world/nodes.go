package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// onNodes applies do to the selected nodes.
func (c *Cluster) onNodes(ctx context.Context, state *cluster.State, nodes *scenario.NodesInTurn, to *Record, verb string, do func(*cluster.State, ...string) (*cluster.State, error)) (*cluster.State, string, error) {
	names, err := SelectNodes(state, nodes.Nodes)
	if err != nil {
		return nil, "", err
	}
	next, err := inTurn(ctx, c, state, to, nodes.Together, names, do)
	return next, verb + " " + List(names), err
}

// SelectNodes returns the selected nodes in kubectl's order: named ones as given, then by name, as the API server lists the matches of a
// selector.
func SelectNodes(state *cluster.State, nodes scenario.Nodes) ([]string, error) {
	var names []string
	for _, node := range nodes.Select(state.Nodes) {
		names = append(names, node.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no node is selected by %s", strings.TrimSpace(strings.Join(nodes.Names, " ")+" "+nodes.Selector))
	}
	named := func(name string) int {
		if i := slices.Index(nodes.Names, name); i >= 0 {
			return i
		}
		return len(nodes.Names)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(named(a), named(b)), cmp.Compare(a, b)) })
	return names, nil
}

// selectPods returns the selected pods in the order in which the API server lists them.
func selectPods(state *cluster.State, namespace string, pods *scenario.Pods) ([]*v1.Pod, error) {
	selector, err := labels.Parse(pods.Selector)
	if err != nil {
		return nil, err
	}
	var on []string
	if pods.Nodes != nil {
		if on, err = SelectNodes(state, *pods.Nodes); err != nil {
			return nil, err
		}
	}
	var selected []*v1.Pod
	for _, pod := range state.Pods {
		if (namespace == "" || pod.Namespace == namespace) && selector.Matches(labels.Set(pod.Labels)) &&
			(pods.Nodes == nil || slices.Contains(on, pod.Spec.NodeName)) {
			selected = append(selected, pod)
		}
	}
	slices.SortFunc(selected, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return selected, nil
}

// List names a few nodes, or counts many.
func List(names []string) string {
	if len(names) > 5 {
		return words.Count(len(names), "node")
	}
	return strings.Join(names, " ")
}
