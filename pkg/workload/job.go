package workload

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage/names"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/faultline/faultline/pkg/cluster"
)

var (
	jobKind     = batchv1.SchemeGroupVersion.WithKind("Job")
	cronJobKind = batchv1.SchemeGroupVersion.WithKind("CronJob")
)

// jobs keeps as many pods running as each Job asks for: manageJob in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/job_controller.go. Nothing completes in a
// simulation; pods that had succeeded or failed before are counted.
func (p *pass) jobs() error {
	for _, job := range p.Jobs {
		if err := p.job(job); err != nil {
			return fmt.Errorf("%s: %w", describe(job), err)
		}
	}
	return nil
}

func (p *pass) job(job *batchv1.Job) error {
	for _, condition := range job.Status.Conditions {
		if (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) && condition.Status == v1.ConditionTrue {
			return nil
		}
	}
	var active []*v1.Pod
	succeeded, failed, ready := job.Status.Succeeded, int32(0), int32(0)
	done := map[int]bool{} // completion indexes that need no pod
	for _, pod := range p.owned.pods[job.UID] {
		switch {
		case controller.IsPodActive(pod):
			active = append(active, pod)
			done[completionIndex(pod)] = true
			if podutil.IsPodReady(pod) {
				ready++
			}
		case pod.Status.Phase == v1.PodSucceeded:
			done[completionIndex(pod)] = true
		case pod.Status.Phase == v1.PodFailed:
			failed++
		}
	}
	want := *job.Spec.Parallelism
	switch {
	case job.Spec.Suspend != nil && *job.Spec.Suspend, job.Spec.BackoffLimit != nil && failed > *job.Spec.BackoffLimit:
		want = 0
	case job.Spec.Completions != nil:
		want = max(0, min(want, *job.Spec.Completions-succeeded))
	case succeeded > 0: // a work queue that has begun to empty gets no new workers
		want = min(want, int32(len(active)))
	}
	excess := len(active) - int(want)
	switch {
	case excess > 0:
		p.delete(p.rankForDeletion(active, nil)[:excess]...)
	case excess < 0:
		if err := p.createJobPods(job, -excess, done); err != nil {
			return err
		}
	}
	status := job.Status
	status.Active, status.Ready = int32(len(active)), &ready
	if !reflect.DeepEqual(status, job.Status) {
		counted := *job
		counted.Status = status
		p.put(&counted)
	}
	return nil
}

func (p *pass) createJobPods(job *batchv1.Job, count int, done map[int]bool) error {
	prototype, err := p.prototype(&job.Spec.Template, job, jobKind)
	if err != nil {
		return err
	}
	if job.Spec.CompletionMode == nil || *job.Spec.CompletionMode != batchv1.IndexedCompletion {
		for range count {
			p.create(prototype)
		}
		return nil
	}
	for index := 0; index < int(*job.Spec.Completions) && count > 0; index++ {
		if done[index] {
			continue
		}
		count--
		pod := *prototype
		pod.Labels, pod.Annotations = maps.Clone(pod.Labels), maps.Clone(pod.Annotations)
		metav1.SetMetaDataLabel(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(index))
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(index))
		pod.Spec.Hostname = fmt.Sprintf("%s-%d", job.Name, index)
		suffix := fmt.Sprintf("-%d-", index)
		pod.GenerateName = job.Name[:min(len(job.Name), names.MaxGeneratedNameLength-len(suffix))] + suffix
		p.create(&pod)
	}
	return nil
}

// completionIndex is the pod's index in an indexed Job, or -1.
func completionIndex(pod *v1.Pod) int {
	index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return index
}

// RunCronJob returns the state with one more run of the CronJob, and the Job that is that run. A CronJob runs by itself at no
// time, since a simulation has no schedule.
func RunCronJob(s *cluster.State, cronJob *batchv1.CronJob) (*cluster.State, *batchv1.Job, error) {
	template := cronJob.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			// Upstream names a run after its minute since 1970; two runs in one minute need another number.
			Name:            fmt.Sprintf("%s-%d", cronJob.Name[:min(len(cronJob.Name), 52)], s.Now.Unix()/60+int64(s.Created)),
			Namespace:       cronJob.Namespace,
			Labels:          template.Labels,
			Annotations:     template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, cronJobKind)},
		},
		Spec: template.Spec,
	}
	next, _, err := Admit(s, job)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(next.Jobs, func(j *batchv1.Job) bool { return j.Namespace == job.Namespace && j.Name == job.Name })
	return next, next.Jobs[i], nil
}
