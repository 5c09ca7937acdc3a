package controlplane

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/cluster/memory"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/world"
)

// eventTTL is how long the API server keeps an event, as by default.
const eventTTL = time.Hour

// eventLog writes the events with which the scheduler and the controllers say what they do, in their words.
type eventLog struct {
	prefix    string
	encoder   runtime.Encoder
	count     int // events so far; their names derive from it
	preempted int // preemptions of the current record that have an event
	record    *world.Record
	recent    map[saying]*v1.Event // the last event of each saying that the API server may still have
	most      int                  // how many there may be before those that the API server has no more go
}

// minRecent is how many events are remembered at least.
const minRecent = 1024

// saying is what an event says, and of what.
type saying struct {
	about           types.UID
	reason, message string
}

func newEventLog(storage Storage) (eventLog, error) {
	prefix, encoder, err := storage.locate(schema.GroupResource{Resource: "events"})
	return eventLog{prefix: prefix, encoder: encoder, recent: map[saying]*v1.Event{}, most: minRecent}, err
}

// event is what an event says.
type event struct {
	about                           cluster.Object
	kind, reason, message, reporter string
	warning                         bool
}

// publish writes the events of a change from one state to the next.
func (l *eventLog) publish(to *memory.Writer, p *Plane, before, after *cluster.State, record *world.Record) error {
	var problem error
	write := func(e event) {
		if err := l.write(to, p, e); problem == nil {
			problem = err
		}
	}
	cluster.VisitChanges(before.ReplicaSets, after.ReplicaSets, func(was, is *appsv1.ReplicaSet, _ int) {
		if e := scalingEvent(after, was, is); e != nil {
			write(*e)
		}
	})
	cluster.VisitChanges(before.Pods, after.Pods, func(was, is *v1.Pod, _ int) {
		if is == nil || was == nil && cluster.FromDump(is) {
			return
		}
		if was == nil {
			if owner := findController(after, is); owner != nil {
				kind := cluster.KindOf(owner)
				write(event{owner, kind, "SuccessfulCreate", "Created pod: " + is.Name, strings.ToLower(kind) + "-controller", false})
			}
		}
		if is.Spec.NodeName != "" && (was == nil || was.Spec.NodeName == "") {
			write(event{is, "Pod", "Scheduled", fmt.Sprintf("Successfully assigned %s/%s to %s", is.Namespace, is.Name, is.Spec.NodeName), v1.DefaultSchedulerName, false})
		}
	})
	if l.record != record {
		l.record, l.preempted = record, 0
	}
	for _, preemption := range record.Preempted[l.preempted:] {
		write(event{preemption.Victim, "Pod", "Preempted", fmt.Sprintf("Preempted by pod %s on node %s", preemption.For.UID, preemption.Node), v1.DefaultSchedulerName, false})
	}
	l.preempted = len(record.Preempted)
	return problem
}

// scalingEvent returns the event that a Deployment has scaled a ReplicaSet, or nil if none has.
func scalingEvent(state *cluster.State, was, is *appsv1.ReplicaSet) *event {
	if is == nil {
		return nil
	}
	from, now, direction := int32(0), ptr.Deref(is.Spec.Replicas, 1), "up"
	if was != nil {
		from = ptr.Deref(was.Spec.Replicas, 1)
	}
	if now < from {
		direction = "down"
	}
	deployment, found := findController(state, is).(*appsv1.Deployment)
	if !found || now == from {
		return nil
	}
	return &event{deployment, "Deployment", "ScalingReplicaSet", fmt.Sprintf("Scaled %s replica set %s from %d to %d", direction, is.Name, from, now), "deployment-controller", false}
}

// findController returns the object's controller, or nil if the state lacks it.
func findController(state *cluster.State, obj cluster.Object) cluster.Object {
	owner := metav1.GetControllerOfNoCopy(obj)
	if owner == nil {
		return nil
	}
	return findObject(state, cluster.Ref{Kind: owner.Kind, Namespace: obj.GetNamespace(), Name: owner.Name})
}

// findObject returns the object, or nil if the API server cannot have it: the state lacks it, or has it only as the owner that its pods name.
func findObject(state *cluster.State, ref cluster.Ref) cluster.Object {
	found := state.Find(ref)
	if _, unknown := found.(*cluster.UnknownOwner); unknown {
		return nil
	}
	return found
}

// failedScheduling writes that a pod has no node.
func (l *eventLog) failedScheduling(to *memory.Writer, p *Plane, pod *v1.Pod, message string) error {
	return l.write(to, p, event{pod, "Pod", "FailedScheduling", message, v1.DefaultSchedulerName, true})
}

// write writes an event or, if the same has been said within the last hour, counts it once more.
func (l *eventLog) write(to *memory.Writer, p *Plane, e event) error {
	now, said := metav1.NewTime(p.time.clock()).Rfc3339Copy(), saying{e.about.GetUID(), e.reason, e.message}
	obj := &v1.Event{}
	t := times{first: p.at.Time}
	if before := l.recent[said]; before != nil && to.Get(l.key(before)) != nil {
		obj = before.DeepCopy()
		t, _ = p.ages.find(before.UID)
	} else if err := l.begin(obj, e, now); err != nil {
		return err
	}
	t.last = p.at.Time
	obj.Count++
	obj.LastTimestamp = now
	data, err := runtime.Encode(l.encoder, obj)
	if err != nil {
		return err
	}
	to.PutFor(eventTTL, l.key(obj), data)
	p.ages.set(obj.UID, t)
	l.recent[said] = obj
	if len(l.recent) > l.most {
		for said, obj := range l.recent {
			if to.Get(l.key(obj)) == nil {
				p.ages.forget(obj.UID)
				delete(l.recent, said)
			}
		}
		l.most = max(minRecent, 2*len(l.recent))
	}
	return nil
}

// begin makes a new event.
func (l *eventLog) begin(obj *v1.Event, e event, now metav1.Time) error {
	l.count++
	found, _, err := legacyscheme.Scheme.ObjectKinds(e.about)
	if err != nil {
		return err
	}
	obj.ObjectMeta = metav1.ObjectMeta{
		Namespace: cmp.Or(e.about.GetNamespace(), v1.NamespaceDefault), Name: fmt.Sprintf("%s.%016x", e.about.GetName(), l.count), UID: uuid.NewUUID(), CreationTimestamp: now,
	}
	obj.InvolvedObject = v1.ObjectReference{
		APIVersion: found[0].GroupVersion().String(), Kind: e.kind, Namespace: e.about.GetNamespace(), Name: e.about.GetName(), UID: e.about.GetUID(),
	}
	obj.Reason, obj.Message, obj.Type, obj.Source, obj.ReportingController = e.reason, e.message, v1.EventTypeNormal, v1.EventSource{Component: e.reporter}, e.reporter
	if e.warning {
		obj.Type = v1.EventTypeWarning
	}
	obj.FirstTimestamp = now
	return nil
}

// key returns the key under which the API server keeps an event.
func (l *eventLog) key(obj *v1.Event) string { return l.prefix + obj.Namespace + "/" + obj.Name }
