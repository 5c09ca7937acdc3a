package controller

import (
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/cluster"
)

var replicationControllerKind = v1.SchemeGroupVersion.WithKind("ReplicationController")

// replicaController is a ReplicaSet, or a ReplicationController in the form of one, since upstream runs the same controller for both; see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/replication/conversion.go.
type replicaController struct {
	set    *appsv1.ReplicaSet
	object cluster.Object // the object in the cluster
	kind   schema.GroupVersionKind
}

// replicaControllers returns the ReplicaSets of a state, then its ReplicationControllers.
func (c *Controllers) replicaControllers(s *cluster.State) iter.Seq[replicaController] {
	return func(yield func(replicaController) bool) {
		for _, rs := range s.ReplicaSets {
			if !yield(replicaController{rs, rs, replicaSetKind}) {
				return
			}
		}
		for _, rc := range s.ReplicationControllers {
			if !yield(replicaController{c.replicaSetOf(rc), rc, replicationControllerKind}) {
				return
			}
		}
	}
}

// replicaSetOf returns a ReplicationController in the form of a ReplicaSet. It is the same pointer for as long as the ReplicationController
// is the same, since entries of the memory compare pointers.
func (c *Controllers) replicaSetOf(rc *v1.ReplicationController) *appsv1.ReplicaSet {
	return recallOrCompute(&c.memory, subject{asReplicaSet, rc.UID}, []any{rc}, func() *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{
			ObjectMeta: rc.ObjectMeta,
			Spec: appsv1.ReplicaSetSpec{
				Replicas:        rc.Spec.Replicas,
				MinReadySeconds: rc.Spec.MinReadySeconds,
				Selector:        &metav1.LabelSelector{MatchLabels: rc.Spec.Selector},
				Template:        *rc.Spec.Template,
			},
			Status: appsv1.ReplicaSetStatus{
				Replicas:             rc.Status.Replicas,
				FullyLabeledReplicas: rc.Status.FullyLabeledReplicas,
				ReadyReplicas:        rc.Status.ReadyReplicas,
				AvailableReplicas:    rc.Status.AvailableReplicas,
				ObservedGeneration:   rc.Status.ObservedGeneration,
			},
		}
	})
}

// withStatus returns the object with another status.
func (r replicaController) withStatus(status appsv1.ReplicaSetStatus) cluster.Object {
	if rc, is := r.object.(*v1.ReplicationController); is {
		next := *rc
		next.Status.Replicas, next.Status.FullyLabeledReplicas = status.Replicas, status.FullyLabeledReplicas
		next.Status.ReadyReplicas, next.Status.AvailableReplicas = status.ReadyReplicas, status.AvailableReplicas
		next.Status.ObservedGeneration = status.ObservedGeneration
		return &next
	}
	next := *r.set
	next.Status = status
	return &next
}
