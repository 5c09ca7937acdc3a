package admission

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/utils/ptr"
)

// generateSelector gives a Job the selector and its template the labels by which the Job finds its pods, unless the Job brings its own. It
// keeps existing labels; validation refuses wrong ones. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/batch/job/strategy.go.
func generateSelector(job *batchv1.Job) {
	if ptr.Deref(job.Spec.ManualSelector, false) {
		return
	}
	job.Spec.Template.Labels = addMissingLabels(job.Spec.Template.Labels, map[string]string{
		batch.LegacyJobNameLabel:       job.Name,
		batch.JobNameLabel:             job.Name,
		batch.LegacyControllerUidLabel: string(job.UID),
		batch.ControllerUidLabel:       string(job.UID),
	})
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	job.Spec.Selector.MatchLabels = addMissingLabels(job.Spec.Selector.MatchLabels, map[string]string{batch.ControllerUidLabel: string(job.UID)})
}

// addMissingLabels returns the labels and more, without changing existing labels.
func addMissingLabels(labels, more map[string]string) map[string]string {
	if labels == nil {
		return more
	}
	for key, value := range more {
		if _, found := labels[key]; !found {
			labels[key] = value
		}
	}
	return labels
}

// keepSelector gives a Job the selector and the labels that the API server generated for it. Its manifest may have them for another UID.
func keepSelector(job, was *batchv1.Job) {
	if ptr.Deref(job.Spec.ManualSelector, false) {
		return
	}
	job.Spec.Selector = was.Spec.Selector
	for _, key := range []string{batch.LegacyJobNameLabel, batch.JobNameLabel, batch.LegacyControllerUidLabel, batch.ControllerUidLabel} {
		delete(job.Spec.Template.Labels, key)
		if value, found := was.Spec.Template.Labels[key]; found {
			metav1.SetMetaDataLabel(&job.Spec.Template.ObjectMeta, key, value)
		}
	}
}
