package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// replaceNodes deletes nodes, and adds nodes of another type in their places.
func (c *Cluster) replaceNodes(_ context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	action, path := step.ReplaceNodes, field.NewPath("replaceNodes")
	names, err := SelectNodes(state, path, action.Nodes)
	if err != nil {
		return state, "", err
	}
	old := list.Map(names, state.Node)
	slices.SortStableFunc(old, func(a, b *v1.Node) int {
		return cmp.Or(cmp.Compare(topology.RegionOf(a.Labels), topology.RegionOf(b.Labels)), cmp.Compare(topology.ZoneOf(a.Labels), topology.ZoneOf(b.Labels)))
	})
	key, value, _ := strings.Cut(action.Label, "=")
	like := findNodeOfType(state, old, key, value)
	sized := action.CPU != ""
	size, _ := action.Type().Size(nil) // the scenario has checked the size
	if like == nil && !sized {
		return state, "", &Problem{path.Child("label"), fmt.Errorf("no other node has the label %s, for the new ones to be like it; give cpu and memory", action.Label)}
	}
	one := func(k, count int) (place, made *v1.Node) {
		place = old[k*len(old)/count]
		if !sized {
			made = copyNodeToPlace(like, place)
		} else {
			made = place.DeepCopy()
			topology.Resize(made, size)
		}
		metav1.SetMetaDataLabel(&made.ObjectMeta, key, value) // the label may say where a node is, so set it last
		return place, made
	}
	_, first := one(0, 1)
	count := cmp.Or(action.Count, countReplacements(old, first))
	if count > maxReplacements {
		return state, "", &Problem{path, fmt.Errorf("as many nodes as those that go take %d; give larger ones, or a count up to %d", count, maxReplacements)}
	}
	var added []cluster.Object
	for k, name := range newNodeNames(state, first.Name, count) {
		place, made := one(k, count)
		from := like
		if sized {
			from = place
		}
		added = append(added, NewNodeObjects(state, from, made, name)...)
	}
	if sized {
		to.Notes = append(to.Notes, fmt.Sprintf("The new nodes are like those that go, with %s cpu and %s memory.", action.CPU, action.Memory))
	} else {
		to.Notes = append(to.Notes, fmt.Sprintf("The new nodes are like %s, in the places of those that go.", like.Name))
	}
	next, err := c.startNodes(state, path, to, added)
	if err == nil {
		next, err = c.Fail(next, node.Deleted, names...)
	}
	return next, fmt.Sprintf("replace %s by %d of %s", DescribeNodes(names), count, value), err
}

// maxReplacements limits how many nodes replace others.
const maxReplacements = 10000

// findNodeOfType returns the node with the label that shares most labels with the first of the old nodes, and is not itself old; nil if there is
// none.
func findNodeOfType(state *cluster.State, old []*v1.Node, key, value string) *v1.Node {
	var best *v1.Node
	most := -1
	for _, candidate := range state.Nodes {
		if got, labelled := candidate.Labels[key]; !labelled || got != value || slices.Contains(old, candidate) {
			continue
		}
		n := 0
		for key, value := range old[0].Labels {
			if candidate.Labels[key] == value {
				n++
			}
		}
		if n > most || n == most && candidate.Name < best.Name {
			best, most = candidate, n
		}
	}
	return best
}

// copyNodeToPlace returns a copy of the node like with the region and zone labels of the node place.
func copyNodeToPlace(like, place *v1.Node) *v1.Node {
	made := like.DeepCopy()
	maps.DeleteFunc(made.Labels, func(key, _ string) bool { return topology.IsTopologyLabel(key) })
	for key, value := range place.Labels {
		if topology.IsTopologyLabel(key) {
			made.Labels[key] = value
		}
	}
	return made
}

// countReplacements returns how many nodes like one have at least the cpu and the memory of the old ones: 2 nodes with 10 cpu replace 5 nodes with 4.
func countReplacements(old []*v1.Node, one *v1.Node) int {
	most := 1
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		var sum resource.Quantity
		for _, of := range old {
			sum.Add(nodeCapacity(of, name))
		}
		if each := nodeCapacity(one, name); each.Sign() > 0 {
			most = max(most, int((sum.MilliValue()+each.MilliValue()-1)/each.MilliValue()))
		}
	}
	return most
}

// nodeCapacity returns the node's capacity or, if that is unknown, what is allocatable to pods.
func nodeCapacity(of *v1.Node, name v1.ResourceName) resource.Quantity {
	if capacity, has := of.Status.Capacity[name]; has {
		return capacity
	}
	return of.Status.Allocatable[name]
}
