package admission

import (
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Replace returns what Admit has made of a dump, s, with other versions of some of its objects, as a change of the running cluster leaves it:
// what the dump shows besides, such as the template of a ReplicaSet that it lacks and what the cluster does to new pods, was so before the
// change. Questions change one workload of a large dump again and again. Replace returns nil unless the objects are Deployments, StatefulSets
// or DaemonSets that a cluster has created, and admission has nothing to say of them.
func Replace(s *cluster.State, objs ...cluster.Object) *cluster.State {
	a := newAdmitting(s)
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
		a.selector(obj, cluster.Selector(obj))
		a.template(obj)
	}
	if len(a.problems) > 0 || len(a.notes) > 0 || len(a.objs) > len(objs) {
		return nil
	}
	return s.With(objs...)
}

// sameIdentity reports whether two versions of an object differ only in what its owner gives it, and the new one has all that the API server
// gives to an object that it creates.
func sameIdentity(was, is cluster.Object) bool {
	return is.GetUID() != "" && is.GetUID() == was.GetUID() && !is.GetCreationTimestamp().Time.IsZero() && is.GetGeneration() != 0 &&
		is.GetCreationTimestamp() == was.GetCreationTimestamp() && reflect.DeepEqual(is.GetOwnerReferences(), was.GetOwnerReferences())
}
