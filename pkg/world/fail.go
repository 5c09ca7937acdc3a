package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
)

// FailStep carries out a fail step in the world.
func FailStep(w World, state *cluster.State, fail *scenario.Fail) (*cluster.State, string, error) {
	names, err := SelectNodes(state, fail.Nodes)
	if err != nil {
		return nil, "", err
	}
	mode := cmp.Or(node.FailureMode(fail.Mode), node.Unreachable)
	next, err := w.Fail(state, mode, names...)
	return next, fmt.Sprintf("%s: %s", mode, List(names)), err
}

// Fail fails nodes; deleted ones are kept for a later restore, with their devices.
func (c *Cluster) Fail(state *cluster.State, mode node.FailureMode, names ...string) (*cluster.State, error) {
	next, err := node.Fail(state, mode, names...)
	if err == nil && mode == node.Deleted {
		for _, name := range names {
			c.lost = append(slices.Clip(c.lost), state.Node(name)) // an earlier step's list stays unchanged
			c.devices = append(slices.Clip(c.devices), devicesOf(name, state.ResourceSlices)...)
		}
	}
	return next, err
}

// restore brings nodes back: existing ones, and those whose objects a failure deleted.
func (c *Cluster) restore(ctx context.Context, state *cluster.State, nodes *scenario.NodesInTurn, to *Record) (*cluster.State, string, error) {
	all := *state
	for _, node := range c.lost {
		all.Nodes = append(slices.Clip(all.Nodes), node)
	}
	names, err := SelectNodes(&all, nodes.Nodes)
	if err != nil {
		return nil, "", err
	}
	c.lost = slices.DeleteFunc(slices.Clone(c.lost), func(node *v1.Node) bool { return slices.Contains(names, node.Name) })
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
		return node.Restore(next, names...) // also those that stopped answering before they were deleted
	})
	c.devices = slices.DeleteFunc(slices.Clone(c.devices), func(slice *resourcev1.ResourceSlice) bool { return slices.Contains(names, *slice.Spec.NodeName) })
	return next, "restore " + List(names), err
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

// stopped notes in which zones pods stay on failed nodes because too many are down.
func stopped(state *cluster.State) []string {
	var notes []string
	for _, d := range node.Disruptions(state) {
		of := "nodes without a zone"
		switch {
		case d.All:
			of = "nodes of all zones"
		case d.Zone != "" || d.Region != "":
			of = "nodes of zone " + strings.TrimPrefix(d.Region+"/"+d.Zone, "/")
		}
		notes = append(notes, fmt.Sprintf("So many %s are down that the node lifecycle controller evicts no more pods: those on %s stay bound, and not ready.", of, List(d.Nodes)))
	}
	return notes
}
