package controller

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/faultline/faultline/pkg/cluster"
)

// The tests named IsUpstreams compare one sync of upstream's own controller with one sync here, in some thousands of random worlds, which
// are the same in every run.

var worlds = flag.Uint("worlds", 500, "how many worlds to compare with upstream")

// upstream is one of upstream's controllers, and records its requests to the API server.
type upstream struct {
	t       *testing.T
	client  *fake.Clientset
	clock   *clocktesting.FakeClock
	owner   runtime.Object // whose sync it is
	actions *outcome
	mu      sync.Mutex
}

// outcome is the result of a sync.
type outcome struct {
	// Created, Deleted and Changed are names or, for a new pod with a generated name, a description. Changed are objects that are adopted,
	// released or lose a finalizer.
	Created, Deleted, Changed []string
	// Status has, by object, the fields that the sync has written, as JSON.
	Status map[string]string
}

func (o *outcome) sorted() *outcome {
	for _, names := range [][]string{o.Created, o.Deleted, o.Changed} {
		slices.Sort(names)
	}
	o.Changed = slices.Compact(o.Changed)
	return o
}

// newUpstream returns a client whose API server accepts every request.
func newUpstream(t *testing.T) *upstream {
	u := &upstream{t: t, client: &fake.Clientset{}, clock: clocktesting.NewFakeClock(cluster.Epoch.Time)}
	u.client.AddReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		u.mu.Lock()
		defer u.mu.Unlock()
		switch action := action.(type) {
		case clienttesting.CreateActionImpl:
			u.actions.Created = append(u.actions.Created, describeCreated(action.Object))
			return true, action.Object, nil
		case clienttesting.GetActionImpl:
			return true, u.owner, nil
		case clienttesting.UpdateActionImpl:
			object := action.Object.(metav1.Object)
			if object.GetUID() != "" { // one that this sync has made is as it will be after the next
				u.actions.Status[object.GetName()] = describeWritten(action.Object)
			}
			return true, action.Object, nil
		case clienttesting.DeleteActionImpl:
			u.actions.Deleted = append(u.actions.Deleted, action.Name)
			return true, nil, nil
		case clienttesting.PatchActionImpl:
			u.actions.Changed = append(u.actions.Changed, action.Name)
			switch action.GetResource().Resource {
			case "replicasets":
				return true, &appsv1.ReplicaSet{}, nil
			case "controllerrevisions":
				return true, &appsv1.ControllerRevision{}, nil
			}
			return true, &v1.Pod{}, nil
		}
		return false, nil, nil
	})
	return u
}

// field returns an unexported field of upstream's controller, which upstream uses only in its own tests.
func field[T any](controller any, name string) *T {
	return (*T)(reflect.ValueOf(controller).Elem().FieldByName(name).Addr().UnsafePointer())
}

// sync runs one sync of upstream's controller.
func (u *upstream) sync(controller any, object cluster.Object) *outcome {
	u.t.Helper()
	u.owner, u.actions = object, &outcome{Status: map[string]string{}}
	handler := *field[func(context.Context, string) error](controller, "syncHandler")
	if err := handler(context.Background(), object.GetNamespace()+"/"+object.GetName()); err != nil {
		u.t.Fatal(err)
	}
	return u.actions.sorted()
}

// run lets upstream's controller work on its queue, as if its caches had synced, and returns a function that enqueues an object.
func (u *upstream) run(controller any, run func(ctx context.Context, workers int), synced ...string) func(cluster.Object) {
	for _, name := range synced {
		*field[cache.InformerSynced](controller, name) = func() bool { return true }
	}
	u.client.PrependReactor("*", "events", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &v1.Event{}, nil })
	ctx, stop := context.WithCancel(context.Background())
	u.t.Cleanup(stop)
	go run(ctx, 1)
	queue := *field[workqueue.TypedRateLimitingInterface[string]](controller, "queue")
	return func(obj cluster.Object) { queue.Add(obj.GetNamespace() + "/" + obj.GetName()) }
}

// setStore replaces the objects in a store from which upstream's controllers read.
func setStore[T any](t *testing.T, informer cache.SharedIndexInformer, objects ...T) {
	var all []any
	for _, object := range objects {
		all = append(all, object)
	}
	if err := informer.GetIndexer().Replace(all, ""); err != nil {
		t.Fatal(err)
	}
}

// describeCreated describes a new object, so that it differs from others of its owner. Upstream sets a claim's owner only in the sync after the one
// that creates the claim.
func describeCreated(object runtime.Object) string {
	switch object := object.(type) {
	case *v1.Pod:
		node, _ := daemonutil.GetTargetNodeName(object)
		return fmt.Sprint(cmp.Or(object.GenerateName, object.Name), object.Spec.Hostname, node, object.Labels, object.Annotations, object.Finalizers, object.OwnerReferences[0].Name)
	case *v1.PersistentVolumeClaim:
		return object.Name
	}
	return describeWritten(object)
}

// describeWritten returns the fields that a sync writes in an object: its size, annotations and status. The times of a Deployment's conditions are
// left out, since upstream takes them from the machine's clock.
func describeWritten(object runtime.Object) string {
	var parts []any
	switch object := object.(type) {
	case *batchv1.Job:
		status := *object.Status.DeepCopy()
		if status.UncountedTerminatedPods != nil && len(status.UncountedTerminatedPods.Succeeded)+len(status.UncountedTerminatedPods.Failed) == 0 {
			status.UncountedTerminatedPods = nil
		}
		for i := range status.Conditions {
			if condition := &status.Conditions[i]; condition.Reason == batchv1.JobReasonPodFailurePolicy {
				condition.Message = "" // names any of the pods that fail the Job, in upstream the first of a map
			}
		}
		parts = []any{status}
	case *appsv1.ReplicaSet:
		status := object.Status
		status.TerminatingReplicas = nil // which is left out here
		parts = []any{object.Name, object.Labels, object.Annotations, object.Spec.Replicas, object.Spec.MinReadySeconds, status}
	case *appsv1.Deployment:
		status := *object.Status.DeepCopy()
		status.TerminatingReplicas = nil
		for i := range status.Conditions {
			status.Conditions[i].LastUpdateTime, status.Conditions[i].LastTransitionTime = metav1.Time{}, metav1.Time{}
		}
		parts = []any{object.Annotations, status}
	case *appsv1.DaemonSet:
		parts = []any{object.Status}
	case *appsv1.StatefulSet:
		parts = []any{object.Status}
	case *v1.ReplicationController:
		parts = []any{object.Name, object.Labels, object.Annotations, object.Spec.Replicas, object.Spec.MinReadySeconds, object.Status}
	case *v1.PersistentVolumeClaim:
		parts = []any{object.Name, object.Labels, object.OwnerReferences}
	case *v1.Pod:
		parts = []any{object.Labels, object.Spec.Volumes}
	case *appsv1.ControllerRevision:
		parts = []any{object.Name, object.Labels, object.Data, object.Revision}
	}
	var text bytes.Buffer
	for _, part := range parts {
		data, err := json.Marshal(part)
		if err != nil {
			panic(err)
		}
		text.Write(data)
	}
	return text.String()
}

// outcomeOf returns the result of a pass.
func outcomeOf(p *pass) *outcome {
	o := &outcome{Status: map[string]string{}}
	known := map[string]cluster.Object{}
	for _, obj := range p.Objects() {
		known[string(obj.GetUID())] = obj
	}
	changes := func(obj cluster.Object) bool {
		was := known[string(obj.GetUID())]
		return len(was.GetFinalizers()) != len(obj.GetFinalizers()) || len(was.GetOwnerReferences()) != len(obj.GetOwnerReferences())
	}
	for _, obj := range p.changed {
		was := known[string(obj.GetUID())]
		if was == nil {
			o.Created = append(o.Created, describeCreated(obj))
			delete(o.Status, obj.GetName())
			continue
		}
		_, isClaim := obj.(*v1.PersistentVolumeClaim) // which is adopted by an update
		adopted := !isClaim && changes(obj)
		if adopted {
			o.Changed = append(o.Changed, obj.GetName())
		}
		if now := describeWritten(obj); !adopted || now != describeWritten(was) {
			o.Status[obj.GetName()] = now
		}
	}
	for _, pod := range p.ending {
		o.Deleted = append(o.Deleted, pod.Name)
		if changes(pod) {
			o.Changed = append(o.Changed, pod.Name)
		}
	}
	for _, obj := range p.deleted {
		if _, isPod := obj.(*v1.Pod); isPod { // it had only waited for its finalizer
			o.Changed = append(o.Changed, obj.GetName())
		} else {
			o.Deleted = append(o.Deleted, obj.GetName())
		}
	}
	return o.sorted()
}

// unchanged leaves out objects that a sync has written without a change.
func (o *outcome) unchanged(was cluster.Object) *outcome {
	if o.Status[was.GetName()] == describeWritten(was) {
		delete(o.Status, was.GetName())
	}
	return o
}

// newPass returns a pass of controllers that remember nothing.
func newPass(s *cluster.State) *pass {
	c := &Controllers{}
	return &pass{Controllers: c, State: s, created: s.Created, owned: c.ownership(s)}
}

// describe prints a world in which the two results differ.
func describe(owners []cluster.Object, pods []*v1.Pod) string {
	var text strings.Builder
	for _, obj := range append(owners, objects(pods)...) {
		data, err := json.Marshal(obj)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&text, "%s\n", data)
	}
	return text.String()
}

func objects[T cluster.Object](all []T) []cluster.Object {
	var objs []cluster.Object
	for _, obj := range all {
		objs = append(objs, obj)
	}
	return objs
}

func secondsAgo(s *cluster.State, seconds int) metav1.Time {
	return metav1.NewTime(s.Now.Add(-time.Duration(seconds) * time.Second))
}
