package controller

import (
	"cmp"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	jobutil "k8s.io/kubernetes/pkg/controller/job/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/words"
)

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

// syncJob syncs a Job, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/job_controller.go
// does.
func (p *pass) syncJob(job *batchv1.Job) error {
	if isExternal(job) || jobutil.IsJobFinished(job) {
		return nil
	}
	sync, err := p.newJobSync(job)
	if err != nil {
		return err
	}
	if err := sync.runSync(); err != nil {
		return err
	}
	if sync.keepsBackoff || sync.backoff != (cluster.JobBackoff{}) {
		if p.backoffs == nil {
			p.backoffs = map[types.UID]cluster.JobBackoff{}
		}
		p.backoffs[job.UID] = sync.backoff
	}
	return nil
}

// isExternal reports whether another controller manages the Job.
func isExternal(job *batchv1.Job) bool {
	return ptr.Deref(job.Spec.ManagedBy, batchv1.JobControllerName) != batchv1.JobControllerName
}

// releaseOrphanedJobPods removes the finalizer from pods that no Job will count; upstream's handleSingleOrphanPod.
func (p *pass) releaseOrphanedJobPods() error {
	p.followPods(p.State) // earlier controllers of this round may have changed the pods
	tracked := p.owned.groups.Lookup(group{tracked: true}).Pods()
	if len(tracked) == 0 {
		return nil
	}
	counting := map[types.UID]bool{} // Jobs that still count their pods, or whose pods another controller counts
	for _, job := range p.Jobs {
		counting[job.UID] = isExternal(job) || !jobutil.IsJobFinished(job)
	}
	for _, pod := range tracked {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil || ref.Kind == jobKind.Kind && ref.APIVersion == jobKind.GroupVersion().String() && !counting[ref.UID] {
			p.removeTrackingFinalizer(pod)
		}
	}
	return nil
}

// A pod of a Job carries the finalizer batch.kubernetes.io/job-tracking until its Job has counted it. A pod without the finalizer has been
// counted.

// withoutTrackingFinalizer returns the pod without the finalizer of its Job.
func withoutTrackingFinalizer(pod *v1.Pod) *v1.Pod {
	if !admission.HasJobTrackingFinalizer(pod) {
		return pod
	}
	counted := *pod
	counted.Finalizers = slices.DeleteFunc(slices.Clone(pod.Finalizers), func(f string) bool { return f == batchv1.JobTrackingFinalizer })
	return &counted
}

// removeTrackingFinalizer removes the finalizer from the pod. A deleted pod that has ended waited only for that, and is removed.
func (p *pass) removeTrackingFinalizer(pod *v1.Pod) {
	if pod.DeletionTimestamp != nil && (cluster.IsTerminal(pod) || pod.Spec.NodeName == "") {
		p.removeObjects(pod)
	} else {
		p.putObject(withoutTrackingFinalizer(pod))
	}
}

// FinishedJobs returns a sentence for each Job that has completed or failed since the state before. A Job counts as failed as soon as its
// failure is decided, even while its last pods are still Terminating.
func FinishedJobs(before, now *cluster.State) []string {
	known := map[types.UID]bool{}
	for _, job := range before.Jobs {
		known[job.UID] = jobFailure(job) != nil || job.Status.CompletionTime != nil
	}
	var finished []string
	for _, job := range now.Jobs {
		if known[job.UID] {
			continue
		}
		if condition := jobFailure(job); condition != nil {
			finished = append(finished, fmt.Sprintf("%s failed: %s: %s", cluster.RefTo(job).Qualified(), condition.Reason, condition.Message))
		} else if end, start := job.Status.CompletionTime, job.Status.StartTime; end != nil && start != nil {
			finished = append(finished, fmt.Sprintf("%s completed after %s: %s succeeded",
				cluster.RefTo(job).Qualified(), duration.HumanDuration(end.Sub(start.Time)), words.Count(int(job.Status.Succeeded), "pod")))
		}
	}
	return finished
}

// jobFailure returns the condition that says why the Job has failed; nil if it has not.
func jobFailure(job *batchv1.Job) *batchv1.JobCondition {
	return cmp.Or(jobCondition(job.Status.Conditions, batchv1.JobFailed), jobCondition(job.Status.Conditions, batchv1.JobFailureTarget))
}
