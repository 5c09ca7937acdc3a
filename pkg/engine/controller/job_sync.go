package controller

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// jobSync is one sync of one Job: syncJob in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/job_controller.go.
type jobSync struct {
	*pass
	job *batchv1.Job
	// status becomes the Job's status at the end of the sync.
	status *batchv1.JobStatus
	// pods are the Job's pods; active are those that have neither ended nor been deleted.
	pods, active []*v1.Pod
	// ready and terminating count pods. A pod that this sync deletes counts as terminating. Its UID is in [jobSync.endRequested].
	ready, terminating int32
	endRequested       map[types.UID]bool
	// succeeded and failed count all ended pods, also those that no earlier sync has counted.
	succeeded, failed int32
	// succeededIndexes and failedIndexes are the results of an Indexed Job.
	succeededIndexes, failedIndexes indexes
	// lastFailed has, by index, the failed pod that waits for its replacement. The replacement continues its count of failures.
	lastFailed map[int]*v1.Pod
	// backoff is what the controller remembers of the Job after this sync. [jobSync.keepsBackoff] means that pods have ended, so that the backoff is
	// kept even if it is zero.
	backoff      cluster.JobBackoff
	keepsBackoff bool
	// podGroup is the group of the Job's new pods, if it made one.
	podGroup *schedulingv1beta1.PodGroup
	// finished is the condition that the Job reaches: FailureTarget or Failed, SuccessCriteriaMet or Complete.
	finished *batchv1.JobCondition
}

// newJobSync counts the Job's pods as they are before the sync, with those that the Job adopts.
func (p *pass) newJobSync(job *batchv1.Job) (*jobSync, error) {
	pods, err := p.claimJobPods(job)
	if err != nil {
		return nil, err
	}
	j := &jobSync{pass: p, job: job, status: job.Status.DeepCopy(), pods: pods, endRequested: map[types.UID]bool{}}
	j.active = controller.FilterActivePods(klog.Background(), j.pods)
	j.terminating = controller.CountTerminatingPods(j.pods)
	for _, pod := range j.active {
		if podutil.IsPodReady(pod) {
			j.ready++
		}
	}
	if j.status.UncountedTerminatedPods == nil {
		j.status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	if j.status.StartTime == nil && !j.suspended() {
		j.status.StartTime = &p.Now
	}
	return j, nil
}

// claimJobPods returns the Job's pods, after the Job has released and adopted some. It keeps those that it has if no API server has given it its
// selector: it has none, or its pods in a dump lack the labels, which whoever shortened the dump left out together with the selector.
func (p *pass) claimJobPods(job *batchv1.Job) ([]*v1.Pod, error) {
	pods := p.owned.podsOf(job.UID)
	if job.Spec.Selector == nil {
		return pods, nil
	}
	matching, err := p.parseSelector(job, job.Spec.Selector)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(pods, func(pod *v1.Pod) bool { return cluster.FromDump(pod) && !matching.Matches(labels.Set(pod.Labels)) }) {
		return pods, nil
	}
	return p.claimPods(job, jobKind, job.Spec.Selector, nil)
}

// runSync does the sync: it counts ended pods, decides whether the Job is finished, creates or deletes pods, and writes the status.
func (j *jobSync) runSync() (err error) {
	if j.podGroup, err = j.ensurePodGroup(); err != nil {
		return j.refusePods(j.job, int(ptr.Deref(j.job.Spec.Parallelism, 1)), err)
	}
	j.tallyEndedPods()
	j.judgeJob()
	var active int32
	if j.finished != nil {
		j.endPods(j.active)
	} else {
		if active, err = j.manageJob(); err != nil {
			return err
		}
		j.judgeCompletions(active)
	}
	j.status.Active, j.status.Ready, j.status.Terminating = active, &j.ready, &j.terminating
	j.trackEndedPods()
	j.enactFinished()
	if !apiequality.Semantic.DeepEqual(*j.status, j.job.Status) {
		counted := *j.job
		counted.Status = *j.status
		j.putObject(&counted)
	}
	return nil
}

func (j *jobSync) suspended() bool { return ptr.Deref(j.job.Spec.Suspend, false) }

// belongs reports whether the Job counts the pod. An Indexed Job counts only pods with a valid index.
func (j *jobSync) belongs(pod *v1.Pod) bool {
	if !isIndexed(j.job) {
		return true
	}
	index, ok := completionIndex(pod)
	return ok && index < int(*j.job.Spec.Completions)
}

// uncounted reports whether the pod is still to be counted once it has ended, and is not among those before; upstream's
// getValidPodsWithFilter.
func (j *jobSync) uncounted(pod *v1.Pod, before []types.UID) bool {
	return admission.HasJobTrackingFinalizer(pod) && j.belongs(pod) && !slices.Contains(before, pod.UID)
}

// tallyEndedPods counts the pods that have ended, with those that earlier syncs have counted.
func (j *jobSync) tallyEndedPods() {
	before := j.status.UncountedTerminatedPods
	var succeeded, failed []*v1.Pod
	for _, pod := range j.pods {
		if pod.Status.Phase == v1.PodSucceeded && j.uncounted(pod, before.Succeeded) {
			succeeded = append(succeeded, pod)
		}
		if isPodFailed(j.job, pod) && j.uncounted(pod, before.Failed) {
			failed = append(failed, pod)
			if judgeFailure(j.job.Spec.PodFailurePolicy, pod).countsTowardsLimit() {
				j.failed++
			}
		}
	}
	j.failed += j.status.Failed + int32(len(before.Failed))
	j.succeeded = j.status.Succeeded + int32(len(succeeded)+len(before.Succeeded))
	j.recordFailures(succeeded, failed)
	if !isIndexed(j.job) {
		return
	}
	completions := int(*j.job.Spec.Completions)
	j.succeededIndexes = parseIndexes(j.status.CompletedIndexes, completions).union(completionIndexes(succeeded)...)
	j.succeeded = int32(j.succeededIndexes.total())
	if j.job.Spec.BackoffLimitPerIndex != nil {
		j.failedIndexes = parseIndexes(ptr.Deref(j.status.FailedIndexes, ""), completions)
		j.tallyIndexes()
	}
}

// tallyIndexes finds the indexes that have failed for good and, for each other index, the failed pod that has not been replaced yet. It is
// upstream's calculateFailedIndexes and getPodsWithDelayedDeletionPerIndex.
func (j *jobSync) tallyIndexes() {
	j.lastFailed = map[int]*v1.Pod{}
	var failed []*v1.Pod
	for _, pod := range j.pods {
		if !j.uncounted(pod, nil) || !isPodFailed(j.job, pod) {
			continue
		}
		verdict := judgeFailure(j.job.Spec.PodFailurePolicy, pod)
		counted, _ := failureCounts(pod)
		if verdict.action == batchv1.PodFailurePolicyActionFailIndex || verdict.countsTowardsLimit() && counted >= int(*j.job.Spec.BackoffLimitPerIndex) {
			failed = append(failed, pod)
		}
	}
	j.failedIndexes = j.failedIndexes.union(completionIndexes(failed)...)
	settled := j.succeededIndexes.union(j.failedIndexes...).union(completionIndexes(j.active)...)
	for _, pod := range j.pods {
		index, _ := completionIndex(pod)
		if !j.uncounted(pod, nil) || !isPodFailed(j.job, pod) || settled.has(index) {
			continue
		}
		last := j.lastFailed[index]
		if last == nil || totalFailures(pod) >= totalFailures(last) && !finishTime(pod).Before(finishTime(last)) {
			j.lastFailed[index] = pod
		}
	}
}

// judgeJob decides whether the Job has failed, or has met its success policy. The decision of an earlier sync stays.
func (j *jobSync) judgeJob() {
	spec, conditions := &j.job.Spec, j.status.Conditions
	if met := jobCondition(conditions, batchv1.JobSuccessCriteriaMet); met != nil {
		j.finished = met
		return
	}
	if target := jobCondition(conditions, batchv1.JobFailureTarget); target != nil {
		j.finished = j.newCondition(batchv1.JobFailed, target.Reason, target.Message)
		return
	}
	fail := func(reason, message string) { j.finished = j.newCondition(batchv1.JobFailureTarget, reason, message) }
	for _, pod := range j.pods {
		if !isPodFailed(j.job, pod) {
			continue
		}
		if v := judgeFailure(spec.PodFailurePolicy, pod); v.action == batchv1.PodFailurePolicyActionFailJob {
			fail(batchv1.JobReasonPodFailurePolicy, v.message)
			return
		}
	}
	completions := int(ptr.Deref(spec.Completions, 0))
	ended := j.failedIndexes.total()
	switch {
	case j.failed > *spec.BackoffLimit || j.restartsExceeded(j.job, j.pods):
		fail(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	case j.pastDeadline():
		fail(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	case spec.MaxFailedIndexes != nil && ended > int(*spec.MaxFailedIndexes):
		fail(batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes")
	case ended > 0 && ended+j.succeededIndexes.total() >= completions:
		fail(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
	default:
		if rule := metSuccessPolicy(spec.SuccessPolicy, j.succeededIndexes, completions); rule != "" {
			j.finished = j.newCondition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy, rule)
		}
	}
}

func (j *jobSync) pastDeadline() bool {
	at := deadline(&j.job.Spec, j.status)
	return !at.IsZero() && !j.Now.Time.Before(at)
}

// deadline returns when the Job will have been active for too long; the zero time if it has no deadline.
func deadline(spec *batchv1.JobSpec, status *batchv1.JobStatus) time.Time {
	if spec.ActiveDeadlineSeconds == nil || ptr.Deref(spec.Suspend, false) || status.StartTime == nil {
		return time.Time{}
	}
	return status.StartTime.Add(time.Duration(*spec.ActiveDeadlineSeconds) * time.Second)
}

// judgeCompletions decides whether the Job is complete and, if not, whether it is suspended.
func (j *jobSync) judgeCompletions(active int32) {
	enough := j.succeeded > 0
	if j.job.Spec.Completions != nil {
		enough = j.succeeded >= *j.job.Spec.Completions
	}
	if enough && active == 0 {
		j.finished = j.newCondition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
		return
	}
	if j.job.DeletionTimestamp != nil {
		return
	}
	was := jobCondition(j.status.Conditions, batchv1.JobSuspended) != nil
	switch {
	case j.suspended() && !was:
		j.setCondition(j.newCondition(batchv1.JobSuspended, "JobSuspended", "Job suspended"))
		j.status.StartTime = nil
	case !j.suspended() && was:
		resumed := j.newCondition(batchv1.JobSuspended, "JobResumed", "Job resumed")
		resumed.Status = v1.ConditionFalse
		j.setCondition(resumed)
		j.status.StartTime = &j.Now
	}
}

// trackEndedPods counts the pods that have ended, and removes the finalizer from each counted pod; upstream's trackJobStatusAndRemoveFinalizers.
// When a Job fails, its remaining pods count as failed, too.
func (j *jobSync) trackEndedPods() {
	failing := j.finished != nil && (j.finished.Type == batchv1.JobFailureTarget || j.finished.Type == batchv1.JobFailed)
	before := j.status.UncountedTerminatedPods
	held := map[types.UID]bool{}
	for _, pod := range j.pods {
		if !admission.HasJobTrackingFinalizer(pod) {
			continue
		}
		if !j.canRemoveFinalizer(pod) {
			held[pod.UID] = true
			continue
		}
		switch failed := isPodFailed(j.job, pod) || failing; {
		case pod.Status.Phase == v1.PodSucceeded && !slices.Contains(before.Failed, pod.UID):
			if j.uncounted(pod, before.Succeeded) {
				j.status.Succeeded++
			}
		case failed && j.uncounted(pod, before.Failed) && judgeFailure(j.job.Spec.PodFailurePolicy, pod).countsTowardsLimit():
			j.status.Failed++
		}
		if !j.endRequested[pod.UID] {
			j.removeTrackingFinalizer(pod)
		}
	}
	// A dump may list pods that are about to be counted. They are counted once they have no finalizer.
	count := func(uids *[]types.UID, counter *int32) {
		all := len(*uids)
		*uids = slices.DeleteFunc(*uids, func(uid types.UID) bool { return !held[uid] })
		*counter += int32(all - len(*uids))
	}
	count(&before.Succeeded, &j.status.Succeeded)
	count(&before.Failed, &j.status.Failed)
	if isIndexed(j.job) {
		j.status.Succeeded, j.status.CompletedIndexes = int32(j.succeededIndexes.total()), j.succeededIndexes.String()
		j.status.FailedIndexes = nil
		if j.job.Spec.BackoffLimitPerIndex != nil {
			j.status.FailedIndexes = ptr.To(j.failedIndexes.String())
		}
	}
}

// canRemoveFinalizer reports whether the pod's end can be counted now; upstream's canRemoveFinalizer.
func (j *jobSync) canRemoveFinalizer(pod *v1.Pod) bool {
	if j.job.DeletionTimestamp != nil || j.finished != nil || pod.Status.Phase == v1.PodSucceeded {
		return true
	}
	index, _ := completionIndex(pod)
	return isPodFailed(j.job, pod) && j.lastFailed[index] != pod
}

// enactFinished adds the condition that the Job reaches and, as soon as no pod is Terminating, the final one; upstream's enactJobFinished.
func (j *jobSync) enactFinished() {
	if j.finished == nil {
		return
	}
	if interim := j.finished.Type; interim == batchv1.JobFailureTarget || interim == batchv1.JobSuccessCriteriaMet {
		if jobCondition(j.status.Conditions, interim) == nil {
			j.status.Conditions = append(j.status.Conditions, *j.finished)
		}
		final := batchv1.JobFailed
		if interim == batchv1.JobSuccessCriteriaMet {
			final = batchv1.JobComplete
		}
		j.finished = j.newCondition(final, j.finished.Reason, j.finished.Message)
	}
	if before := j.status.UncountedTerminatedPods; len(before.Succeeded)+len(before.Failed) > 0 || j.terminating > 0 {
		return
	}
	j.setCondition(j.finished)
	if j.finished.Type == batchv1.JobComplete {
		j.status.CompletionTime = &j.Now
	}
}

func (j *jobSync) newCondition(kind batchv1.JobConditionType, reason, message string) *batchv1.JobCondition {
	return &batchv1.JobCondition{Type: kind, Status: v1.ConditionTrue, Reason: reason, Message: message, LastProbeTime: j.Now, LastTransitionTime: j.Now}
}

func (j *jobSync) setCondition(condition *batchv1.JobCondition) {
	for i := range j.status.Conditions {
		if j.status.Conditions[i].Type == condition.Type {
			j.status.Conditions[i] = *condition
			return
		}
	}
	j.status.Conditions = append(j.status.Conditions, *condition)
}

// jobCondition returns the condition of the type if its status is True; otherwise nil.
func jobCondition(conditions []batchv1.JobCondition, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range conditions {
		if conditions[i].Type == kind && conditions[i].Status == v1.ConditionTrue {
			return &conditions[i]
		}
	}
	return nil
}
