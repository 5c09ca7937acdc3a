package manifest

import (
	"reflect"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// siblings lets the pods of one owner share their equal parts, which a dump repeats in each pod. It is safe for concurrent use, because
// objects are never changed after they were read.
type siblings struct{ eldest sync.Map } // the first pod seen, by the UID of its owner

// share lets the pod share with its sibling.
func (s *siblings) share(pod *v1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return
	}
	if eldest, found := s.eldest.LoadOrStore(owner.UID, pod); found {
		share(reflect.ValueOf(eldest).Elem(), reflect.ValueOf(pod).Elem())
	}
}

// share replaces the parts of one value that are equal to parts of the other by the other's parts.
func share(from, to reflect.Value) {
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
			share(from.Elem(), to.Elem())
		}
	case reflect.Slice:
		if to.Len() > 0 && reflect.DeepEqual(from.Interface(), to.Interface()) {
			to.Set(from.Slice3(0, from.Len(), from.Len())) // an append to it copies the list
			return
		}
		for i := range min(from.Len(), to.Len()) {
			share(from.Index(i), to.Index(i))
		}
	case reflect.Struct:
		for i := range to.NumField() {
			share(from.Field(i), to.Field(i))
		}
	}
}
