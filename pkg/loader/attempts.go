package loader

import (
	"encoding/json"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// schedulingEvent is an Event of v1 or of events.k8s.io/v1. The two APIs have different names for the same fields.
type schedulingEvent struct {
	Reason         string           `json:"reason"`
	InvolvedObject eventObject      `json:"involvedObject"`
	Regarding      eventObject      `json:"regarding"`
	FirstTimestamp metav1.Time      `json:"firstTimestamp"`
	LastTimestamp  metav1.Time      `json:"lastTimestamp"`
	DeprecatedLast metav1.Time      `json:"deprecatedLastTimestamp"`
	EventTime      metav1.MicroTime `json:"eventTime"`
	Series         struct {
		LastObservedTime metav1.MicroTime `json:"lastObservedTime"`
	} `json:"series"`
}

// eventObject is the reference of an Event to its pod.
type eventObject struct {
	UID types.UID `json:"uid"`
}

// lastObserved returns when the Event was last observed.
func (e *schedulingEvent) lastObserved() time.Time {
	return slices.MaxFunc([]time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.DeprecatedLast.Time, e.EventTime.Time, e.Series.LastObservedTime.Time}, time.Time.Compare)
}

// setLastProbeTime sets the time at which the pod's PodScheduled condition was last probed. It adds the condition to a pod without one.
func setLastProbeTime(pod *v1.Pod, at metav1.Time) {
	conditions := slices.Clone(pod.Status.Conditions)
	i := slices.IndexFunc(conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodScheduled })
	if i < 0 {
		i, conditions = len(conditions), append(conditions, v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable})
	}
	conditions[i].LastProbeTime = at
	pod.Status.Conditions = conditions
}

// setLastAttempts reads from FailedScheduling Events when the scheduler last tried each waiting pod of a dump, and stores this as the time at which
// the pod's PodScheduled condition was last probed. The condition itself shows only when the first attempt failed: an attempt that fails
// again does not change it.
func setLastAttempts(s *scenario.Scenario) {
	last := map[types.UID]time.Time{}
	for _, ignored := range s.Ignored {
		var e schedulingEvent
		if ignored.Kind != "Event" || json.Unmarshal(ignored.JSON, &e) != nil || e.Reason != "FailedScheduling" {
			continue
		}
		for _, pod := range []eventObject{e.InvolvedObject, e.Regarding} {
			if at := e.lastObserved(); pod.UID != "" && at.After(last[pod.UID]) {
				last[pod.UID] = at
			}
		}
	}
	if len(last) == 0 {
		return
	}
	in := func(objs []cluster.Object) {
		for _, obj := range objs {
			if pod, is := obj.(*v1.Pod); is && cluster.IsUnscheduled(pod) && last[pod.UID].After(cluster.LastTried(pod)) {
				setLastProbeTime(pod, metav1.NewTime(last[pod.UID]))
			}
		}
	}
	in(s.Cluster)
	in(s.Workloads)
	for i := range s.Steps {
		in(s.Steps[i].Objects)
	}
}
