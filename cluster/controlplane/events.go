package controlplane

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
}

func newEventLog(storage Storage) (eventLog, error) {
	prefix, encoder, err := storage.locate(schema.GroupResource{Resource: "events"})
	return eventLog{prefix: prefix, encoder: encoder}, err
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

func (l *eventLog) write(to *memory.Writer, p *Plane, e event) error {
	l.count++
	now := p.clock()
	kind := v1.EventTypeNormal
	if e.warning {
		kind = v1.EventTypeWarning
	}
	found, _, err := legacyscheme.Scheme.ObjectKinds(e.about)
	if err != nil {
		return err
	}
	second := metav1.NewTime(now).Rfc3339Copy()
	obj := &v1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.about.GetNamespace(), Name: fmt.Sprintf("%s.%016x", e.about.GetName(), l.count), UID: uuid.NewUUID(), CreationTimestamp: second,
		},
		InvolvedObject: v1.ObjectReference{
			APIVersion: found[0].GroupVersion().String(), Kind: e.kind, Namespace: e.about.GetNamespace(), Name: e.about.GetName(), UID: e.about.GetUID(),
		},
		Reason: e.reason, Message: e.message, Type: kind, Source: v1.EventSource{Component: e.reporter}, ReportingController: e.reporter,
		FirstTimestamp: second, LastTimestamp: second, Count: 1,
	}
	data, err := runtime.Encode(l.encoder, obj)
	if err != nil {
		return err
	}
	to.PutFor(eventTTL, l.prefix+obj.Namespace+"/"+obj.Name, data)
	return nil
}
