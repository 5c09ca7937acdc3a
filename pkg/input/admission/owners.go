package admission

import (
	"cmp"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// resolveOwners sets the owner's UID in each owner reference that has none, or whose owner had none before this call. It also does so in
// objects of the state if their owner comes only now.
func (a *admitCall) resolveOwners() {
	given := make(map[cluster.Ref]cluster.Object, len(a.objs))
	owners := map[string]map[string]bool{} // new objects, by kind and name: another object may name one as its owner with a UID that was unknown before
	for _, obj := range a.objs {
		given[cluster.RefTo(obj)] = obj
		if a.unidentified[cluster.RefTo(obj)] {
			kind := cluster.KindOf(obj)
			if owners[kind] == nil {
				owners[kind] = map[string]bool{}
			}
			owners[kind][obj.GetName()] = true
		}
	}
	present := sync.OnceValue(func() map[types.UID]bool {
		present := map[types.UID]bool{}
		for _, obj := range given {
			present[obj.GetUID()] = true
		}
		for _, obj := range a.state.Objects() {
			if given[cluster.RefTo(obj)] == nil {
				present[obj.GetUID()] = true
			}
		}
		return present
	})
	for _, obj := range a.objs {
		if refs := a.resolveReferences(obj, given, present); refs != nil {
			obj.SetOwnerReferences(refs)
		}
	}
	for _, obj := range a.state.Objects() {
		mayBeNew := func(ref metav1.OwnerReference) bool { return ref.UID == "" || owners[ref.Kind][ref.Name] }
		if !slices.ContainsFunc(obj.GetOwnerReferences(), mayBeNew) || given[cluster.RefTo(obj)] != nil {
			continue
		}
		if refs := a.resolveReferences(obj, given, present); refs != nil {
			obj = obj.DeepCopyObject().(cluster.Object)
			obj.SetOwnerReferences(refs)
			a.objs = append(a.objs, obj)
		}
	}
}

// resolveReferences returns the object's owner references with their owners' UIDs, or nil if nothing has to change. It finds owners among the given
// objects and the objects of the state.
func (a *admitCall) resolveReferences(obj cluster.Object, given map[cluster.Ref]cluster.Object, present func() map[types.UID]bool) []metav1.OwnerReference {
	var resolved []metav1.OwnerReference
	for i, ref := range obj.GetOwnerReferences() {
		if ref.UID != "" && present()[ref.UID] {
			continue
		}
		namespaced, wide := cluster.Ref{Kind: ref.Kind, Namespace: obj.GetNamespace(), Name: ref.Name}, cluster.Ref{Kind: ref.Kind, Name: ref.Name}
		owner := cmp.Or(given[namespaced], a.findInState(namespaced), given[wide], a.findInState(wide))
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
