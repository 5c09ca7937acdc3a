package sched

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/faultline/faultline/pkg/engine/memo"
)

// enqueueNominated tells the scheduler the nominated nodes of exactly the pods in the queue, before the first attempt: a real scheduler reads all
// pods when it starts.
func (e *Engine) enqueueNominated(queue []*queueEntry) error {
	for _, obj := range e.waiting.List() {
		if err := e.dequeue(obj.(*v1.Pod)); err != nil {
			return err
		}
	}
	if e.memo != nil {
		e.memo.DropUnusedKeys(e.state.Services)
	}
	for _, entry := range queue {
		if entry.Pod.Status.NominatedNodeName == "" {
			continue
		}
		if err := e.waiting.Update(entry.Pod); err != nil {
			return err
		}
		e.scheduler.SchedulingQueue.Add(e.ctx, entry.Pod)
		e.nominees[entry.Pod.UID], e.reservedVersions = entry, nil
		if e.memo != nil {
			e.memo.PodNominated(entry.Pod)
		}
	}
	return nil
}

// dequeue removes a pod, and the node nominated for it, from the scheduler's queue.
func (e *Engine) dequeue(pod *v1.Pod) error {
	e.scheduler.SchedulingQueue.Delete(klog.FromContext(e.ctx), pod)
	delete(e.nominees, pod.UID)
	e.reservedVersions = nil
	return e.waiting.Delete(pod)
}

// reservation lists the Pending pods that have a node nominated. No other pods on the node ever had the same version.
type reservation struct {
	pods    []*v1.Pod // in the order of their UIDs
	version uint32
	infos   []fwk.PodInfo // of the pods, as the scheduler's queue returns them; nil: not asked for
}

// nominator is the scheduler's queue as filters see it. The queue copies the pods that have a node nominated for each filter of each pod, and
// the scheduler then sums up the requests of each copy. The nominator gives out the same copies until other pods have the node nominated.
type nominator struct {
	fwk.PodNominator
	engine *Engine
}

// NominatedPodsForNode returns the Pending pods that have the node nominated.
func (n nominator) NominatedPodsForNode(node string) []fwk.PodInfo {
	if n.engine.reservationVersion(node) == 0 {
		return n.PodNominator.NominatedPodsForNode(node)
	}
	known := n.engine.reservations[node]
	if known.infos == nil {
		known.infos = n.PodNominator.NominatedPodsForNode(node)
		n.engine.reservations[node] = known
	}
	return known.infos
}

// reservationVersion returns the version of the node's reservation, or 0 if no Pending pod has the node nominated.
func (e *Engine) reservationVersion(node string) uint32 {
	if len(e.nominees) == 0 {
		return 0
	}
	if e.reservedVersions == nil {
		e.reservedVersions = map[string]uint32{}
		on := map[string][]*v1.Pod{}
		for _, nominee := range e.nominees {
			on[nominee.Pod.Status.NominatedNodeName] = append(on[nominee.Pod.Status.NominatedNodeName], nominee.Pod)
		}
		for node, pods := range on {
			slices.SortFunc(pods, func(a, b *v1.Pod) int { return cmp.Compare(a.UID, b.UID) })
			if !slices.EqualFunc(e.reservations[node].pods, pods, sameNominee) {
				e.lastReservation++
				e.reservations[node] = reservation{pods: pods, version: e.lastReservation}
			}
			e.reservedVersions[node] = e.reservations[node].version
		}
	}
	return e.reservedVersions[node]
}

// sameNominee reports whether two versions of a pod look the same to filters on the node that is nominated for the pod.
func sameNominee(a, b *v1.Pod) bool {
	return a == b || a.UID == b.UID && memo.Identical(&a.Spec, &b.Spec) && maps.Equal(a.Labels, b.Labels)
}

// nominate reserves a node for the pod, or clears the reservation if the name is empty. Upstream's queue is the nominator, and it knows the
// requests only of pods that it holds.
func (e *Engine) nominate(next *queueEntry, node string) {
	was := next.Pod.Status.NominatedNodeName
	if was == node {
		return
	}
	if was != "" {
		e.countChange() // the freed room may admit pods that were rejected
	}
	e.scheduler.SchedulingQueue.Delete(klog.FromContext(e.ctx), next.Pod)
	delete(e.nominees, next.Pod.UID)
	e.reservedVersions = nil
	pod := *next.Pod
	pod.Status.NominatedNodeName = node
	next.PodInfo, _ = framework.NewPodInfo(&pod)
	if node != "" {
		e.scheduler.SchedulingQueue.Add(e.ctx, &pod)
		e.nominees[pod.UID] = next
	}
}
