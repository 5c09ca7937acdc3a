//go:build ordered

package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline/faultline/deciders/kit"
	"github.com/faultline/faultline/deciders/kit/api"
)

// recorder keeps Kueue's events, each once in an answer.
type recorder struct {
	api    *api.Client
	answer *kit.Answer
	said   map[kit.Event]bool
}

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	object, is := regarding.(client.Object)
	if !is {
		return
	}
	gvk, err := r.api.GroupVersionKindFor(object)
	if err != nil {
		return
	}
	event := kit.Event{Object: api.RefTo(gvk, object), Type: kind, Reason: reason, Message: fmt.Sprintf(note, args...)}
	if !r.said[event] {
		r.said[event] = true
		r.answer.Events = append(r.answer.Events, event)
	}
}
