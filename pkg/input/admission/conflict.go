package admission

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

// findConflicts reports objects that conflict with others: a second object with the same UID, a second default PriorityClass, and a new
// object in a namespace that is being deleted. A dump may have the latter two.
func (a *admitCall) findConflicts() {
	type identity struct {
		kind string
		uid  types.UID
	}
	given, kinds := map[cluster.Ref]bool{}, map[reflect.Type]bool{reflect.TypeFor[*v1.Namespace](): true, reflect.TypeFor[*schedulingv1.PriorityClass](): true}
	for _, obj := range a.objs {
		given[cluster.RefTo(obj)] = true
		kinds[reflect.TypeOf(obj)] = true
	}
	uids, terminating := map[identity]cluster.Object{}, map[string]bool{}
	var byDefault *schedulingv1.PriorityClass
	see := func(obj cluster.Object) {
		uids[identity{cluster.KindOf(obj), obj.GetUID()}] = obj
		switch o := obj.(type) {
		case *v1.Namespace:
			terminating[o.Name] = o.Status.Phase == v1.NamespaceTerminating
		case *schedulingv1.PriorityClass:
			if o.GlobalDefault && byDefault == nil {
				byDefault = o
			}
		}
	}
	for _, obj := range a.state.Objects() {
		if kinds[reflect.TypeOf(obj)] && !given[cluster.RefTo(obj)] {
			see(obj)
		}
	}
	for _, obj := range a.objs {
		if other := uids[identity{cluster.KindOf(obj), obj.GetUID()}]; other != nil && cluster.RefTo(other) != cluster.RefTo(obj) {
			a.addProblem(obj, "metadata.uid: Invalid value: %q: is the UID of %s, too; give each its own, or leave it out", obj.GetUID(), cluster.RefTo(other).Describe())
		}
		// https://github.com/kubernetes/kubernetes/blob/v1.37.1/plugin/pkg/admission/priority/admission.go
		if class, ok := obj.(*schedulingv1.PriorityClass); ok && class.GlobalDefault && a.uncreated[cluster.RefTo(obj)] && byDefault != nil && byDefault.Name != class.Name {
			a.addProblem(obj, "PriorityClass %v is already marked as default. Only one default can exist", byDefault.Name)
		}
		see(obj)
	}
	// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go
	for _, obj := range a.objs {
		if name := obj.GetNamespace(); terminating[name] && a.uncreated[cluster.RefTo(obj)] && a.findInState(cluster.RefTo(obj)) == nil {
			a.addProblem(obj, "%s", endingNamespace(name))
		}
	}
}
