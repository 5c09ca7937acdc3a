package sched

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/memo"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// attempt is the last rejection among the pods of one controller. Until the cluster changes, it holds for all equal pods of the controller.
type attempt struct {
	changes int
	pending placement.Pending
}

// refuse records why the pod got no node.
func (e *Engine) refuse(next *entry, pending placement.Pending) {
	next.pending, next.changes = pending, e.changes
	if owner := metav1.GetControllerOfNoCopy(next.Pod); owner != nil && !pending.Failed { // a plugin's error may name the pod
		e.attempts[owner.UID] = attempt{changes: e.changes, pending: pending}
	}
}

// refusedAlike returns the rejection of an equal pod of the same controller, if nothing has changed since.
func (e *Engine) refusedAlike(pod *v1.Pod) (placement.Pending, bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || e.foreign(pod) {
		return placement.Pending{}, false
	}
	last, found := e.attempts[owner.UID]
	if !found || last.changes != e.changes || e.Record != nil && last.pending.Cycle == nil || !e.kin.same(owner.UID, last.pending.Pod, pod) {
		return placement.Pending{}, false
	}
	last.pending.Pod = pod
	return last.pending, true
}

// kin finds pods of one controller that are alike. Pods of a dump do not share what their specs point to, so a comparison reads everything,
// and they are compared hundreds of times while they wait for the same room.
type kin struct {
	known map[*v1.Pod]*v1.Pod     // by pod: the first pod that it is like
	first map[types.UID][]*v1.Pod // by controller: the last few pods that are like no earlier pod
}

const (
	mostKin   = 20_000 // bounds the pods in known
	mostKinds = 4      // bounds the pods in first for one controller; the pods of a StatefulSet may all differ
)

// same reports whether two pods of the controller are alike.
func (k *kin) same(owner types.UID, a, b *v1.Pod) bool {
	return !individual(a) && !individual(b) && k.firstLike(owner, a) == k.firstLike(owner, b)
}

// firstLike returns the first known pod of the controller that the pod is like, or the pod itself.
func (k *kin) firstLike(owner types.UID, pod *v1.Pod) *v1.Pod {
	if known := k.known[pod]; known != nil {
		return known
	}
	if k.known == nil || len(k.known) >= mostKin {
		*k = kin{known: map[*v1.Pod]*v1.Pod{}, first: map[types.UID][]*v1.Pod{}}
	}
	kinds := k.first[owner]
	for _, first := range kinds {
		if alike(first, pod) {
			k.known[pod] = first
			return first
		}
	}
	k.known[pod] = pod
	k.first[owner] = append(kinds[max(0, len(kinds)+1-mostKinds):len(kinds):len(kinds)], pod)
	return pod
}

// alike reports whether two pods of one controller agree in all fields that plugins read of a pod without a node. These are nearly all
// fields but the name, and also the name if the pod has its own claims. The comparison is cheap, because the pods of one template share
// what their specs point to.
func alike(a, b *v1.Pod) bool {
	return a.Namespace == b.Namespace && maps.Equal(a.Labels, b.Labels) && !individual(a) && !individual(b) &&
		sameStatus(withoutConditions(a.Status), withoutConditions(b.Status)) &&
		(memo.Identical(&a.Spec, &b.Spec) || equality.Semantic.DeepEqual(cluster.WithoutToken(a.Spec), cluster.WithoutToken(b.Spec)))
}

func sameStatus(a, b v1.PodStatus) bool {
	return memo.Identical(&a, &b) || equality.Semantic.DeepEqual(a, b)
}

// individual reports whether the pod has a nominated node, or claims named after it.
func individual(pod *v1.Pod) bool {
	return pod.Status.NominatedNodeName != "" || len(pod.Spec.ResourceClaims) > 0 ||
		slices.ContainsFunc(pod.Spec.Volumes, func(volume v1.Volume) bool { return volume.Ephemeral != nil })
}

// withoutConditions removes a scheduler's earlier reports about the pod.
func withoutConditions(status v1.PodStatus) v1.PodStatus {
	status.Conditions = nil
	return status
}

// rejected lists the pods of a queue that got no node, in order, and why.
type rejected struct {
	pods    []*v1.Pod
	pending []placement.Pending
	changes int
	startAt int
}

// rejected returns the pods that got no node, if another attempt would give the same answer: no choice was random, no cycle was recorded,
// and no pod has a nominated node, on which the others must leave room.
func (e *Engine) rejected(queue []*v1.Pod, pending []placement.Pending) rejected {
	r := rejected{pending: pending, changes: e.changes, startAt: e.startNode()}
	without := make(map[*v1.Pod]bool, len(pending))
	for _, p := range pending {
		without[p.Pod] = true
	}
	for _, pod := range queue {
		if without[pod] {
			r.pods = append(r.pods, pod)
		}
	}
	if e.random != nil || e.Record != nil || e.startMoved || len(e.nominees) > 0 || len(r.pods) < len(pending) {
		return rejected{}
	}
	return r
}

// again returns why none of the pods gets a node, if the last call of Place rejected exactly these pods and nothing has changed since.
func (e *Engine) again(pods []*v1.Pod) ([]placement.Pending, bool) {
	last := &e.last
	same := len(pods) > 0 && slices.Equal(last.pods, pods) && last.changes == e.changes && last.startAt == e.startNode()
	if !same || e.random != nil || e.Record != nil {
		return nil, false
	}
	return slices.Clone(last.pending), true
}
