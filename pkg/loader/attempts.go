package loader

import (
	"encoding/json"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

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
		var e manifest.Event
		if ignored.Kind != "Event" || json.Unmarshal(ignored.JSON, &e) != nil || e.Reason != "FailedScheduling" {
			continue
		}
		for _, pod := range e.Objects() {
			if at := e.LastObserved(); pod.UID != "" && at.After(last[pod.UID]) {
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
