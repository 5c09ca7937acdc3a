package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// CustomResource is an object of a kind that only a decider knows, such as a NodePool of Karpenter. Nothing else reads it.
type CustomResource struct{ unstructured.Unstructured }

// DeepCopyObject implements runtime.Object.
func (r *CustomResource) DeepCopyObject() runtime.Object {
	return &CustomResource{*r.DeepCopy()}
}

// customResources is the list of custom resources, which have several kinds.
var customResources = objectList{
	find: func(s *State, name Ref) Object {
		for _, r := range s.CustomResources {
			if RefTo(r) == name {
				return r
			}
		}
		return nil
	},
	collect: func(s *State, obj Object) bool {
		r, is := obj.(*CustomResource)
		if is {
			s.CustomResources = append(s.CustomResources, r)
		}
		return is
	},
	appendTo: func(s *State, to []Object) []Object {
		for _, r := range s.CustomResources {
			to = append(to, r)
		}
		return to
	},
	apply: func(c deriveMode, next, given *State) {
		next.CustomResources = applyMixed(c, next.CustomResources, given.CustomResources)
	},
	visit: func(before, after *State, f func(was, is Object)) {
		VisitChanges(before.CustomResources, after.CustomResources, func(was, is *CustomResource, _ int) { f(orNil(was), orNil(is)) })
	},
}
