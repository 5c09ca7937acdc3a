package admission

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/helper/qos"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// validatePod follows
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go.
func validatePod(pod *core.Pod) field.ErrorList {
	podutil.DropDisabledPodFields(pod, nil)
	podutil.DefaultPodLevelResources(pod)
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = qos.GetPodQOS(pod)
	}
	opts := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
	opts.ResourceIsPod = true
	return corevalidation.ValidatePodCreate(pod, opts)
}

// adopt takes from an object of a live cluster what came after its creation and is refused on creation.
func adopt(internal runtime.Object) {
	if pod, ok := internal.(*core.Pod); ok {
		pod.Spec.EphemeralContainers = nil // they are for debugging and hold no resources
	}
}

// generateSelector gives a Job the selector and the template labels by which it knows its pods, unless it has its own; see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/batch/job/strategy.go.
func generateSelector(job *batch.Job) {
	if *job.Spec.ManualSelector {
		return
	}
	job.Spec.Template.Labels = withMissing(job.Spec.Template.Labels, map[string]string{
		batch.LegacyJobNameLabel:       job.Name,
		batch.JobNameLabel:             job.Name,
		batch.LegacyControllerUidLabel: string(job.UID),
		batch.ControllerUidLabel:       string(job.UID),
	})
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	job.Spec.Selector.MatchLabels = withMissing(job.Spec.Selector.MatchLabels, map[string]string{batch.ControllerUidLabel: string(job.UID)})
}

// withMissing returns the labels with those that they lack. A label that is there wins, and validation refuses it if it is wrong.
func withMissing(labels, more map[string]string) map[string]string {
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
