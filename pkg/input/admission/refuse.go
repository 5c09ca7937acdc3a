package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// refuse takes note of an object that an API server would not create, or not change so. Any other error is a problem of the input.
func (a *admitting) refuse(obj cluster.Object, err error) {
	switch {
	case err == nil:
	case !Refused(err):
		a.problem(obj, "%w", err)
	default:
		refused := cluster.Refusal{Ref: cluster.RefTo(obj), Message: err.Error()}
		if refused.Kind == "Pod" && a.known[refused.Ref] == nil {
			refused.Pods = 1
		}
		a.refused = append(a.refused, refused)
	}
}

func (a *admitting) isRefused(obj cluster.Object) bool {
	ref := cluster.RefTo(obj)
	return slices.ContainsFunc(a.refused, func(r cluster.Refusal) bool { return r.Ref == ref })
}

// accepted returns the objects that are created or changed.
func (a *admitting) accepted() []cluster.Object {
	if len(a.refused) == 0 {
		return a.objs
	}
	return slices.DeleteFunc(slices.Clone(a.objs), a.isRefused)
}

// isNew reports whether the call creates the object. One that a cluster has created is as it is.
func (a *admitting) isNew(obj cluster.Object) bool {
	if pod, isPod := obj.(*v1.Pod); isPod && a.wasAdmitted(pod) {
		return false
	}
	return a.uncreated[cluster.RefTo(obj)]
}

// counted is the view with the objects of the call that quotas have counted before. What is changed counts as it was.
func (a *admitting) counted(view *cluster.State) *cluster.State {
	if len(view.ResourceQuotas) == 0 {
		return view
	}
	return view.With(slices.DeleteFunc(slices.Clone(a.objs), func(obj cluster.Object) bool {
		return a.isNew(obj) || a.known[cluster.RefTo(obj)] != nil
	})...)
}

// charge charges an object that is new or changed to the quotas of its namespace.
func (a *admitting) charge(obj cluster.Object) {
	switch was := a.changed(obj); {
	case a.isRefused(obj):
	case was != nil:
		a.refuse(obj, a.quotas.Change(obj, was))
	case a.isNew(obj):
		a.refuse(obj, a.quotas.Admit(obj))
	}
}

// changed returns what the object was whose spec the call changes, or nil.
func (a *admitting) changed(obj cluster.Object) cluster.Object {
	was := a.known[cluster.RefTo(obj)]
	if was == nil || was.GetGeneration() == obj.GetGeneration() {
		return nil
	}
	return was
}

// noteQuotas says what is special about the quotas that the call brings.
func (a *admitting) noteQuotas() {
	var given []*v1.ResourceQuota
	for _, obj := range a.objs {
		if limit, ok := obj.(*v1.ResourceQuota); ok {
			given = append(given, limit)
		}
	}
	notes, err := a.quotas.notes(given)
	if err != nil {
		a.problems = append(a.problems, err)
	}
	a.notes = append(a.notes, notes...)
}
