package admission

import (
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Replace replaces objects in s, the admitted state of a dump, as a change of the running cluster would. It keeps what the first admission
// found in the dump, such as the template of a missing ReplicaSet and what the cluster does to new pods, since this was so before the
// change. Questions use it to change one workload of a large dump many times. Replace returns nil if an object is not a Deployment,
// StatefulSet or DaemonSet of the cluster, or if admission has a problem or a note.
func Replace(s *cluster.State, objs ...cluster.Object) *cluster.State {
	a := newAdmitCall(s)
	a.objs, a.pods, a.nodes = slices.Clip(objs), NewPods(s), s.NodesByName()
	for _, obj := range objs {
		switch obj.(type) {
		case *appsv1.Deployment, *appsv1.StatefulSet, *appsv1.DaemonSet:
		default:
			return nil
		}
		if was := s.Find(cluster.RefTo(obj)); was == nil || !sameIdentity(was, obj) {
			return nil
		}
		a.checkSelector(obj, cluster.Selector(obj))
		a.checkTemplate(obj)
	}
	if len(a.problems) > 0 || len(a.notes) > 0 || len(a.objs) > len(objs) {
		return nil
	}
	return s.With(objs...)
}

// sameIdentity reports whether two versions of an object have the same UID, creation time and owners, and the new one has all fields that
// the API server sets in a new object.
func sameIdentity(was, is cluster.Object) bool {
	return is.GetUID() != "" && is.GetUID() == was.GetUID() && !is.GetCreationTimestamp().Time.IsZero() && is.GetGeneration() != 0 &&
		is.GetCreationTimestamp() == was.GetCreationTimestamp() && reflect.DeepEqual(is.GetOwnerReferences(), was.GetOwnerReferences())
}
