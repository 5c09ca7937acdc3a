package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
)

// removeNodes deletes nodes with their pods. Controllers replace the pods.
func (c *Cluster) removeNodes(_ context.Context, state *cluster.State, step *scenario.LoadedStep, _ *Record) (*cluster.State, string, error) {
	action, path := step.RemoveNodes, field.NewPath("removeNodes")
	var names []string
	if action.Nodes.Selects() {
		var problem error
		if names, problem = SelectNodes(state, path, action.Nodes); problem != nil {
			return state, "", problem
		}
	} else {
		controlPlanes := cluster.ControlPlanes(state.Nodes, state.Pods)
		for _, node := range state.Nodes {
			if !controlPlanes[node.Name] { // often among the emptiest, and users do not mean them
				names = append(names, node.Name)
			}
		}
	}
	if action.Count > len(names) {
		return state, "", &Problem{path.Child("count"), fmt.Errorf("%d is more than the %d nodes that there are to choose from; give fewer", action.Count, len(names))}
	}
	if action.Count > 0 {
		names = SortEmptiestFirst(state, names)[:action.Count]
	}
	if len(names) == len(state.Nodes) {
		return state, "", &Problem{path, fmt.Errorf("leaves no node; there are %d, remove fewer", len(names))}
	}
	next, err := c.Fail(state, node.Deleted, names...)
	return next, "remove " + DescribeNodes(names), err
}

// SortEmptiestFirst sorts nodes by the share of cpu or memory that their pods request, whichever is larger, then by name.
func SortEmptiestFirst(state *cluster.State, names []string) []string {
	requested := map[string]v1.ResourceList{}
	for _, pod := range state.Pods {
		if on := pod.Spec.NodeName; on != "" && !cluster.IsTerminal(pod) {
			sum := requested[on]
			if sum == nil {
				sum = v1.ResourceList{}
				requested[on] = sum
			}
			for name, quantity := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
				quantity.Add(sum[name])
				sum[name] = quantity
			}
		}
	}
	share := map[string]float64{}
	for _, node := range state.Nodes {
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			asked, has := requested[node.Name][name], node.Status.Allocatable[name]
			if !has.IsZero() {
				share[node.Name] = max(share[node.Name], asked.AsApproximateFloat64()/has.AsApproximateFloat64())
			}
		}
	}
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, func(a, b string) int { return cmp.Or(cmp.Compare(share[a], share[b]), cmp.Compare(a, b)) })
	return sorted
}
