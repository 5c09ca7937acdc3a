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

// Admit applies the objects to the state as the API server does on kubectl apply: all of them, or none if there is an error. It does not
// change the objects themselves. It defaults and admits new objects, and gives them a UID and a creation time if they have none. An object
// replaces the object of the same kind, namespace and name in the state, but keeps its UID, its creation time, the annotations of
// controllers and, if the new object has no status, its status. The objects of one call may come in any order.
//
// Admit accepts the objects of a running cluster unchanged. An owner reference finds its owner by UID, or by kind and name if it has no
// UID. If the ReplicaSets between Deployments and their pods are missing, Admit adds them.
//
// The notes are sentences about the objects that Admit added. The error lists all problems, if possible in the API server's words. It is no
// error if the API server's plugins refuse an object because of a policy, a missing class, a LimitRange or a ResourceQuota: the state then
// lacks the object and lists it in Refused.
func Admit(s *cluster.State, objs ...cluster.Object) (next *cluster.State, notes []string, err error) {
	return admit(s, false, objs)
}

// Scale applies objects with other numbers of replicas to the state, as the API server does on kubectl scale, which changes the subresource
// scale of an object. The results are those of [Admit].
func Scale(s *cluster.State, objs ...cluster.Object) (next *cluster.State, notes []string, err error) {
	return admit(s, true, objs)
}

func admit(s *cluster.State, scale bool, objs []cluster.Object) (next *cluster.State, notes []string, err error) {
	a := newAdmitCall(s)
	a.scale = scale
	for _, obj := range objs {
		if !cluster.Supports(obj) {
			a.addProblem(obj, "a simulation knows no such kind; leave the object out")
			continue
		}
		a.addCopy(obj)
	}
	if len(a.problems) > 0 {
		return nil, nil, errors.Join(a.problems...)
	}
	a.addNamespaces()
	if !a.onlyUpdates() {
		a.findConflicts()
		a.resolveOwners()
	}
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
	a.observeMutations(&with)
	return &with, a.notes, nil
}

// admitCall is one call of [Admit] or [Scale].
type admitCall struct {
	state   *cluster.State
	scale   bool
	created int
	// objs holds copies of the given objects, followed by added ones.
	objs []cluster.Object
	// byRef indexes the objects in the state, once there were enough lookups for the index to pay off.
	byRef   map[cluster.Ref]cluster.Object
	lookups int
	// unidentified holds the new objects that were given without a UID.
	unidentified map[cluster.Ref]bool
	// uncreated holds the objects that were given without a creation time, and so come from no cluster.
	uncreated map[cluster.Ref]bool
	// pods and nodes cover the objects of the call and of the state.
	pods     *Pods
	quotas   *Quotas
	nodes    map[string]*v1.Node
	refused  []cluster.Refusal
	notes    []string
	problems []error
}

func newAdmitCall(s *cluster.State) *admitCall {
	return &admitCall{state: s, created: s.Created, unidentified: map[cluster.Ref]bool{}, uncreated: map[cluster.Ref]bool{}}
}

// findInState returns the object in the state, or nil.
func (a *admitCall) findInState(name cluster.Ref) cluster.Object {
	const few = 50 // a step of a roll adds a single node to a state of thousands of objects, where an index would not pay off
	if a.lookups++; a.lookups <= few {
		return a.state.Find(name)
	}
	if a.byRef == nil {
		objs := a.state.Objects()
		a.byRef = make(map[cluster.Ref]cluster.Object, len(objs))
		for _, obj := range objs {
			a.byRef[cluster.RefTo(obj)] = obj
		}
	}
	return a.byRef[name]
}

// onlyUpdates reports whether the state has all objects with the same UIDs and owners. Then no two objects can conflict, and no owner is
// new. Questions change one object of a large cluster many times, so this saves time.
func (a *admitCall) onlyUpdates() bool {
	return !slices.ContainsFunc(a.objs, func(obj cluster.Object) bool {
		old := a.findInState(cluster.RefTo(obj))
		return old == nil || old.GetUID() != obj.GetUID() || !reflect.DeepEqual(old.GetOwnerReferences(), obj.GetOwnerReferences())
	})
}

// addProblem adds a problem of the object.
func (a *admitCall) addProblem(obj cluster.Object, format string, args ...any) {
	a.problems = append(a.problems, fmt.Errorf("%s: %w", cluster.RefTo(obj).Describe(), fmt.Errorf(format, args...)))
}

// copyForChange returns a copy that the call may change. A dump has thousands of pods, so the copy of a new pod that a cluster has admitted before
// is shallow: only its owner references and the direct fields of its metadata may be changed.
func (a *admitCall) copyForChange(given cluster.Object) cluster.Object {
	pod, isPod := given.(*v1.Pod)
	if !isPod || pod.UID == "" || !a.wasAdmitted(pod) || a.findInState(cluster.RefTo(pod)) != nil {
		return given.DeepCopyObject().(cluster.Object)
	}
	admitted := *pod
	admitted.OwnerReferences = slices.Clone(pod.OwnerReferences)
	return &admitted
}

// shareUnchanged replaces each copy that still equals the given object by that object. In a dump, nearly all copies do.
func (a *admitCall) shareUnchanged(given []cluster.Object) {
	for i, obj := range given { // objs begins with the copies of given
		if isUnchanged(obj, a.objs[i]) {
			a.objs[i] = obj
		}
	}
}

// isUnchanged reports whether a copy still equals the given object.
func isUnchanged(given, copied cluster.Object) bool {
	if pod, isPod := given.(*v1.Pod); isPod {
		is := copied.(*v1.Pod)
		if cluster.SameSlice(pod.Spec.Containers, is.Spec.Containers) { // the copy is shallow
			return reflect.DeepEqual(&pod.ObjectMeta, &is.ObjectMeta)
		}
	}
	return reflect.DeepEqual(given, copied)
}

// addCopy adds a copy of the object. An object with a UID comes from [Create] or from a state, so it already has its defaults.
func (a *admitCall) addCopy(given cluster.Object) {
	obj := a.copyForChange(given)
	if custom, is := obj.(*cluster.CustomResource); is {
		a.identifyResource(custom)
		a.objs = append(a.objs, custom)
		return
	}
	dateTaints(obj, a.findInState(cluster.RefTo(obj)), a.state.Now)
	if obj.GetUID() == "" {
		legacyscheme.Scheme.Default(obj)
		if _, param := obj.(*cluster.Param); !param && cluster.Namespaced(cluster.KindOf(obj)) && obj.GetNamespace() == "" {
			obj.SetNamespace(metav1.NamespaceDefault)
		}
	}
	if obj.GetName() == "" {
		a.addProblem(obj, "metadata.name: required value")
		return
	}
	if old := a.findInState(cluster.RefTo(obj)); old != nil {
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

// identifyResource gives a custom resource what the API server gives each object. Its decider has set its defaults.
func (a *admitCall) identifyResource(r *cluster.CustomResource) {
	if old := a.findInState(cluster.RefTo(r)); old != nil {
		r.SetUID(old.GetUID())
		r.SetCreationTimestamp(old.GetCreationTimestamp())
		r.SetGeneration(old.GetGeneration() + 1)
		return
	}
	if r.GetUID() == "" {
		a.created++
		r.SetUID(UID(r.GetKind(), r.GetNamespace(), r.GetName(), a.created))
	}
	if created := r.GetCreationTimestamp(); created.IsZero() {
		r.SetCreationTimestamp(a.state.Now)
	}
	r.SetGeneration(max(1, r.GetGeneration()))
}
