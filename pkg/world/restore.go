package world

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
)

// Nodes returns the nodes of the state, and the nodes that failures have deleted.
func (c *Cluster) Nodes(state *cluster.State) []*v1.Node {
	return slices.Concat(state.Nodes, c.deleted)
}

// restore brings nodes back: existing ones, and those whose objects a failure deleted.
func (c *Cluster) restore(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	nodes, all := step.Restore, *state
	all.Nodes = c.Nodes(state)
	names, problem := SelectNodes(&all, field.NewPath("restore"), nodes.Nodes)
	c.deleted = slices.DeleteFunc(slices.Clone(c.deleted), func(node *v1.Node) bool { return slices.Contains(names, node.Name) })
	next, err := inTurn(ctx, c, state, to, nodes.Together, names, func(state *cluster.State, names ...string) (*cluster.State, error) {
		var gone []cluster.Object
		for _, name := range names {
			if state.Node(name) == nil {
				gone = append(gone, all.Node(name))
				for _, slice := range devicesOf(name, c.devices) { // drivers publish them again
					gone = append(gone, slice)
				}
			}
		}
		next, _, err := admission.Admit(state, gone...)
		if err != nil {
			return nil, err
		}
		return node.Restore(next, names...) // some stopped answering before they were deleted
	})
	if err != nil {
		return nil, "", err
	}
	c.devices = slices.DeleteFunc(slices.Clone(c.devices), func(slice *resourcev1.ResourceSlice) bool { return slices.Contains(names, *slice.Spec.NodeName) })
	return next, "restore " + List(names), problem
}

// devicesOf returns the slices that publish the node's own devices.
func devicesOf(node string, slices []*resourcev1.ResourceSlice) []*resourcev1.ResourceSlice {
	var own []*resourcev1.ResourceSlice
	for _, slice := range slices {
		if slice.Spec.NodeName != nil && *slice.Spec.NodeName == node {
			own = append(own, slice)
		}
	}
	return own
}
