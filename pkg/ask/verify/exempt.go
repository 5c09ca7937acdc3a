package verify

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// scheduledAt returns the second in which the pod got its node, from the pod's PodScheduled condition, or else from its start or creation.
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

// skipExempt skips the pods that are not scheduled again, and counts the others.
func (r *replay) skipExempt() {
	timeless := 0
	for _, pod := range r.State.Pods {
		why := r.exempt(pod)
		if why == "" && r.opts.Judge != nil && !r.opts.Judge[pod.UID] {
			why = "they had their nodes before"
		}
		switch {
		case why != "":
			r.appendSkipped(why, pod)
		case pod.Spec.NodeName != "" && scheduledAt(pod).Equal(unknownTime.Time):
			timeless++
		}
		if why == "" {
			r.total++
		}
		if l := r.past.byUID[pod.UID]; l != nil {
			l.skipped = why != ""
		}
	}
	if timeless > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d pods do not say when they got their nodes, and count as if all had got them in the same second", timeless))
	}
}

// exempt returns why a pod is not scheduled again, or "" if the pod is.
func (r *replay) exempt(pod *v1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	switch {
	case cluster.IsTerminal(pod):
		return "they have ended"
	case mirror || owner != nil && owner.Kind == "Node":
		return "they are static: their node's kubelet starts them"
	case !slices.Contains(r.Scenario.Config.SchedulerNames(), pod.Spec.SchedulerName):
		return fmt.Sprintf("they are for scheduler %q, which the configuration lacks", pod.Spec.SchedulerName)
	}
	return ""
}
