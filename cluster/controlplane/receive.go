package controlplane

import (
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/faultline/faultline/cluster/memory"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/world"
)

// receive gives the world what clients have changed since the last call, and returns the keys of that.
func (p *Plane) receive(from *memory.Writer) (map[string]bool, error) {
	keys := p.changedKeys(from)
	p.seen = from.Revision()
	if len(keys) == 0 {
		return nil, nil // the time that has passed matters when something happens
	}
	p.state = world.AtTime(p.state, p.now())
	received := map[string]bool{}
	for _, key := range keys {
		received[key] = true
		if err := p.receiveKey(from, key); err != nil {
			return nil, err
		}
	}
	return received, nil
}

// now is the time at which the world gets what clients change: the cluster's, unless the world has already acted at a later moment.
func (p *Plane) now() time.Time {
	now := p.time.now().Truncate(time.Second)
	if now.Before(p.state.Now.Time) {
		return p.state.Now.Time
	}
	return now
}

// changedKeys returns the keys of the world's kinds that others have changed, in the order of their first change.
func (p *Plane) changedKeys(from *memory.Writer) []string {
	var keys []string
	seen := map[string]bool{}
	note := func(key string) {
		if !seen[key] && p.kinds.find(key) != nil && !p.isKnown(from, key) {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	if changes, ok := from.Changes(p.seen); ok {
		for i := range changes {
			note(changes[i].Key())
		}
		return keys
	}
	for _, kind := range p.kinds { // the store does not keep all changes any more
		for _, kv := range from.List(kind.prefix) {
			note(string(kv.Key))
		}
	}
	for key := range p.known {
		note(key)
	}
	slices.Sort(keys)
	return keys
}

// isKnown reports whether the world has the key's latest version.
func (p *Plane) isKnown(from *memory.Writer, key string) bool {
	kv, known := from.Get(key), p.known[key]
	if kv == nil || known == nil {
		return kv == nil && known == nil
	}
	return kv.ModRevision == known.revision
}

// receiveKey gives the world the latest version of an object.
func (p *Plane) receiveKey(from *memory.Writer, key string) error {
	kv, known := from.Get(key), p.known[key]
	if kv == nil {
		delete(p.known, key)
		p.receiveDeletion(known.stored)
		return nil
	}
	obj, err := p.kinds.find(key).decode(kv.Value)
	if err != nil {
		return err
	}
	p.known[key] = &object{obj, kv.ModRevision}
	if known != nil && known.stored.GetUID() != obj.GetUID() { // deleted, and created anew
		p.receiveDeletion(known.stored)
		known = nil
	}
	p.receiveVersion(obj.DeepCopyObject().(cluster.Object), known)
	return nil
}

// receiveDeletion takes an object that the API server has no more out of the world, with all that depends on it.
func (p *Plane) receiveDeletion(obj cluster.Object) {
	p.ages.forget(obj.GetUID())
	if pod, is := obj.(*v1.Pod); is {
		p.state = p.state.Without(pod)
		return
	}
	p.state = admission.Delete(p.state, obj)
}

// receiveVersion gives the world a new object, or another version of an object.
func (p *Plane) receiveVersion(obj cluster.Object, known *object) {
	obj.SetResourceVersion("")
	obj.SetManagedFields(nil)
	status, has := statusOf(obj), p.state.Find(cluster.RefTo(obj))
	isOwn := has != nil && known != nil && status.IsValid() && equality.Semantic.DeepEqual(status.Interface(), statusOf(known.stored).Interface())
	mapTimes(reflect.ValueOf(obj), p.time.toCluster)
	if isOwn {
		status.Set(statusOf(has)) // the world's own, which the API server has with additions
	}
	if has != nil && known != nil {
		obj.SetCreationTimestamp(has.GetCreationTimestamp())
		for _, ref := range has.GetOwnerReferences() {
			if p.absent[ref.UID] {
				obj.SetOwnerReferences(append(obj.GetOwnerReferences(), ref))
			}
		}
	}
	switch o := obj.(type) {
	case *v1.Node:
		p.ages.note(o)
		cordoned := p.receiveCordon(o, has)
		if p.kubelet.register(o, p.state.Now) || cordoned {
			p.unobserved = append(p.unobserved, cluster.RefTo(o))
		}
	case *v1.Pod:
		if o.DeletionTimestamp != nil {
			p.receiveEnd(o, has)
			return
		}
		if o.Spec.NodeName != "" {
			if o.Status.Phase == v1.PodPending && o.Status.StartTime == nil && p.state.Node(o.Spec.NodeName) != nil { // bound by a client
				obj = p.state.Containers.Start(cluster.BindPod(o, o.Spec.NodeName, p.state.Now.Time))
			}
			p.unobserved = append(p.unobserved, cluster.RefTo(o))
		}
		p.ages.note(o)
	default:
		p.ages.note(o)
		if obj.GetDeletionTimestamp() != nil && isWorkload(obj) { // until its dependents are gone nobody makes new ones
			if has != nil {
				p.state = p.state.Without(has)
			}
			return
		}
	}
	p.state = p.state.With(obj)
}

// receiveCordon adds the taint of a node that a client has cordoned, and removes that of a node that takes pods again, as the node lifecycle
// controller does. It reports whether the taints have changed.
func (p *Plane) receiveCordon(node *v1.Node, has cluster.Object) bool {
	was, _ := has.(*v1.Node)
	before := len(node.Spec.Taints)
	switch {
	case node.Spec.Unschedulable:
		cluster.Cordon(node, p.state.Now)
	case was != nil && was.Spec.Unschedulable:
		cluster.Uncordon(node)
	}
	return len(node.Spec.Taints) != before
}

// receiveEnd makes a pod end that a client has deleted.
func (p *Plane) receiveEnd(pod *v1.Pod, has cluster.Object) {
	if has == nil {
		return // its kubelet has already ended it, and a finalizer keeps the object
	}
	if has.GetDeletionTimestamp() != nil {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = has.GetDeletionTimestamp(), has.GetDeletionGracePeriodSeconds()
		p.state = p.state.With(pod)
		return
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
	p.state = admission.Terminate(p.state.With(pod), "", pod)
}

// isWorkload reports whether a controller makes other objects for this one.
func isWorkload(obj cluster.Object) bool {
	template, _ := cluster.Template(obj)
	return template != nil
}

// statusOf returns the status of an object; the zero Value if its kind has none.
func statusOf(obj cluster.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}
