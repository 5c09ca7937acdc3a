package admission

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// Delete removes the objects, matched by kind, namespace and name, and everything that depends on them: the objects that they own, the
// objects in deleted namespaces, and the pods on deleted nodes. Pods on other nodes terminate first; see [Terminate]. An object with
// another owner stays. The claims of a StatefulSet stay unless its persistentVolumeClaimRetentionPolicy has made it their owner. A device
// claim stays while pods have reserved it. Delete ignores unknown objects.
func Delete(s *cluster.State, objs ...cluster.Object) *cluster.State {
	var pods []*v1.Pod
	var ending []cluster.Object
	gone := slices.DeleteFunc(collectDependents(s, objs), func(obj cluster.Object) bool {
		switch o := obj.(type) {
		case *v1.Pod:
			pods = append(pods, o)
			return true
		case *resourcev1.ResourceClaim:
			if len(o.Status.ReservedFor) == 0 {
				return false
			}
			claim := *o // a finalizer protects it while pods use it
			claim.DeletionTimestamp = &s.Now
			ending = append(ending, &claim)
			return true
		}
		return false
	})
	return Terminate(s.With(ending...).Without(gone...), "", pods...)
}

// DeleteAndWait does what [Delete] does, and then removes the deleted pods that still terminate, even on nodes that do not answer.
func DeleteAndWait(s *cluster.State, objs ...cluster.Object) *cluster.State {
	return s.Without(collectDependents(s, objs)...)
}

// collectDependents returns the objects of the state that are deleted together with the given ones.
func collectDependents(s *cluster.State, objs []cluster.Object) []cluster.Object {
	doomed := map[cluster.Ref]bool{}
	for _, obj := range objs {
		doomed[cluster.RefTo(obj)] = true
		if node, ok := obj.(*v1.Node); ok { // the node owns its CSINode, though dumps seldom have the owner reference
			doomed[cluster.Ref{Kind: "CSINode", Name: node.Name}] = true
		}
	}
	all := s.Objects()
	present := sync.OnceValue(func() map[types.UID]bool { // few deletions need it
		present := make(map[types.UID]bool, len(all))
		for _, obj := range all {
			present[obj.GetUID()] = true
		}
		return present
	})
	var gone []cluster.Object
	goneUIDs := map[types.UID]bool{}
	for { // one round for each level of ownership
		before := len(gone)
		for _, obj := range all {
			if goneUIDs[obj.GetUID()] || !isDeletedWith(obj, doomed, goneUIDs, present) {
				continue
			}
			goneUIDs[obj.GetUID()] = true
			gone = append(gone, obj)
		}
		if len(gone) == before {
			return gone
		}
	}
}

// isDeletedWith reports whether the object is deleted together with the doomed or gone objects: as one of them, or with its namespace, node or
// owner.
func isDeletedWith(obj cluster.Object, doomed map[cluster.Ref]bool, gone map[types.UID]bool, present func() map[types.UID]bool) bool {
	if doomed[cluster.RefTo(obj)] || obj.GetNamespace() != "" && doomed[cluster.Ref{Kind: "Namespace", Name: obj.GetNamespace()}] {
		return true
	}
	switch o := obj.(type) {
	case *v1.Pod:
		if o.Spec.NodeName != "" && doomed[cluster.Ref{Kind: "Node", Name: o.Spec.NodeName}] {
			return true
		}
	case *resourcev1.ResourceSlice: // the node owns it, though a file written by hand may lack the owner reference
		if o.Spec.NodeName != nil && doomed[cluster.Ref{Kind: "Node", Name: *o.Spec.NodeName}] {
			return true
		}
	}
	return isOrphaned(obj.GetOwnerReferences(), gone, present)
}

// isOrphaned reports whether an owner is gone and no other owner is present.
func isOrphaned(refs []metav1.OwnerReference, gone map[types.UID]bool, present func() map[types.UID]bool) bool {
	isGone := func(ref metav1.OwnerReference) bool { return gone[ref.UID] }
	stays := func(ref metav1.OwnerReference) bool { return !gone[ref.UID] && present()[ref.UID] }
	return slices.ContainsFunc(refs, isGone) && !slices.ContainsFunc(refs, stays)
}
