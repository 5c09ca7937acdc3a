package cluster

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CompletesAfterAnnotation on a pod, usually from the template of a Job, says how long after its start the pod succeeds: "90s", "10m". A
// pod without the annotation runs until somebody ends it.
const CompletesAfterAnnotation = "faultline.dev/completes-after"

// CompletesAfter returns how long the pod runs before it succeeds, or false if no annotation says so. It returns an error if the annotation
// is invalid.
func CompletesAfter(annotations map[string]string, spec *v1.PodSpec) (time.Duration, bool, error) {
	text, given := annotations[CompletesAfterAnnotation]
	if !given {
		return 0, false, nil
	}
	after, err := time.ParseDuration(text)
	switch {
	case err != nil || after <= 0:
		return 0, false, fmt.Errorf("metadata.annotations[%s]: %q is not the time for which a pod runs; give one such as 90s or 10m", CompletesAfterAnnotation, text)
	case spec.RestartPolicy == v1.RestartPolicyAlways || spec.RestartPolicy == "":
		return 0, false, fmt.Errorf("metadata.annotations[%s]: with restartPolicy Always the pod starts again and never completes; leave the annotation out, or run a Job", CompletesAfterAnnotation)
	}
	return after, true, nil
}

// completesAt returns when the running pod succeeds, or false if no annotation says so.
func completesAt(pod *v1.Pod) (time.Time, bool) {
	if pod.Status.StartTime == nil || IsTerminal(pod) || AttachEvent(pod) != "" {
		return time.Time{}, false
	}
	after, completes, _ := CompletesAfter(pod.Annotations, &pod.Spec)
	return pod.Status.StartTime.Truncate(time.Second).Add(after), completes
}

// CompletePod returns the pod as its kubelet reports it after its containers have succeeded.
func CompletePod(pod *v1.Pod, now metav1.Time) *v1.Pod {
	completed := *pod
	completed.Status.Phase = v1.PodSucceeded
	for _, condition := range []v1.PodConditionType{v1.ContainersReady, v1.PodReady} {
		completed = *WithCondition(&completed, v1.PodCondition{Type: condition, Status: v1.ConditionFalse, Reason: "PodCompleted", LastTransitionTime: now})
	}
	return &completed
}
