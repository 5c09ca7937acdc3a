package sched

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// attempt is the last rejection among the pods of one controller. Until something changes, it holds for all pods that are alike.
type attempt struct {
	changes int
	pending placement.Pending
}

// refuse records why the pod got no node.
func (e *Engine) refuse(next *entry, pending placement.Pending) {
	next.pending, next.changes = pending, e.changes
	if owner := metav1.GetControllerOfNoCopy(next.Pod); owner != nil {
		e.attempts[owner.UID] = attempt{changes: e.changes, pending: pending}
	}
}

// refusedAlike returns the rejection of an alike pod of the same controller, if nothing has changed since.
func (e *Engine) refusedAlike(pod *v1.Pod) (placement.Pending, bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return placement.Pending{}, false
	}
	last, found := e.attempts[owner.UID]
	if !found || last.changes != e.changes || e.Record != nil && last.pending.Cycle == nil || !alike(last.pending.Pod, pod) {
		return placement.Pending{}, false
	}
	last.pending.Pod = pod
	return last.pending, true
}

// alike reports whether two pods of one controller agree in everything that plugins read of a pod without a node: nearly everything but its
// name, and the name too if the pod has claims of its own. It is cheap, because the pods of one template share what their specs point to.
func alike(a, b *v1.Pod) bool {
	return a.Namespace == b.Namespace && maps.Equal(a.Labels, b.Labels) && !individual(a) && !individual(b) &&
		equality.Semantic.DeepEqual(withoutConditions(a.Status), withoutConditions(b.Status)) &&
		(equality.Semantic.DeepEqual(&a.Spec, &b.Spec) || equality.Semantic.DeepEqual(cluster.WithoutToken(a.Spec), cluster.WithoutToken(b.Spec)))
}

// individual reports whether the pod has a nominated node, or claims named after it.
func individual(pod *v1.Pod) bool {
	return pod.Status.NominatedNodeName != "" || len(pod.Spec.ResourceClaims) > 0 ||
		slices.ContainsFunc(pod.Spec.Volumes, func(volume v1.Volume) bool { return volume.Ephemeral != nil })
}

// withoutConditions removes what a scheduler has reported about the pod before.
func withoutConditions(status v1.PodStatus) v1.PodStatus {
	status.Conditions = nil
	return status
}
