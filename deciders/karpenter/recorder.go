package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/faultline/faultline/deciders/kit"
	"github.com/faultline/faultline/deciders/kit/api"
)

// recorder keeps Karpenter's events, each once within its time, as Karpenter's own recorder does. It does not have the rate limit of
// nominations, which loses events by chance.
type recorder struct {
	now    time.Time
	events []kit.Event
	// until is when an event may be said again, by its key.
	until map[string]time.Time
}

const sayAgain = 2 * time.Minute // defaultDedupeTimeout of events.NewRecorder

// Publish implements events.Recorder.
func (r *recorder) Publish(published ...events.Event) {
	for _, event := range published {
		object, ok := event.InvolvedObject.(client.Object)
		if !ok {
			continue
		}
		kinds, _, err := scheme.Scheme.ObjectKinds(object)
		if err != nil {
			continue
		}
		ref := api.RefTo(kinds[0], object)
		if len(event.DedupeValues) > 0 {
			key := shorten(strings.ToLower(event.Reason) + "-" + strings.Join(event.DedupeValues, "-") + "-" + ref.Kind)
			if r.now.Before(r.until[key]) {
				continue
			}
			r.until[key] = r.now.Add(cmp.Or(event.DedupeTimeout, sayAgain))
		}
		r.events = append(r.events, kit.Event{Object: ref, Type: event.Type, Reason: event.Reason, Message: event.Message})
	}
}

// sort brings the events from the given one on, which Karpenter publishes in the order of a map, in the order of their objects.
func (r *recorder) sort(from int) {
	slices.SortStableFunc(r.events[from:], func(a, b kit.Event) int {
		return cmp.Or(cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
}

// forget drops what may be said again.
func (r *recorder) forget() {
	for key, until := range r.until {
		if !r.now.Before(until) {
			delete(r.until, key)
		}
	}
}
