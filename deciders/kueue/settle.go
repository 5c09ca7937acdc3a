//go:build ordered

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/constants"
	utilpod "sigs.k8s.io/kueue/pkg/util/pod"
	"sigs.k8s.io/kueue/pkg/util/wait"

	"github.com/faultline/faultline/deciders/kit/api"
)

// maxRounds limits how often the controllers change objects at one moment.
const maxRounds = 1000

// settle lets controllers and scheduler act in turn until nothing changes any more.
func (m *manager) settle(ctx context.Context) error {
	for range maxRounds {
		before := m.api.Writes
		m.reconcileOnce(ctx)
		m.schedule(ctx)
		if m.api.Broken != nil || m.api.Writes == before {
			return m.api.Broken
		}
	}
	return fmt.Errorf("kueue's controllers do not come to rest: they have changed objects in %d rounds at the same moment", maxRounds)
}

// reconcileOnce reconciles every object once.
func (m *manager) reconcileOnce(ctx context.Context) {
	reconcileAll[kueue.Topology](ctx, m, m.topologies.Topologies)
	reconcileAll[kueue.ResourceFlavor](ctx, m, m.flavors)
	reconcileAll[kueue.AdmissionCheck](ctx, m, m.checks)
	reconcileAll[kueue.WorkloadPriorityClass](ctx, m, m.classes)
	reconcileAll[kueue.ClusterQueue](ctx, m, m.clusterQueues)
	reconcileAll[kueue.LocalQueue](ctx, m, m.localQueues)
	m.reconcileJobs(ctx)
	reconcileAll[kueue.Workload](ctx, m, m.workloads)
	if m.usesTopologies() {
		reconcileAll[corev1.Node](ctx, m, m.topologies.Nodes)
		reconcileAll[kueue.Workload](ctx, m, m.topologies.Ungater)
		m.topologies.DrainPods(ctx)
	}
}

// reconcilePods reconciles the pods that have a queue: one by one, or as the groups that they form.
func (m *manager) reconcilePods(ctx context.Context) {
	done := sets.New[types.NamespacedName]()
	for _, pod := range api.List[corev1.Pod](m.api) {
		key := client.ObjectKeyFromObject(pod)
		if group := utilpod.GetPodGroupName(pod); group != "" { // as podEventHandler names the group
			key = types.NamespacedName{Namespace: "group/" + pod.Namespace, Name: group}
		}
		if pod.Labels[constants.ManagedByKueueLabelKey] == "" || done.Has(key) {
			continue
		}
		done.Insert(key)
		m.reconcileKey(ctx, m.pods, key)
	}
}

// reconcile lets the controller reconcile the object as it is now.
func (m *manager) reconcile(ctx context.Context, controller reconcile.Reconciler, object client.Object) {
	m.reconcileKey(ctx, controller, client.ObjectKeyFromObject(object))
}

func (m *manager) reconcileKey(ctx context.Context, controller reconcile.Reconciler, key types.NamespacedName) {
	if m.api.Broken != nil {
		return
	}
	result, err := controller.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	if err != nil {
		m.failed(err)
	}
	if result.RequeueAfter > 0 && controller != reconcile.Reconciler(m.localQueues) { // which samples its usage for ever
		m.again(m.now.Add(result.RequeueAfter))
	}
	m.deliver(ctx)
}

// again asks for another request at the time.
func (m *manager) again(at time.Time) {
	if whole := at.Truncate(time.Second); whole.Before(at) {
		at = whole.Add(time.Second)
	}
	m.answer.AskAgain(at)
}

// failed says an error that Kueue would log before it tries again.
func (m *manager) failed(err error) {
	fmt.Fprintf(os.Stderr, "%s %v\n", m.now.Format(time.RFC3339), err)
}

// schedule runs cycles of the scheduler until no head moves.
func (m *manager) schedule(ctx context.Context) {
	for range maxRounds * maxRounds {
		m.requeues.Process(ctx)
		wait.Clock.Run()
		if m.api.Broken != nil || !m.queues.HasHeads() {
			return
		}
		writes, progress := m.api.Writes, m.queues.Progress()
		m.scheduler.Cycle(ctx)
		m.deliver(ctx)
		if m.api.Writes == writes && m.queues.Progress() == progress {
			return
		}
	}
}

// change is a write: the object as it was and as it is, nil if there is none.
type change struct{ was, is client.Object }

// observe notes a write. As from an informer, the handlers hear of it when the controller has returned.
func (m *manager) observe(_ context.Context, was, is client.Object) {
	m.changes = append(m.changes, change{was, is})
}

// deliver tells the event handlers of what was written.
func (m *manager) deliver(ctx context.Context) {
	for len(m.changes) > 0 {
		c := m.changes[0]
		m.changes = m.changes[1:]
		switch object := first(c.is, c.was).(type) {
		case *kueue.Workload:
			tell(m.workloads, c)
		case *kueue.ClusterQueue:
			tell(m.clusterQueues, c)
		case *kueue.LocalQueue:
			tell(m.localQueues, c)
		case *kueue.ResourceFlavor:
			tell(m.flavors, c)
		case *kueue.AdmissionCheck:
			tell(m.checks, c)
		case *corev1.Pod:
			if m.usesTopologies() {
				m.reconcile(ctx, m.topologies.Pods, object)
			}
		}
	}
}

func first(objects ...client.Object) client.Object {
	for _, object := range objects {
		if object != nil {
			return object
		}
	}
	return nil
}

// tell tells a handler of a change.
func tell[T client.Object](handler predicate.TypedPredicate[T], c change) {
	switch {
	case c.was == nil:
		created(handler, c.is.DeepCopyObject().(T))
	case c.is == nil:
		handler.Delete(event.TypedDeleteEvent[T]{Object: c.was.DeepCopyObject().(T)})
	default:
		handler.Update(event.TypedUpdateEvent[T]{ObjectOld: c.was.DeepCopyObject().(T), ObjectNew: c.is.DeepCopyObject().(T)})
	}
}

// created tells a handler of an object that is new to it.
func created[T client.Object](handler predicate.TypedPredicate[T], object T) {
	handler.Create(event.TypedCreateEvent[T]{Object: object})
}
