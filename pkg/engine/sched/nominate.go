package sched

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// reserve gives the scheduler the nominated nodes of exactly the queue's pods, before it tries the first: a real scheduler reads all pods
// when it starts.
func (e *Engine) reserve(queue []*entry) error {
	for _, obj := range e.waiting.List() {
		if err := e.forget(obj.(*v1.Pod)); err != nil {
			return err
		}
	}
	if e.memo != nil {
		e.memo.Forget(e.state.Services)
	}
	for _, entry := range queue {
		if entry.Pod.Status.NominatedNodeName == "" {
			continue
		}
		if err := e.waiting.Update(entry.Pod); err != nil {
			return err
		}
		e.scheduler.SchedulingQueue.Add(e.ctx, entry.Pod)
		e.nominees[entry.Pod.UID], e.reserved = entry, nil
		if e.memo != nil {
			e.memo.PodNominated(entry.Pod)
		}
	}
	return nil
}

// forget removes a pod, and the node nominated for it, from the scheduler's queue.
func (e *Engine) forget(pod *v1.Pod) error {
	e.scheduler.SchedulingQueue.Delete(klog.FromContext(e.ctx), pod)
	delete(e.nominees, pod.UID)
	e.reserved = nil
	return e.waiting.Delete(pod)
}

// reserves reports whether a pod without a node has this one nominated.
func (e *Engine) reserves(node string) bool {
	if len(e.nominees) == 0 {
		return false
	}
	if e.reserved == nil {
		e.reserved = map[string]bool{}
		for _, nominee := range e.nominees {
			e.reserved[nominee.Pod.Status.NominatedNodeName] = true
		}
	}
	return e.reserved[node]
}

// nominate reserves a node for the pod, or clears the reservation if the name is empty. Upstream's queue is the nominator, and it knows the
// resources only of pods that it holds.
func (e *Engine) nominate(next *entry, node string) {
	was := next.Pod.Status.NominatedNodeName
	if was == node {
		return
	}
	if was != "" {
		e.change() // the freed room may admit pods that were rejected
	}
	e.scheduler.SchedulingQueue.Delete(klog.FromContext(e.ctx), next.Pod)
	delete(e.nominees, next.Pod.UID)
	e.reserved = nil
	pod := *next.Pod
	pod.Status.NominatedNodeName = node
	next.PodInfo, _ = framework.NewPodInfo(&pod)
	if node != "" {
		e.scheduler.SchedulingQueue.Add(e.ctx, &pod)
		e.nominees[pod.UID] = next
	}
}
