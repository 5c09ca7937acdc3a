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

// pendingAttempt is the last rejection among the pods of one controller. Until the cluster changes, it holds for all equal pods of the controller.
type pendingAttempt struct {
	changes int
	pending placement.Pending
}

// recordPending records why the pod got no node.
func (e *Engine) recordPending(next *queueEntry, pending placement.Pending) {
	next.pending, next.changes = pending, e.changes
	if owner := metav1.GetControllerOfNoCopy(next.Pod); owner != nil && !pending.Failed { // a plugin's error may name the pod
		e.pendingByController[owner.UID] = pendingAttempt{changes: e.changes, pending: pending}
	}
}

// pendingOfEqualPod returns the rejection of an equal pod of the same controller, if nothing has changed since.
func (e *Engine) pendingOfEqualPod(pod *v1.Pod) (placement.Pending, bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || e.foreignDecides(pod) {
		return placement.Pending{}, false
	}
	last, found := e.pendingByController[owner.UID]
	if !found || last.changes != e.changes || e.Record != nil && last.pending.Cycle == nil || !e.equalPods.areEqual(owner.UID, last.pending.Pod, pod) {
		return placement.Pending{}, false
	}
	last.pending.Pod = pod
	return last.pending, true
}

// equalPods finds pods of one controller that are alike. Pods of a dump do not share what their specs point to, so a comparison reads everything,
// and they are compared hundreds of times while they wait for the same room.
type equalPods struct {
	firstByPod        map[*v1.Pod]*v1.Pod     // by pod: the first pod that it is like
	firstByController map[types.UID][]*v1.Pod // by controller: the last few pods that are like no earlier pod
}

const (
	maxEqualPods          = 20_000 // bounds the pods in known
	maxKindsPerController = 4      // bounds the pods in first for one controller; the pods of a StatefulSet may all differ
)

// areEqual reports whether two pods of the controller are alike.
func (k *equalPods) areEqual(owner types.UID, a, b *v1.Pod) bool {
	return !isIndividual(a) && !isIndividual(b) && k.findFirst(owner, a) == k.findFirst(owner, b)
}

// findFirst returns the first known pod of the controller that the pod is like, or the pod itself.
func (k *equalPods) findFirst(owner types.UID, pod *v1.Pod) *v1.Pod {
	if known := k.firstByPod[pod]; known != nil {
		return known
	}
	if k.firstByPod == nil || len(k.firstByPod) >= maxEqualPods {
		*k = equalPods{firstByPod: map[*v1.Pod]*v1.Pod{}, firstByController: map[types.UID][]*v1.Pod{}}
	}
	kinds := k.firstByController[owner]
	for _, first := range kinds {
		if alike(first, pod) {
			k.firstByPod[pod] = first
			return first
		}
	}
	k.firstByPod[pod] = pod
	k.firstByController[owner] = append(kinds[max(0, len(kinds)+1-maxKindsPerController):len(kinds):len(kinds)], pod)
	return pod
}

// alike reports whether two pods of one controller agree in all fields that plugins read of a pod without a node. These are nearly all
// fields but the name, and also the name if the pod has its own claims. The comparison is cheap, because the pods of one template share
// what their specs point to.
func alike(a, b *v1.Pod) bool {
	return a.Namespace == b.Namespace && maps.Equal(a.Labels, b.Labels) && !isIndividual(a) && !isIndividual(b) &&
		sameStatus(withoutConditions(a.Status), withoutConditions(b.Status)) &&
		(memo.Identical(&a.Spec, &b.Spec) || equality.Semantic.DeepEqual(cluster.WithoutToken(a.Spec), cluster.WithoutToken(b.Spec)))
}

func sameStatus(a, b v1.PodStatus) bool {
	return memo.Identical(&a, &b) || equality.Semantic.DeepEqual(a, b)
}

// isIndividual reports whether the pod has a nominated node, or claims named after it.
func isIndividual(pod *v1.Pod) bool {
	return pod.Status.NominatedNodeName != "" || len(pod.Spec.ResourceClaims) > 0 ||
		slices.ContainsFunc(pod.Spec.Volumes, func(volume v1.Volume) bool { return volume.Ephemeral != nil })
}

// withoutConditions removes a scheduler's earlier reports about the pod.
func withoutConditions(status v1.PodStatus) v1.PodStatus {
	status.Conditions = nil
	return status
}

// unplacedPods lists the pods of a queue that got no node, in order, and why.
type unplacedPods struct {
	pods    []*v1.Pod
	pending []placement.Pending
	changes int
	startAt int
}

// collectUnplaced returns the pods that got no node, if another attempt would give the same answer: no choice was random, no cycle was recorded,
// and no pod has a nominated node, on which the others must leave room.
func (e *Engine) collectUnplaced(queue []*v1.Pod, pending []placement.Pending) unplacedPods {
	r := unplacedPods{pending: pending, changes: e.changes, startAt: e.startNode()}
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
		return unplacedPods{}
	}
	return r
}

// repeatUnplaced returns why none of the pods gets a node, if the last call of Place rejected exactly these pods and nothing has changed since.
func (e *Engine) repeatUnplaced(pods []*v1.Pod) ([]placement.Pending, bool) {
	last := &e.lastUnplaced
	same := len(pods) > 0 && slices.Equal(last.pods, pods) && last.changes == e.changes && last.startAt == e.startNode()
	if !same || e.random != nil || e.Record != nil {
		return nil, false
	}
	return slices.Clone(last.pending), true
}
