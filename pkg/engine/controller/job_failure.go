package controller

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	jobutil "k8s.io/kubernetes/pkg/controller/job/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// The functions of this file say what a failed pod means to its Job.

// isPodFailed reports whether the pod counts as failed: isPodFailed in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/job_controller.go.
// A Terminating pod counts at once, unless the Job replaces only pods that have reached the phase Failed.
func isPodFailed(job *batchv1.Job, pod *v1.Pod) bool {
	if pod.Status.Phase == v1.PodFailed {
		return true
	}
	return !replacesOnlyFailed(job) && pod.DeletionTimestamp != nil && pod.Status.Phase != v1.PodSucceeded
}

// replacesOnlyFailed reports whether the Job waits for the phase Failed before it replaces a pod.
func replacesOnlyFailed(job *batchv1.Job) bool {
	return ptr.Deref(job.Spec.PodReplacementPolicy, batchv1.TerminatingOrFailed) == batchv1.Failed
}

// verdict is what the podFailurePolicy says about a failed pod.
type verdict struct {
	action  batchv1.PodFailurePolicyAction // "" if no rule matches
	message string                         // of action FailJob
}

// countsTowardsLimit reports whether the failure counts towards the limits.
func (v verdict) countsTowardsLimit() bool { return v.action != batchv1.PodFailurePolicyActionIgnore }

// judgeFailure returns the verdict of the first rule that matches: matchPodFailurePolicy in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/pod_failure_policy.go.
func judgeFailure(policy *batchv1.PodFailurePolicy, pod *v1.Pod) verdict {
	if policy == nil {
		return verdict{}
	}
	for i, rule := range policy.Rules {
		var cause string
		if rule.OnExitCodes != nil {
			if c := failedContainer(&pod.Status, rule.OnExitCodes); c != nil {
				cause = fmt.Sprintf("Container %s for pod %s/%s failed with exit code %v", c.Name, pod.Namespace, pod.Name, c.State.Terminated.ExitCode)
			}
		} else if condition := matchingCondition(&pod.Status, rule.OnPodConditions); condition != nil {
			cause = fmt.Sprintf("Pod %s/%s has condition %v", pod.Namespace, pod.Name, condition.Type)
		}
		if cause != "" {
			return verdict{rule.Action, fmt.Sprintf("%s matching %v rule at index %d", cause, rule.Action, i)}
		}
	}
	return verdict{}
}

// failedContainer returns the first container that ended with one of the exit codes. Init containers come last.
func failedContainer(status *v1.PodStatus, codes *batchv1.PodFailurePolicyOnExitCodesRequirement) *v1.ContainerStatus {
	for _, c := range slices.Concat(status.ContainerStatuses, status.InitContainerStatuses) {
		if c.State.Terminated == nil || c.State.Terminated.ExitCode == 0 || codes.ContainerName != nil && *codes.ContainerName != c.Name {
			continue
		}
		if slices.Contains(codes.Values, c.State.Terminated.ExitCode) == (codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
			return &c
		}
	}
	return nil
}

func matchingCondition(status *v1.PodStatus, patterns []batchv1.PodFailurePolicyOnPodConditionsPattern) *v1.PodCondition {
	for _, condition := range status.Conditions {
		if slices.ContainsFunc(patterns, func(p batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
			return p.Type == condition.Type && p.Status == condition.Status
		}) {
			return &condition
		}
	}
	return nil
}

// restartsExceeded reports whether the containers of pods that restart in place have restarted more often than the Job allows; upstream's
// pastBackoffLimitOnFailure. Kubelets of a cluster in memory do not write the restarts into the pods of the state: see [cluster.Containers].
func (p *pass) restartsExceeded(job *batchv1.Job, pods []*v1.Pod) bool {
	if job.Spec.Template.Spec.RestartPolicy != v1.RestartPolicyOnFailure {
		return false
	}
	restarts := int32(0)
	for _, pod := range pods {
		if pod.Status.Phase == v1.PodRunning || pod.Status.Phase == v1.PodPending {
			for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
				restarts += c.RestartCount
			}
		}
		now, _ := p.Containers.CountRestarts(pod, p.Now.Time)
		restarts += now
	}
	return restarts > 0 && restarts >= *job.Spec.BackoffLimit
}

// maxAwaitedRestarts is how many restarts a Job may allow so that time jumps to them. A Job that allows more would take weeks to fail.
const maxAwaitedRestarts = 100

// nextRestart returns when a container of the Job's pods starts again, which may make the Job fail; the zero time if none does.
func (c *Controllers) nextRestart(s *cluster.State, job *batchv1.Job) (next time.Time) {
	if s.Containers == nil || job.Spec.Template.Spec.RestartPolicy != v1.RestartPolicyOnFailure || ptr.Deref(job.Spec.BackoffLimit, 0) > maxAwaitedRestarts || jobutil.IsJobFinished(job) {
		return next
	}
	for _, pod := range c.pods.Lookup(group{owner: job.UID}).Pods() {
		if _, at := s.Containers.CountRestarts(pod, s.Now.Time); next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// finishTime returns when the pod ended: getFinishedTime in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/backoff_utils.go.
func finishTime(pod *v1.Pod) time.Time {
	if at := containersFinished(pod); !at.IsZero() {
		return at
	}
	if ready := podutil.GetPodReadyCondition(pod.Status); ready != nil && ready.Status == v1.ConditionFalse && !ready.LastTransitionTime.IsZero() {
		return ready.LastTransitionTime.Time
	}
	if pod.DeletionTimestamp != nil {
		return cluster.DeletionRequested(pod)
	}
	return pod.CreationTimestamp.Time
}

// containersFinished returns when the last container ended; the zero time if one still runs. It is upstream's getFinishTimeFromContainers:
// upstream looks at sidecars after the other containers, so if all sidecars have ended, their time counts whatever the others do.
func containersFinished(pod *v1.Pod) time.Time {
	var sidecars []v1.ContainerStatus
	for _, status := range pod.Status.InitContainerStatuses {
		if slices.ContainsFunc(pod.Spec.InitContainers, func(c v1.Container) bool {
			return c.Name == status.Name && podutil.IsRestartableInitContainer(&c)
		}) {
			sidecars = append(sidecars, status)
		}
	}
	return lastFinished(lastFinished(time.Time{}, pod.Status.ContainerStatuses), sidecars)
}

// lastFinished returns the later of after and the time at which the last of the containers ended; the zero time if one still runs.
func lastFinished(after time.Time, containers []v1.ContainerStatus) time.Time {
	for _, c := range containers {
		if c.State.Terminated == nil || c.State.Terminated.FinishedAt.IsZero() {
			return time.Time{}
		}
		if at := c.State.Terminated.FinishedAt.Time; at.After(after) {
			after = at
		}
	}
	return after
}
