package world

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// addNodes adds nodes like another, which are ready and have no pods.
func (c *Cluster) addNodes(_ context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	action, path := step.AddNodes, field.NewPath("addNodes")
	if _, err := SelectNodes(state, path, scenario.Nodes{Names: []string{action.Like}}); err != nil {
		return state, "", &Problem{path.Child("like"), err}
	}
	like, taken := state.Node(action.Like), state.NodesByName()
	var added []cluster.Object
	var names []string
	for i := 1; len(names) < action.Count; i++ {
		if name := newName(like.Name, i); taken[name] == nil {
			added, names = append(added, machine(state, like, name)...), append(names, name)
		}
	}
	done := fmt.Sprintf("add %s like %s", words.Count(action.Count, "node"), like.Name)
	next, err := c.admit(state, path, to, added...)
	if err != nil {
		return next, done, err
	}
	if next, err = node.Uncordon(next, names...); err == nil {
		next, err = node.Restore(next, names...)
	}
	return next, done, err
}

// newName is the name of the i-th node that is made like another. It is also the value of a label, which has at most 63 characters.
func newName(like string, i int) string {
	return fmt.Sprintf("%s-new-%d", strings.TrimRight(like[:min(len(like), 50)], "-."), i)
}

// machine returns a node like another, and what kubelet and drivers publish of it. Images are on a node only once its pods have run.
func machine(state *cluster.State, like *v1.Node, name string) []cluster.Object {
	made := like.DeepCopy()
	made.ObjectMeta = metav1.ObjectMeta{Name: name, Labels: made.Labels, Annotations: made.Annotations}
	for key, value := range made.Labels {
		if value == like.Name || key == v1.LabelHostname {
			made.Labels[key] = name
		}
	}
	made.Spec.ProviderID, made.Spec.PodCIDR, made.Spec.PodCIDRs = "", "", nil
	made.Status.Addresses, made.Status.Images, made.Status.VolumesAttached, made.Status.VolumesInUse = nil, nil, nil, nil
	all := []cluster.Object{made}
	if i := slices.IndexFunc(state.CSINodes, func(of *storagev1.CSINode) bool { return of.Name == like.Name }); i >= 0 {
		of := state.CSINodes[i].DeepCopy()
		of.ObjectMeta = metav1.ObjectMeta{Name: name, Annotations: of.Annotations}
		all = append(all, of)
	}
	for _, published := range devicesOf(like.Name, state.ResourceSlices) {
		of := published.DeepCopy()
		of.ObjectMeta = metav1.ObjectMeta{Name: renamed(of.Name, like.Name, name)}
		of.Spec.NodeName, of.Spec.Pool.Name = &name, renamed(of.Spec.Pool.Name, like.Name, name)
		of.Spec.Pool.ResourceSliceCount = int64(len(slices.DeleteFunc(devicesOf(like.Name, state.ResourceSlices), func(other *resourcev1.ResourceSlice) bool {
			return other.Spec.Driver != published.Spec.Driver || other.Spec.Pool.Name != published.Spec.Pool.Name
		})))
		all = append(all, of)
	}
	return all
}

// renamed puts the new node's name into a name, in the place of the other's or before it.
func renamed(name, like, node string) string {
	if strings.Contains(name, like) {
		return strings.ReplaceAll(name, like, node)
	}
	return node + "-" + name
}
