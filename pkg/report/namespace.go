package report

import (
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
)

// InNamespace returns the result for reports on one namespace: with its objects and those of no namespace alone. No run can continue from
// this result, since the pods of other namespaces take room, too.
func InNamespace(r *simulation.Result, namespace string) *simulation.Result {
	in := *r
	in.Initial = stateInNamespace(r.Initial, namespace)
	given := *r.Scenario
	given.Workloads, given.Steps = objectsInNamespace(given.Workloads, namespace), slices.Clone(given.Steps)
	for i := range given.Steps {
		given.Steps[i].Objects = objectsInNamespace(given.Steps[i].Objects, namespace)
	}
	in.Scenario = &given
	in.Steps = slices.Clone(r.Steps)
	for i := range in.Steps {
		step := &in.Steps[i]
		step.State = stateInNamespace(step.State, namespace)
		step.Placed = list.Where(step.Placed, func(p placement.Placement) bool { return p.Pod.Namespace == namespace })
		step.Pending = list.Where(step.Pending, func(p placement.Pending) bool { return p.Pod.Namespace == namespace })
		step.Preempted = list.Where(step.Preempted, func(p placement.Preemption) bool {
			return p.Victim.Namespace == namespace || p.For.Namespace == namespace
		})
		step.Refused = list.Where(step.Refused, func(r cluster.Refusal) bool { return r.Namespace == namespace })
		step.Rollouts = list.Where(step.Rollouts, func(r controller.Rollout) bool { return r.Namespace == namespace })
	}
	return &in
}

func stateInNamespace(state *cluster.State, namespace string) *cluster.State {
	return state.Without(list.Without(state.Objects(), func(obj cluster.Object) bool { return isInNamespace(obj, namespace) })...)
}

func objectsInNamespace(objects []cluster.Object, namespace string) []cluster.Object {
	return list.Where(objects, func(obj cluster.Object) bool { return isInNamespace(obj, namespace) })
}

// isInNamespace reports whether the object is in the namespace or in none.
func isInNamespace(obj cluster.Object, namespace string) bool {
	return obj.GetNamespace() == "" || obj.GetNamespace() == namespace
}
