package admission

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// resolveOwners points each owner reference at its owner's UID: where the reference has none, or where the owner had none
// before it was admitted. It does so for what is in the state already, too, when the owner comes later.
func (a *admitting) resolveOwners() {
	owners := maps.Clone(a.known)
	given := map[cluster.Ref]bool{}
	for _, obj := range a.objs {
		owners[cluster.RefTo(obj)] = obj
		given[cluster.RefTo(obj)] = true
	}
	present := map[types.UID]bool{}
	for _, obj := range owners {
		present[obj.GetUID()] = true
	}
	for _, obj := range a.objs {
		if refs := a.resolved(obj, owners, present); refs != nil {
			obj.SetOwnerReferences(refs)
		}
	}
	for _, obj := range a.state.Objects() {
		if given[cluster.RefTo(obj)] {
			continue
		}
		if refs := a.resolved(obj, owners, present); refs != nil {
			obj = obj.DeepCopyObject().(cluster.Object)
			obj.SetOwnerReferences(refs)
			a.objs = append(a.objs, obj)
		}
	}
}

// resolved returns the object's owner references with their owners' UIDs, or nil where nothing has to change.
func (a *admitting) resolved(obj cluster.Object, owners map[cluster.Ref]cluster.Object, present map[types.UID]bool) []metav1.OwnerReference {
	var resolved []metav1.OwnerReference
	for i, ref := range obj.GetOwnerReferences() {
		if ref.UID != "" && present[ref.UID] {
			continue
		}
		owner := cmp.Or(owners[cluster.Ref{Kind: ref.Kind, Namespace: obj.GetNamespace(), Name: ref.Name}], owners[cluster.Ref{Kind: ref.Kind, Name: ref.Name}])
		if owner == nil || ref.UID != "" && !a.unidentified[cluster.RefTo(owner)] {
			continue
		}
		if resolved == nil {
			resolved = slices.Clone(obj.GetOwnerReferences())
		}
		resolved[i].UID = owner.GetUID()
	}
	return resolved
}
