package admission

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
)

// Admit puts the objects into the state as the API server would on kubectl apply, all of them or none; the objects given are
// not changed. New ones are defaulted, admitted and get a UID and a creation time where they have none. One of the same kind,
// namespace and name as an object in the state takes its place, but keeps its UID, its creation time, what controllers have
// annotated, and its status where it brings none. The objects of one call may come in any order.
//
// The objects of a running cluster can be given as they are: an owner reference finds its owner by UID, or by kind and name
// where a UID is missing, and Deployments and pods that come without the ReplicaSets between them get those back.
//
// The notes say in plain sentences what was added that nobody gave. The error lists all problems, each in the words of the
// API server where it has some. An object that the plugins of an API server refuse, because of a RuntimeClass, a LimitRange or a
// ResourceQuota, is no problem: the state lacks it, and says so in Refused.
func Admit(s *cluster.State, objs ...cluster.Object) (next *cluster.State, notes []string, err error) {
	a := &admitting{state: s, created: s.Created, known: byRef(s), unidentified: map[cluster.Ref]bool{}, uncreated: map[cluster.Ref]bool{}}
	for _, obj := range objs {
		if !cluster.Supports(obj) {
			a.problem(obj, "a simulation knows no such kind; leave the object out")
			continue
		}
		a.add(obj)
	}
	if len(a.problems) > 0 {
		return nil, nil, errors.Join(a.problems...)
	}
	a.addNamespaces()
	a.findConflicts()
	a.resolveOwners()
	a.addPriorityClasses()
	a.addRuntimeClasses()
	a.addReplicaSets()
	a.runPlugins()
	if len(a.problems) > 0 {
		return nil, nil, errors.Join(a.problems...)
	}
	a.shareUnchanged(objs)
	with := *s.With(a.accepted()...)
	with.Created = a.created
	with.Refused = append(slices.Clip(s.Refused), a.refused...)
	a.observe(&with)
	return &with, a.notes, nil
}

// admitting is one call of Admit.
type admitting struct {
	state   *cluster.State
	created int
	// objs are copies of what was given, and what was added to it.
	objs []cluster.Object
	// known are the objects in the state.
	known map[cluster.Ref]cluster.Object
	// unidentified are the keys of the objects that were given without a UID and were new.
	unidentified map[cluster.Ref]bool
	// uncreated are the keys of those that had no creation time, so that they come from no cluster.
	uncreated map[cluster.Ref]bool
	// pods and nodes are of what the call itself brings and what is in the state.
	pods     *Pods
	quotas   *Quotas
	nodes    map[string]bool
	refused  []cluster.Refusal
	notes    []string
	problems []error
}

func byRef(s *cluster.State) map[cluster.Ref]cluster.Object {
	objs := s.Objects()
	known := make(map[cluster.Ref]cluster.Object, len(objs))
	for _, obj := range objs {
		known[cluster.RefTo(obj)] = obj
	}
	return known
}

func (a *admitting) problem(obj cluster.Object, format string, args ...any) {
	a.problems = append(a.problems, fmt.Errorf("%s: %w", cluster.RefTo(obj).Describe(), fmt.Errorf(format, args...)))
}

// copyOf returns a copy that can be changed. A new pod that runs, of which a dump has thousands, stays as it is, but for its owners' UIDs
// and the fields of its metadata: it shares the rest.
func (a *admitting) copyOf(given cluster.Object) cluster.Object {
	pod, isPod := given.(*v1.Pod)
	if !isPod || pod.UID == "" || pod.Status.Phase == "" || pod.Status.Phase == v1.PodPending || a.known[cluster.RefTo(pod)] != nil {
		return given.DeepCopyObject().(cluster.Object)
	}
	running := *pod
	running.OwnerReferences = slices.Clone(pod.OwnerReferences)
	return &running
}

// shareUnchanged replaces copies that are still as what was given by that: of a dump, nearly all are.
func (a *admitting) shareUnchanged(given []cluster.Object) {
	for i, obj := range given { // of which the copies are the first
		if reflect.DeepEqual(obj, a.objs[i]) {
			a.objs[i] = obj
		}
	}
}

// add takes in a copy of the object. One that has a UID has its defaults, too: it comes from Create or from a state.
func (a *admitting) add(given cluster.Object) {
	obj := a.copyOf(given)
	dateTaints(obj, a.known[cluster.RefTo(obj)], a.state.Now)
	if obj.GetUID() == "" {
		legacyscheme.Scheme.Default(obj)
		if cluster.Namespaced(cluster.KindOf(obj)) && obj.GetNamespace() == "" {
			obj.SetNamespace(metav1.NamespaceDefault)
		}
	}
	if obj.GetName() == "" {
		a.problem(obj, "metadata.name: required value")
		return
	}
	if old := a.known[cluster.RefTo(obj)]; old != nil {
		a.update(obj, old)
	}
	if obj.GetUID() == "" {
		a.unidentified[cluster.RefTo(obj)] = true
		a.created++
		obj.SetUID(UID(cluster.KindOf(obj), obj.GetNamespace(), obj.GetName(), a.created))
		if job, ok := obj.(*batchv1.Job); ok {
			generateSelector(job)
		}
	}
	if t := obj.GetCreationTimestamp(); t.IsZero() {
		a.uncreated[cluster.RefTo(obj)] = true
		obj.SetCreationTimestamp(a.state.Now)
	}
	if obj.GetGeneration() == 0 {
		obj.SetGeneration(1)
	}
	a.objs = append(a.objs, obj)
}
