package controller

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

var cronJobKind = batchv1.SchemeGroupVersion.WithKind("CronJob")

// RunCronJob runs the CronJob once: it returns the state with a new Job, and the Job. Nothing else runs a CronJob, since a simulation has
// no schedule.
func RunCronJob(s *cluster.State, cronJob *batchv1.CronJob) (*cluster.State, *batchv1.Job, error) {
	template := cronJob.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			// Upstream names a run after its minute since 1970. Two runs in one minute need different names here.
			Name:            fmt.Sprintf("%s-%d", cronJob.Name[:min(len(cronJob.Name), 52)], s.Now.Unix()/60+int64(s.Created)),
			Namespace:       cronJob.Namespace,
			Labels:          template.Labels,
			Annotations:     template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, cronJobKind)},
		},
		Spec: template.Spec,
	}
	next, _, err := admission.Admit(s, job)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(next.Jobs, func(j *batchv1.Job) bool { return j.Namespace == job.Namespace && j.Name == job.Name })
	return next, next.Jobs[i], nil
}
