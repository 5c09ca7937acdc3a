package controlplane

import (
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// moveTo returns the state as it would be if all had happened so much later that it is now: a pod of a dump that was an hour old is an hour old,
// whenever the dump was made.
func moveTo(state *cluster.State, now time.Time) *cluster.State {
	by := now.Truncate(time.Second).Sub(state.Now.Time)
	var moved []cluster.Object
	for _, obj := range state.Objects() {
		if p := obj.DeepCopyObject().(cluster.Object); addTime(reflect.ValueOf(p), by) {
			moved = append(moved, p)
		}
	}
	next := *state.With(moved...)
	next.Now = metav1.NewTime(state.Now.Add(by))
	next.JobBackoffs = maps.Clone(state.JobBackoffs)
	for uid, backoff := range next.JobBackoffs {
		addTime(reflect.ValueOf(&backoff), by)
		next.JobBackoffs[uid] = backoff
	}
	next.Attachments = slices.Clone(state.Attachments)
	addTime(reflect.ValueOf(&next.Attachments), by)
	return &next
}

// addTime adds to each time in the value that is not zero, and reports whether there is one.
func addTime(v reflect.Value, by time.Duration) (found bool) {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && addTime(v.Elem(), by)
	case reflect.Slice:
		for i := range v.Len() {
			found = addTime(v.Index(i), by) || found
		}
	case reflect.Struct:
		if at, is := v.Addr().Interface().(*time.Time); is {
			if !at.IsZero() {
				*at = at.Add(by)
			}
			return !at.IsZero()
		}
		for field, value := range v.Fields() {
			if field.IsExported() {
				found = addTime(value, by) || found
			}
		}
	}
	return found
}
