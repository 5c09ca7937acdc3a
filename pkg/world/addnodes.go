package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// addNodes adds nodes that are like an existing one. They are ready and have no pods.
func (c *Cluster) addNodes(_ context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	action, path := step.AddNodes, field.NewPath("addNodes")
	like, from, problem := c.findKnownNode(state, path.Child("like"), action.Like)
	place, _, misplaced := c.findKnownNode(state, path.Child("inPlaceOf"), cmp.Or(action.InPlaceOf, action.Like))
	if problem != nil {
		return state, "", problem
	}
	if misplaced != nil {
		return state, "", misplaced
	}
	made := copyNodeToPlace(like, place)
	if action.CPU != "" {
		size, _ := action.Type().Size(nil) // the scenario has checked the size
		topology.Resize(made, size)
	}
	for key, value := range action.Labels {
		metav1.SetMetaDataLabel(&made.ObjectMeta, key, value)
	}
	var added []cluster.Object
	for _, name := range newNodeNames(state, place.Name, action.Count) {
		added = append(added, NewNodeObjects(from, like, made.DeepCopy(), name)...)
	}
	next, err := c.startNodes(AtTime(state, state.Now.Add(action.Startup())), path, to, added)
	return next, fmt.Sprintf("add %s like %s", words.Count(action.Count, "node"), like.Name), err
}

// findKnownNode returns the node with the name, and a state that has the objects published for the node (see [publishedObjects]). The node is in the state,
// or a step or a failure has removed it; [Cluster.removed] has the removed ones.
func (c *Cluster) findKnownNode(state *cluster.State, path *field.Path, name string) (*v1.Node, *cluster.State, error) {
	if found := state.Node(name); found != nil {
		return found, state, nil
	}
	if found := c.removed.Node(name); found != nil {
		return found, &c.removed, nil
	}
	_, err := SelectNodes(state, path, scenario.Nodes{Names: []string{name}})
	return nil, nil, &Problem{path, err}
}

// startNodes admits nodes and the objects published for them. The nodes are ready, and the scheduler may use them.
func (c *Cluster) startNodes(state *cluster.State, path *field.Path, to *Record, added []cluster.Object) (*cluster.State, error) {
	next, err := c.admit(state, path, to, added...)
	if err != nil {
		return next, err
	}
	var names []string
	for _, obj := range added {
		if of, is := obj.(*v1.Node); is {
			names = append(names, of.Name)
		}
	}
	if next, err = node.Uncordon(next, names...); err == nil {
		next, err = node.Restore(next, names...)
	}
	return next, err
}

// newNodeNames returns count unused names for nodes that are copies of the node like.
func newNodeNames(state *cluster.State, like string, count int) []string {
	taken := state.NodesByName()
	var names []string
	for i := 1; len(names) < count; i++ {
		if name := newNodeName(like, i); taken[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

// newNodeName returns the name of the i-th copy of the node like. The name is also the value of a label, which has at most 63 characters.
func newNodeName(like string, i int) string {
	return fmt.Sprintf("%s-new-%d", strings.TrimRight(like[:min(len(like), 50)], "-."), i)
}

// cloneNodeObjects returns a copy of the node like, with the objects that kubelet and drivers publish for it; see [NewNodeObjects].
func cloneNodeObjects(state *cluster.State, like *v1.Node, name string) []cluster.Object {
	return NewNodeObjects(state, like, like.DeepCopy(), name)
}

// NewNodeObjects turns made, a changed copy of the node like, into a new node with the given name. It returns the node, and copies of the objects
// that kubelet and drivers publish for like: its CSINode and its ResourceSlices. The new node has no images, since a node pulls an image
// when its first pod needs it.
func NewNodeObjects(state *cluster.State, like, made *v1.Node, name string) []cluster.Object {
	made.ObjectMeta = metav1.ObjectMeta{Name: name, Labels: made.Labels, Annotations: made.Annotations}
	for key, value := range made.Labels {
		if value == like.Name || key == v1.LabelHostname {
			made.Labels[key] = name
		}
	}
	made.Spec.ProviderID, made.Spec.PodCIDR, made.Spec.PodCIDRs = "", "", nil
	made.Status.Addresses, made.Status.Images, made.Status.VolumesAttached, made.Status.VolumesInUse = nil, nil, nil, nil
	all := []cluster.Object{made}
	if of := findCSINode(state, like.Name); of != nil {
		of = of.DeepCopy()
		of.ObjectMeta = metav1.ObjectMeta{Name: name, Annotations: of.Annotations}
		all = append(all, of)
	}
	for _, published := range nodeResourceSlices(like.Name, state.ResourceSlices) {
		of := published.DeepCopy()
		of.ObjectMeta = metav1.ObjectMeta{Name: replaceNodeName(of.Name, like.Name, name)}
		of.Spec.NodeName, of.Spec.Pool.Name = &name, replaceNodeName(of.Spec.Pool.Name, like.Name, name)
		of.Spec.Pool.ResourceSliceCount = int64(len(slices.DeleteFunc(nodeResourceSlices(like.Name, state.ResourceSlices), func(other *resourcev1.ResourceSlice) bool {
			return other.Spec.Driver != published.Spec.Driver || other.Spec.Pool.Name != published.Spec.Pool.Name
		})))
		all = append(all, of)
	}
	return all
}

// replaceNodeName replaces the old node's name within a name by the new node's: slices-a becomes slices-b. A name without the old one gets the new
// one as a prefix: gpus becomes b-gpus.
func replaceNodeName(name, like, node string) string {
	if strings.Contains(name, like) {
		return strings.ReplaceAll(name, like, node)
	}
	return node + "-" + name
}
