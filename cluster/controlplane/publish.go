package controlplane

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/cluster/memory"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/world"
)

// publish gives the API server what the world has changed from one state to the next, in an order that a real cluster could show: first what is
// new, owners before what they own; then what has changed; then what is gone. The objects with the received keys came from the API server, which
// has them already.
func (p *Plane) publish(to *memory.Writer, before, after *cluster.State, record *world.Record, received map[string]bool) error {
	p.at = after.Now
	var created, changed, gone []cluster.Object
	before.VisitChanges(after, func(was, is cluster.Object) {
		switch kind := p.kinds[kindOf(was, is)]; {
		case kind == nil: // the API server lacks it
		case is == nil:
			gone = append(gone, was)
		case received[kind.key(is)]:
		case was == nil || was.GetUID() != is.GetUID() || p.known[kind.key(is)] == nil:
			created = append(created, is)
		default:
			changed = append(changed, is)
		}
	})
	order := func(a, b cluster.Object) int {
		return cmp.Compare(p.kinds[kindOf(a, nil)].order, p.kinds[kindOf(b, nil)].order)
	}
	slices.SortStableFunc(created, order)
	slices.SortStableFunc(gone, func(a, b cluster.Object) int { return order(b, a) })
	for _, obj := range created {
		if err := p.create(to, obj); err != nil {
			return err
		}
	}
	for _, obj := range changed {
		if err := p.put(to, obj); err != nil {
			return err
		}
	}
	for _, obj := range gone {
		if err := p.remove(to, obj); err != nil {
			return err
		}
	}
	if err := p.publishMessages(to, after, record); err != nil {
		return err
	}
	if err := p.publishRefusals(to, before, after); err != nil {
		return err
	}
	return p.events.publish(to, p, before, after, record)
}

// kindOf returns the kind of whichever object is not nil. It is "" for an owner that the input lacks, whatever kind its pods say that it is of.
func kindOf(a, b cluster.Object) string {
	if a == nil {
		a = b
	}
	if _, unknown := a.(*cluster.UnknownOwner); unknown {
		return ""
	}
	return cluster.KindOf(a)
}

// create stores a new object. A pod that already has a node is first stored without it, as its controller has created it, and then as the
// scheduler has bound it, so that nobody who watches sees a pod come out of nothing.
func (p *Plane) create(to *memory.Writer, obj cluster.Object) error {
	if known := p.known[p.kinds[cluster.KindOf(obj)].key(obj)]; known != nil {
		if known.stored.GetUID() == obj.GetUID() {
			return nil // the API server had it before the world
		}
		if err := p.remove(to, known.stored); err != nil { // the pod of a StatefulSet that has the same name
			return err
		}
	}
	if pod, is := obj.(*v1.Pod); is && pod.Spec.NodeName != "" && !cluster.FromDump(pod) {
		waiting := *pod
		waiting.Spec.NodeName = ""
		waiting.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: pod.Status.QOSClass}
		if err := p.put(to, &waiting); err != nil {
			return err
		}
	}
	return p.put(to, obj)
}

// put stores an object as the API server is to have it.
func (p *Plane) put(to *memory.Writer, obj cluster.Object) error {
	key := p.kinds[cluster.KindOf(obj)].key(obj)
	next := obj.DeepCopyObject().(cluster.Object)
	next.SetOwnerReferences(slices.DeleteFunc(next.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return p.absent[ref.UID] }))
	p.kubelet.complete(next, p)
	p.addFailure(next)
	p.ages.note(next)
	mapTimes(reflect.ValueOf(next), func(at time.Time) time.Time { return p.time.toClock(at).Truncate(time.Second) })
	if known := p.known[key]; known != nil {
		was := known.stored
		next.SetManagedFields(was.GetManagedFields())
		next.SetCreationTimestamp(was.GetCreationTimestamp())
		if was.GetDeletionTimestamp() != nil {
			next.SetDeletionTimestamp(was.GetDeletionTimestamp())
			next.SetDeletionGracePeriodSeconds(was.GetDeletionGracePeriodSeconds())
		}
	}
	next.SetResourceVersion("")
	return p.write(to, key, next)
}

// write stores an object under its key.
func (p *Plane) write(to *memory.Writer, key string, obj cluster.Object) error {
	data, err := p.kinds[cluster.KindOf(obj)].encode(obj)
	if err != nil {
		return err
	}
	p.known[key] = &object{obj, to.Put(key, data)}
	return nil
}

// remove deletes an object that the world has no more, unless a finalizer of somebody else keeps it.
func (p *Plane) remove(to *memory.Writer, obj cluster.Object) error {
	key := p.kinds[cluster.KindOf(obj)].key(obj)
	known := p.known[key]
	if known == nil || known.stored.GetUID() != obj.GetUID() {
		return nil
	}
	p.ages.forget(obj.GetUID())
	delete(p.messages, obj.GetUID())
	delete(p.kubelet.addresses, obj.GetUID())
	if held := slices.DeleteFunc(slices.Clone(known.stored.GetFinalizers()), isWorlds); len(held) > 0 {
		return p.keepForFinalizers(to, key, known.stored)
	}
	delete(p.known, key)
	to.Delete(key)
	return nil
}

// keepForFinalizers leaves an object that has ended to those whose finalizers it has. The API server deletes it with the last of them.
func (p *Plane) keepForFinalizers(to *memory.Writer, key string, stored cluster.Object) error {
	kept := stored.DeepCopyObject().(cluster.Object)
	if kept.GetDeletionTimestamp() == nil {
		kept.SetDeletionTimestamp(new(metav1.NewTime(p.time.clock()).Rfc3339Copy()))
	}
	kept.SetDeletionGracePeriodSeconds(new(int64(0)))
	return p.write(to, key, kept)
}

// isWorlds reports whether the world looks after the finalizer.
func isWorlds(finalizer string) bool { return finalizer == batchv1.JobTrackingFinalizer }

// publishObserved stores the nodes and pods that clients have changed, with what their kubelets report of them.
func (p *Plane) publishObserved(to *memory.Writer) error {
	refs := p.unobserved
	p.unobserved = nil
	for _, ref := range refs {
		if pod := p.state.Find(ref); pod != nil && p.known[p.kinds[ref.Kind].key(pod)] != nil {
			if err := p.put(to, pod); err != nil {
				return err
			}
		}
	}
	return nil
}

// publishMessages writes why pods wait for a node into the pods' conditions.
func (p *Plane) publishMessages(to *memory.Writer, state *cluster.State, record *world.Record) error {
	waits := map[types.UID]string{}
	for _, pending := range record.Pending {
		if pending.Message != "" {
			waits[pending.Pod.UID] = pending.Message
		}
	}
	if len(waits) == 0 {
		return nil
	}
	for _, pod := range state.Pods {
		message, is := waits[pod.UID]
		if !is || pod.Spec.NodeName != "" || p.messages[pod.UID] == message {
			continue
		}
		p.messages[pod.UID] = message
		if err := p.put(to, pod); err != nil {
			return err
		}
		if err := p.events.failedScheduling(to, p, pod, message); err != nil {
			return err
		}
	}
	return nil
}
