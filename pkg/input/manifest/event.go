package manifest

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is an Event of v1 or of events.k8s.io/v1; the two APIs name the same fields differently.
type Event struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	InvolvedObject    *v1.ObjectReference `json:"involvedObject"`
	Regarding         *v1.ObjectReference `json:"regarding"`
	Type              string              `json:"type"`
	Reason            string              `json:"reason"`
	Message           string              `json:"message"`
	Note              string              `json:"note"`
	Count             int                 `json:"count"`
	DeprecatedCount   int                 `json:"deprecatedCount"`
	Series            struct {
		Count            int              `json:"count"`
		LastObservedTime metav1.MicroTime `json:"lastObservedTime"`
	} `json:"series"`
	EventTime       metav1.MicroTime `json:"eventTime"`
	FirstTimestamp  metav1.Time      `json:"firstTimestamp"`
	LastTimestamp   metav1.Time      `json:"lastTimestamp"`
	DeprecatedFirst metav1.Time      `json:"deprecatedFirstTimestamp"`
	DeprecatedLast  metav1.Time      `json:"deprecatedLastTimestamp"`
}

// Objects returns the references to the object that the Event is about.
func (e *Event) Objects() []v1.ObjectReference {
	var all []v1.ObjectReference
	for _, of := range []*v1.ObjectReference{e.InvolvedObject, e.Regarding} {
		if of != nil {
			all = append(all, *of)
		}
	}
	return all
}

// Text returns what the Event says.
func (e *Event) Text() string { return cmp.Or(e.Message, e.Note) }

// Times returns how often the Event was observed; 0 if it does not say.
func (e *Event) Times() int { return max(e.Count, e.DeprecatedCount, e.Series.Count) }

// LastObserved returns when the Event was last observed.
func (e *Event) LastObserved() time.Time {
	return slices.MaxFunc([]time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.DeprecatedLast.Time, e.EventTime.Time, e.Series.LastObservedTime.Time}, time.Time.Compare)
}
