package cluster

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Kubelets start a container that has ended at once, the next time after firstBackOff, and then after twice as long each time, up to maxBackOff:
// DefaultCrashLoopBackOff in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/kubelet.go.
const (
	firstBackOff = 10 * time.Second
	maxBackOff   = 5 * time.Minute
)

// CrashLoop returns how long a container runs each time before its kubelet starts it again, and its exit code. It reports false if the container
// runs on, ends for good, or runs for so long that it is ready most of the time.
func (c *Containers) CrashLoop(spec *v1.PodSpec, container *v1.Container) (runs time.Duration, code int32, crashes bool) {
	if c == nil || spec.RestartPolicy == v1.RestartPolicyNever {
		return 0, 0, false
	}
	runs, code, ends := endOfCommand(container)
	return runs, code, ends && runs < maxBackOff && (code != 0 || spec.RestartPolicy == v1.RestartPolicyAlways)
}

// crashes reports whether a container of the pod is started again and again.
func (c *Containers) crashes(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(one v1.Container) bool {
		_, _, crashes := c.CrashLoop(&pod.Spec, &one)
		return crashes
	})
}

// Restarts is what a container that ends again and again has behind it.
type Restarts struct {
	// Count is how often the container has been started again.
	Count int32
	// BackOff is how long its kubelet waits after the last end, at the moment; 0 if the container runs.
	BackOff time.Duration
	// Ended is how long ago the container ended last.
	Ended time.Duration
	// Next is how long it takes until the container is started again.
	Next time.Duration
}

// RestartsAfter returns the restarts of a container that runs for a while each time, at some time since its first start.
func RestartsAfter(since, runs time.Duration) (r Restarts) {
	for wait := time.Duration(0); ; r.Count++ {
		ended := since - runs
		r.Next = wait - ended
		if ended < 0 {
			return r
		}
		if r.Ended = ended; ended < wait {
			r.BackOff = wait
			return r
		}
		since = ended - wait
		wait = min(max(firstBackOff, 2*wait), maxBackOff)
	}
}

// CountRestarts returns how often the containers of a running pod have been started again, and when one is started again next; the zero time if
// none will be.
func (c *Containers) CountRestarts(pod *v1.Pod, now time.Time) (count int32, next time.Time) {
	if pod.Status.Phase != v1.PodRunning || pod.Status.StartTime == nil {
		return 0, next
	}
	for i := range pod.Spec.Containers {
		runs, _, crashes := c.CrashLoop(&pod.Spec, &pod.Spec.Containers[i])
		if !crashes {
			continue
		}
		r := RestartsAfter(now.Sub(pod.Status.StartTime.Time), runs)
		count += r.Count
		if at := now.Add(r.Next); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return count, next
}
