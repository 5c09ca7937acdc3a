package manifest

import (
	"reflect"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// siblings makes the pods of one owner share their equal parts in memory, since a dump repeats these in each pod. It is safe for concurrent
// use, because objects never change after they are read.
type siblings struct{ first sync.Map } // the first pod seen, by the UID of its owner

// sharePod makes the pod share its parts with the first pod of the same owner.
func (s *siblings) sharePod(pod *v1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return
	}
	if eldest, found := s.first.LoadOrStore(owner.UID, pod); found {
		shareEqualParts(reflect.ValueOf(eldest).Elem(), reflect.ValueOf(pod).Elem())
	}
}

// shareEqualParts replaces each part of to that is equal to the same part of from by that part.
func shareEqualParts(from, to reflect.Value) {
	if !to.CanSet() {
		return
	}
	switch to.Kind() {
	case reflect.String, reflect.Map:
		if reflect.DeepEqual(from.Interface(), to.Interface()) {
			to.Set(from)
		}
	case reflect.Pointer:
		if from.IsNil() || to.IsNil() {
			return
		}
		if reflect.DeepEqual(from.Interface(), to.Interface()) {
			to.Set(from)
		} else {
			shareEqualParts(from.Elem(), to.Elem())
		}
	case reflect.Slice:
		if to.Len() > 0 && reflect.DeepEqual(from.Interface(), to.Interface()) {
			to.Set(from.Slice3(0, from.Len(), from.Len())) // an append to it copies the list
			return
		}
		for i := range min(from.Len(), to.Len()) {
			shareEqualParts(from.Index(i), to.Index(i))
		}
	case reflect.Struct:
		for i := range to.NumField() {
			shareEqualParts(from.Field(i), to.Field(i))
		}
	}
}
