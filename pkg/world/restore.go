package world

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// Nodes returns the nodes of the state, and the removed nodes.
func (c *Cluster) Nodes(state *cluster.State) []*v1.Node {
	return slices.Concat(state.Nodes, c.removed.Nodes)
}

// restore makes failed nodes healthy again, and brings back deleted ones.
func (c *Cluster) restore(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	nodes, all, was := step.Restore, *state, c.removed
	all.Nodes = c.Nodes(state)
	names, problem := SelectNodes(&all, field.NewPath("restore"), nodes.Nodes)
	for _, name := range names {
		c.removed = *c.removed.Without(publishedObjects(&was, name)...)
	}
	next, err := applyInTurn(ctx, c, state, to, nodes.Together, names, func(state *cluster.State, names ...string) (*cluster.State, error) {
		var gone []cluster.Object
		for _, name := range names {
			if state.Node(name) == nil { // kubelet and drivers publish the node's objects again
				gone = append(gone, publishedObjects(&was, name)...)
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
	return next, "restore " + DescribeNodes(names), problem
}

// publishedObjects returns the node, and the objects that kubelet and drivers publish for it; nothing if the state lacks the node.
func publishedObjects(state *cluster.State, name string) []cluster.Object {
	var all []cluster.Object
	if node := state.Node(name); node != nil {
		all = append(all, node)
	}
	if of := findCSINode(state, name); of != nil {
		all = append(all, of)
	}
	for _, slice := range nodeResourceSlices(name, state.ResourceSlices) {
		all = append(all, slice)
	}
	return all
}

// findCSINode returns the node's CSINode; nil if it has none.
func findCSINode(state *cluster.State, node string) *storagev1.CSINode {
	i := slices.IndexFunc(state.CSINodes, func(of *storagev1.CSINode) bool { return of.Name == node })
	if i < 0 {
		return nil
	}
	return state.CSINodes[i]
}

// nodeResourceSlices returns the ResourceSlices with the node's own devices.
func nodeResourceSlices(node string, slices []*resourcev1.ResourceSlice) []*resourcev1.ResourceSlice {
	return list.Where(slices, func(slice *resourcev1.ResourceSlice) bool {
		return slice.Spec.NodeName != nil && *slice.Spec.NodeName == node
	})
}
