package verify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// second are the pods that got their nodes in the same second, by their creation, then in the order of the dump.
type second struct {
	at   time.Time
	pods []*v1.Pod
	// given are those that no configured scheduler placed; they only take room.
	given map[*v1.Pod]bool
}

// scheduledAt is the second in which the pod got its node: that of its PodScheduled condition, or else of its start, or else of
// its creation.
func scheduledAt(pod *v1.Pod) time.Time {
	at := pod.CreationTimestamp
	if pod.Status.StartTime != nil {
		at = *pod.Status.StartTime
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionTrue && !condition.LastTransitionTime.IsZero() {
			at = condition.LastTransitionTime
		}
	}
	return at.Truncate(time.Second)
}

// order puts the pods that have a node into seconds, and skips those that cannot be scheduled again.
func (r *replay) order() []*second {
	var bound []*v1.Pod
	given := map[*v1.Pod]bool{}
	timeless := 0
	for _, pod := range r.State.Pods {
		why := r.exempt(pod)
		if why != "" {
			r.skip(why, pod)
		}
		if pod.Spec.NodeName == "" {
			if why == "" {
				r.total++
			}
			continue
		}
		if cluster.Terminal(pod) {
			continue
		}
		bound = append(bound, pod)
		if given[pod] = why != ""; !given[pod] {
			r.total++
			if scheduledAt(pod).Equal(unknown.Time) {
				timeless++
			}
		}
	}
	if timeless > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d pods tell no time at which they got their nodes, and count as if all had got them in one second", timeless))
	}
	slices.SortStableFunc(bound, func(a, b *v1.Pod) int {
		return cmp.Or(scheduledAt(a).Compare(scheduledAt(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	var seconds []*second
	for _, pod := range bound {
		at := scheduledAt(pod)
		if n := len(seconds); n == 0 || !seconds[n-1].at.Equal(at) {
			seconds = append(seconds, &second{at: at, given: given})
		}
		last := seconds[len(seconds)-1]
		last.pods = append(last.pods, pod)
	}
	return seconds
}

// exempt says why a pod is not scheduled again; "" if it is.
func (r *replay) exempt(pod *v1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	switch {
	case cluster.Terminal(pod):
		return "they have ended"
	case mirror || owner != nil && owner.Kind == "Node":
		return "they are static: their node's kubelet starts them"
	case !slices.Contains(r.Scenario.Config.SchedulerNames(), pod.Spec.SchedulerName):
		return fmt.Sprintf("they are for scheduler %q, which the configuration lacks", pod.Spec.SchedulerName)
	}
	return ""
}
