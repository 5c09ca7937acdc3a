package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// refuse records an object that the API server refuses to create or change. An error that is no refusal is a problem of the input.
func (a *admitCall) refuse(obj cluster.Object, err error) {
	switch {
	case err == nil:
	case !IsRefusal(err):
		a.addProblem(obj, "%w", err)
	default:
		refused := cluster.Refusal{Ref: cluster.RefTo(obj), Message: err.Error()}
		if refused.Kind == "Pod" && a.findInState(refused.Ref) == nil {
			refused.Pods = 1
		}
		a.refused = append(a.refused, refused)
	}
}

func (a *admitCall) isRefused(obj cluster.Object) bool {
	ref := cluster.RefTo(obj)
	return slices.ContainsFunc(a.refused, func(r cluster.Refusal) bool { return r.Ref == ref })
}

// accepted returns the objects that no plugin refuses.
func (a *admitCall) accepted() []cluster.Object {
	if len(a.refused) == 0 {
		return a.objs
	}
	return slices.DeleteFunc(slices.Clone(a.objs), a.isRefused)
}

// isNew reports whether the call creates the object. An object from a dump is not new: its cluster has created it.
func (a *admitCall) isNew(obj cluster.Object) bool {
	if pod, isPod := obj.(*v1.Pod); isPod && a.wasAdmitted(pod) {
		return false
	}
	return a.uncreated[cluster.RefTo(obj)]
}

// withCounted returns the view with the objects of the call that their cluster's quotas have already counted. For an object that the call
// changes, the old version counts.
func (a *admitCall) withCounted(view *cluster.State) *cluster.State {
	if len(view.ResourceQuotas) == 0 {
		return view
	}
	return view.With(slices.DeleteFunc(slices.Clone(a.objs), func(obj cluster.Object) bool {
		return a.isNew(obj) || a.findInState(cluster.RefTo(obj)) != nil
	})...)
}

// chargeQuotas charges a new or changed object to the quotas of its namespace.
func (a *admitCall) chargeQuotas(obj cluster.Object) {
	switch was := a.previous(obj); {
	case a.isRefused(obj):
	case was != nil:
		a.refuse(obj, a.quotas.Change(obj, was))
	case a.isNew(obj):
		a.refuse(obj, a.quotas.Admit(obj))
	}
}

// previous returns the state's version of the object if the call changes its spec, and nil otherwise.
func (a *admitCall) previous(obj cluster.Object) cluster.Object {
	was := a.findInState(cluster.RefTo(obj))
	if was == nil || was.GetGeneration() == obj.GetGeneration() {
		return nil
	}
	return was
}

// noteQuotas adds notes about the ResourceQuotas among the objects of the call.
func (a *admitCall) noteQuotas() {
	var given []*v1.ResourceQuota
	for _, obj := range a.objs {
		if limit, ok := obj.(*v1.ResourceQuota); ok {
			given = append(given, limit)
		}
	}
	notes, err := a.quotas.noteExceeded(given)
	if err != nil {
		a.problems = append(a.problems, err)
	}
	a.notes = append(a.notes, notes...)
}
