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
	later := func(at time.Time) time.Time { return at.Add(by) }
	var moved []cluster.Object
	for _, obj := range state.Objects() {
		if p := obj.DeepCopyObject().(cluster.Object); mapTimes(reflect.ValueOf(p), later) {
			moved = append(moved, p)
		}
	}
	next := *state.With(moved...)
	next.Now = metav1.NewTime(state.Now.Add(by))
	next.JobBackoffs = maps.Clone(state.JobBackoffs)
	for uid, backoff := range next.JobBackoffs {
		mapTimes(reflect.ValueOf(&backoff), later)
		next.JobBackoffs[uid] = backoff
	}
	next.Attachments = slices.Clone(state.Attachments)
	mapTimes(reflect.ValueOf(&next.Attachments), later)
	return &next
}

// mapTimes replaces each time in the value that is not zero, and reports whether there is one.
func mapTimes(v reflect.Value, to func(time.Time) time.Time) (found bool) {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && mapTimes(v.Elem(), to)
	case reflect.Slice:
		for i := range v.Len() {
			found = mapTimes(v.Index(i), to) || found
		}
	case reflect.Map:
		times, is := v.Interface().(map[string]metav1.Time)
		for key, at := range times {
			times[key] = metav1.NewTime(to(at.Time))
		}
		return is && len(times) > 0
	case reflect.Struct:
		if at, is := v.Addr().Interface().(*time.Time); is {
			if !at.IsZero() {
				*at = to(*at)
			}
			return !at.IsZero()
		}
		for field, value := range v.Fields() {
			if field.IsExported() {
				found = mapTimes(value, to) || found
			}
		}
	}
	return found
}

// inUTC returns the time in the time zone of all times of a world, whose equality counts.
func inUTC(at time.Time) time.Time { return at.UTC() }
