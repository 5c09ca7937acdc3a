package simulation

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// In returns the result with the objects of one namespace alone, and those of none, for reports. Nothing can continue from it: the pods of
// the other namespaces take room, too.
func (r *Result) In(namespace string) *Result {
	in := *r
	in.Initial = stateIn(r.Initial, namespace)
	given := *r.Scenario
	given.Workloads, given.Steps = objectsIn(given.Workloads, namespace), slices.Clone(given.Steps)
	for i := range given.Steps {
		given.Steps[i].Objects = objectsIn(given.Steps[i].Objects, namespace)
	}
	in.Scenario = &given
	in.Steps = slices.Clone(r.Steps)
	for i := range in.Steps {
		step := &in.Steps[i]
		step.State = stateIn(step.State, namespace)
		step.Placed = only(step.Placed, func(p placement.Placement) bool { return p.Pod.Namespace == namespace })
		step.Pending = only(step.Pending, func(p placement.Pending) bool { return p.Pod.Namespace == namespace })
		step.Preempted = only(step.Preempted, func(p placement.Preemption) bool {
			return p.Victim.Namespace == namespace || p.For.Namespace == namespace
		})
		step.Refused = only(step.Refused, func(r cluster.Refusal) bool { return r.Namespace == namespace })
		step.Rollouts = only(step.Rollouts, func(r controller.Rollout) bool { return r.Namespace == namespace })
	}
	return &in
}

func stateIn(state *cluster.State, namespace string) *cluster.State {
	return state.Without(only(state.Objects(), func(obj cluster.Object) bool { return !isIn(obj, namespace) })...)
}

func objectsIn(objects []cluster.Object, namespace string) []cluster.Object {
	return only(objects, func(obj cluster.Object) bool { return isIn(obj, namespace) })
}

// isIn reports whether the object is in the namespace or in none.
func isIn(obj cluster.Object, namespace string) bool {
	return obj.GetNamespace() == "" || obj.GetNamespace() == namespace
}

func only[T any](all []T, wanted func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !wanted(one) })
}
