package controller

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage/names"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/faultline/faultline/pkg/cluster"
)

// manageJob deletes the Job's excess pods, or creates the pods that it lacks. It returns the number of active pods after that; upstream's
// manageJob.
func (j *jobSync) manageJob() (int32, error) {
	active := int32(len(j.active))
	if j.job.DeletionTimestamp != nil {
		return active, nil
	}
	want := j.wantedActive()
	if excess := j.excessPods(int(max(0, active-want))); len(excess) > 0 {
		j.endPods(excess)
		return active - int32(len(excess)), nil
	}
	lacking := want - active
	if replacesOnlyFailed(j.job) {
		lacking -= j.terminating
	}
	if lacking <= 0 {
		return active, nil
	}
	created, err := j.createJobPods(int(lacking))
	return active + int32(created), err
}

// wantedActive returns how many pods should be active.
func (j *jobSync) wantedActive() int32 {
	parallelism := *j.job.Spec.Parallelism
	switch {
	case j.suspended():
		return 0
	case j.job.Spec.Completions != nil:
		return max(0, min(parallelism, *j.job.Spec.Completions-j.succeeded))
	case j.succeeded > 0: // once a pod of a work queue has succeeded, no new workers start
		return int32(len(j.active))
	}
	return parallelism
}

// excessPods returns active pods to delete: at least atLeast of them, and all whose index is invalid or the same as another pod's. It is
// upstream's activePodsForRemoval. Among equals the newest goes first, or the one that the random generator chooses.
func (j *jobSync) excessPods(atLeast int) []*v1.Pod {
	valid := slices.DeleteFunc(slices.Clone(j.active), func(pod *v1.Pod) bool { return !j.belongs(pod) })
	if atLeast == 0 && (!isIndexed(j.job) || completionIndexes(valid).total() == len(j.active)) {
		return nil
	}
	ranked := slices.Clone(j.active)
	slices.Reverse(ranked)
	if j.Rand != nil {
		j.Rand.Shuffle(len(ranked), func(a, b int) { ranked[a], ranked[b] = ranked[b], ranked[a] })
	}
	sort.Stable(controller.ActivePods(ranked))
	if !isIndexed(j.job) {
		return ranked[:atLeast]
	}
	of := map[int]int{}
	for _, pod := range valid {
		index, _ := completionIndex(pod)
		of[index]++
	}
	var excess, others []*v1.Pod
	for _, pod := range ranked {
		switch index, _ := completionIndex(pod); {
		case !j.belongs(pod):
			excess = append(excess, pod)
		case of[index] > 1:
			of[index]--
			excess = append(excess, pod)
		default:
			others = append(others, pod)
		}
	}
	return append(excess, others[:max(0, atLeast-len(excess))]...)
}

// endPods deletes the pods, and removes their finalizer: no sync counts them once they have ended.
func (j *jobSync) endPods(pods []*v1.Pod) {
	for _, pod := range pods {
		j.endRequested[pod.UID] = true
		j.terminating++
		if podutil.IsPodReady(pod) {
			j.ready--
		}
		j.deletePods(withoutTrackingFinalizer(pod))
	}
}

// createJobPods creates count pods, or fewer if the Job must wait after failures, and returns how many exist by now.
func (j *jobSync) createJobPods(count int) (int, error) {
	var indexes []int
	switch {
	case j.job.Spec.BackoffLimitPerIndex == nil && j.mustWait(j.backoff.Failures, j.backoff.Last):
		return 0, nil
	case isIndexed(j.job):
		if indexes = j.nextIndexes(count); len(indexes) == 0 {
			return 0, nil
		}
		count = len(indexes)
	}
	prototype, err := j.newPrototype(withPodGroup(&j.job.Spec.Template, j.podGroup), j.job, jobKind)
	if err != nil {
		return 0, j.refusePods(j.job, count, err)
	}
	if j.podGroup != nil {
		prototype.OwnerReferences = append(slices.Clip(prototype.OwnerReferences), metav1.OwnerReference{
			APIVersion: podGroupKind.GroupVersion().String(), Kind: podGroupKind.Kind, Name: j.podGroup.Name, UID: j.podGroup.UID})
	}
	prototype.Finalizers = append(slices.Clone(prototype.Finalizers), batchv1.JobTrackingFinalizer)
	return j.createPods(j.job, prototype, count, func(i int) *v1.Pod {
		if indexes == nil {
			return prototype
		}
		return j.podOfIndex(prototype, indexes[i])
	})
}

// nextIndexes returns the first indexes that need a pod, at most count of them; upstream's firstPendingIndexes.
func (j *jobSync) nextIndexes(count int) []int {
	busy := j.succeededIndexes.union(j.failedIndexes...).union(completionIndexes(j.active)...)
	if replacesOnlyFailed(j.job) {
		busy = busy.union(completionIndexes(controller.FilterTerminatingPods(j.pods))...)
	}
	var ready []int
	for _, index := range busy.firstMissing(int(*j.job.Spec.Completions), count) {
		last := j.lastFailed[index]
		if last == nil || !j.mustWait(totalFailures(last)+1, finishTime(last)) {
			ready = append(ready, index)
		}
	}
	return ready
}

// podOfIndex returns the prototype's pod for the index.
func (j *jobSync) podOfIndex(prototype *v1.Pod, index int) *v1.Pod {
	pod := *prototype
	pod.Labels, pod.Annotations = maps.Clone(pod.Labels), maps.Clone(pod.Annotations)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(index))
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(index))
	pod.Spec.Hostname = fmt.Sprintf("%s-%d", j.job.Name, index)
	suffix := fmt.Sprintf("-%d-", index)
	pod.GenerateName = j.job.Name[:min(len(j.job.Name), names.MaxGeneratedNameLength-len(suffix))] + suffix
	if j.job.Spec.BackoffLimitPerIndex != nil {
		counted, ignored := 0, 0
		if last := j.lastFailed[index]; last != nil {
			counted, ignored = failureCounts(last)
			if judgeFailure(j.job.Spec.PodFailurePolicy, last).countsTowardsLimit() {
				counted++
			} else {
				ignored++
			}
		}
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobIndexFailureCountAnnotation, strconv.Itoa(counted))
		if ignored > 0 {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobIndexIgnoredFailureCountAnnotation, strconv.Itoa(ignored))
		}
	}
	return &pod
}

// recordFailures adds the pods that have just ended to the failures since the last success: newBackoffRecord in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/backoff_utils.go.
// If nothing is remembered of the Job, because it comes from a dump, pods that an earlier sync counted stand for what its controller knows.
// If each index has a limit, the last failed pod of an index holds the number, and nothing is remembered.
func (j *jobSync) recordFailures(succeeded, failed []*v1.Pod) {
	if j.job.Spec.BackoffLimitPerIndex != nil {
		return
	}
	known, found := j.JobBackoffs[j.job.UID]
	j.backoff = known
	j.backoff.Retry = time.Time{}
	if !found {
		before := j.status.UncountedTerminatedPods
		succeeded = append(succeeded, j.countedPods(v1.PodSucceeded, before.Succeeded)...)
		failed = append(failed, j.countedPods(v1.PodFailed, before.Failed)...)
	}
	j.keepsBackoff = found || len(succeeded)+len(failed) > 0
	var success, last time.Time
	for _, pod := range succeeded {
		j.backoff = cluster.JobBackoff{}
		if at := finishTime(pod); at.After(success) {
			success = at
		}
	}
	for _, pod := range failed {
		at := finishTime(pod)
		if !at.After(success) {
			continue
		}
		j.backoff.Failures++
		if at.After(last) {
			last = at
			j.backoff.Last = at
		}
	}
}

// countedPods returns the pods that ended in the phase and that an earlier sync has counted. It leaves out pods that are being deleted, since
// the Job itself may have requested that.
func (j *jobSync) countedPods(phase v1.PodPhase, before []types.UID) []*v1.Pod {
	var counted []*v1.Pod
	for _, pod := range j.pods {
		if pod.Status.Phase == phase && pod.DeletionTimestamp == nil && j.belongs(pod) && !j.uncounted(pod, before) {
			counted = append(counted, pod)
		}
	}
	return counted
}

// mustWait reports whether it is too early for another pod after the number of failures in a row; upstream's getRemainingTimeForFailuresCount.
// A time after now counts as long ago: it comes from a later step.
func (j *jobSync) mustWait(failures int, last time.Time) bool {
	const first, longest = 10 * time.Second, 10 * time.Minute
	if failures == 0 || last.After(j.Now.Time) {
		return false
	}
	wait := first
	for i := 1; i < failures && wait < longest; i++ {
		wait *= 2
	}
	until := last.Add(min(wait, longest))
	if !until.After(j.Now.Time) {
		return false
	}
	if j.backoff.Retry.IsZero() || until.Before(j.backoff.Retry) {
		j.backoff.Retry = until
	}
	return true
}
