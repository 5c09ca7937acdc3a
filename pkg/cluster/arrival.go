package cluster

import (
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Arrival returns the workload's place in the order in which workloads of all kinds were created: a lower place means an earlier workload.
// A Deployment's ReplicaSets have the place of the Deployment. Arrival is 0 for a workload that With did not add.
func (s *State) Arrival(workload Object) int {
	if deployment := deploymentOf(workload); deployment != "" {
		return s.arrivals[deployment]
	}
	return s.arrivals[workload.GetUID()]
}

// SameArrivals reports whether the workloads of both states are certain to have the same places.
func (s *State) SameArrivals(other *State) bool {
	return reflect.ValueOf(s.arrivals).Pointer() == reflect.ValueOf(other.arrivals).Pointer()
}

// extendArrivals returns the known order of arrival, extended by the new workloads among the objects.
func extendArrivals(known map[types.UID]int, objs []Object) map[types.UID]int {
	next := known
	for _, obj := range objs {
		switch obj.(type) {
		case *v1.ReplicationController, *appsv1.Deployment, *appsv1.ReplicaSet, *appsv1.StatefulSet, *appsv1.DaemonSet, *UnknownOwner, *batchv1.Job:
		default:
			continue
		}
		if _, found := next[obj.GetUID()]; found || deploymentOf(obj) != "" {
			continue
		}
		if len(next) == len(known) {
			if next = maps.Clone(known); next == nil {
				next = map[types.UID]int{}
			}
		}
		next[obj.GetUID()] = len(next) + 1
	}
	return next
}

// deploymentOf returns the UID of the Deployment to which a ReplicaSet belongs, and "" for any other object.
func deploymentOf(obj Object) types.UID {
	if rs, is := obj.(*appsv1.ReplicaSet); is {
		if ref := metav1.GetControllerOfNoCopy(rs); ref != nil && ref.Kind == "Deployment" {
			return ref.UID
		}
	}
	return ""
}
