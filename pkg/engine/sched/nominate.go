package sched

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// waiting holds the pods without a node as far as the scheduler has to find them: those that were tried, and those with a node
// reserved.
func (e *Engine) waiting() cache.Indexer {
	return e.informers.Core().V1().Pods().Informer().GetIndexer()
}

// reserve lets the scheduler know the nodes that are reserved for pods of the queue, and for no others, before it tries any: a
// scheduler that starts has read all pods first.
func (e *Engine) reserve(queue []*entry) error {
	for _, obj := range e.waiting().List() {
		if err := e.forget(obj.(*v1.Pod)); err != nil {
			return err
		}
	}
	for _, entry := range queue {
		if entry.Pod.Status.NominatedNodeName == "" {
			continue
		}
		if err := e.waiting().Update(entry.Pod); err != nil {
			return err
		}
		e.scheduler.SchedulingQueue.Add(e.ctx, entry.Pod)
		e.nominees[entry.Pod.UID] = entry
	}
	return nil
}

// forget takes a pod out of the scheduler's queue, with the node that is reserved for it.
func (e *Engine) forget(pod *v1.Pod) error {
	e.scheduler.SchedulingQueue.Delete(klog.FromContext(e.ctx), pod)
	delete(e.nominees, pod.UID)
	return e.waiting().Delete(pod)
}

// nominate reserves a node for the pod, or takes the reservation back where the name is empty. The queue is upstream's
// nominator; it knows the resources only of pods that it holds.
func (e *Engine) nominate(next *entry, node string) {
	was := next.Pod.Status.NominatedNodeName
	if was == node {
		return
	}
	if was != "" {
		e.change() // what others were refused for is free
	}
	e.scheduler.SchedulingQueue.Delete(klog.FromContext(e.ctx), next.Pod)
	delete(e.nominees, next.Pod.UID)
	pod := *next.Pod
	pod.Status.NominatedNodeName = node
	next.PodInfo, _ = framework.NewPodInfo(&pod)
	if node != "" {
		e.scheduler.SchedulingQueue.Add(e.ctx, &pod)
		e.nominees[pod.UID] = next
	}
}
