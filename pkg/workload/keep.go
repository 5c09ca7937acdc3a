package workload

import (
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/faultline/faultline/pkg/cluster"
)

// keep gives an object that is applied over another of its name what it keeps of it: its identity, what controllers have
// written, and its status unless it brings its own.
func keep(obj, old cluster.Object) {
	obj.SetUID(old.GetUID())
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	if len(obj.GetOwnerReferences()) == 0 {
		obj.SetOwnerReferences(old.GetOwnerReferences())
	}
	annotations := obj.GetAnnotations()
	for key, value := range old.GetAnnotations() {
		if _, given := annotations[key]; !given && byController(key) {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[key] = value
		}
	}
	obj.SetAnnotations(annotations)
	generation := old.GetGeneration()

	switch o := obj.(type) {
	case *v1.Node:
		keepStatus(&o.Status, old.(*v1.Node).Status)
	case *v1.Pod: // a pod's spec is immutable in all that matters here
		was := old.(*v1.Pod)
		if o.Spec.NodeName == "" {
			o.Spec, o.Status = was.Spec, was.Status
		}
		keepStatus(&o.Status, was.Status)
	case *v1.Service:
		keepStatus(&o.Status, old.(*v1.Service).Status)
	case *v1.PersistentVolume:
		was := old.(*v1.PersistentVolume)
		if o.Spec.ClaimRef == nil {
			o.Spec.ClaimRef = was.Spec.ClaimRef
		}
		if o.Status.Phase == v1.VolumePending { // the default
			o.Status = was.Status
		}
	case *v1.PersistentVolumeClaim:
		was := old.(*v1.PersistentVolumeClaim)
		if o.Spec.VolumeName == "" {
			o.Spec.VolumeName = was.Spec.VolumeName
		}
		if o.Spec.StorageClassName == nil {
			o.Spec.StorageClassName = was.Spec.StorageClassName
		}
		if o.Status.Phase == v1.ClaimPending { // the default
			o.Status = was.Status
		}
	case *appsv1.Deployment:
		was := old.(*appsv1.Deployment)
		keepStatus(&o.Status, was.Status)
		generation = nextGeneration(generation, o.Spec, was.Spec)
	case *appsv1.ReplicaSet:
		was := old.(*appsv1.ReplicaSet)
		keepStatus(&o.Status, was.Status)
		generation = nextGeneration(generation, o.Spec, was.Spec)
	case *appsv1.StatefulSet:
		was := old.(*appsv1.StatefulSet)
		keepStatus(&o.Status, was.Status)
		generation = nextGeneration(generation, o.Spec, was.Spec)
	case *appsv1.DaemonSet:
		was := old.(*appsv1.DaemonSet)
		keepStatus(&o.Status, was.Status)
		generation = nextGeneration(generation, o.Spec, was.Spec)
	case *batchv1.Job: // the template and the selector of a Job are immutable
		was := old.(*batchv1.Job)
		o.Spec.Template, o.Spec.Selector = was.Spec.Template, was.Spec.Selector
		keepStatus(&o.Status, was.Status)
		generation = nextGeneration(generation, o.Spec, was.Spec)
	case *batchv1.CronJob:
		keepStatus(&o.Status, old.(*batchv1.CronJob).Status)
	case *autoscalingv2.HorizontalPodAutoscaler:
		keepStatus(&o.Status, old.(*autoscalingv2.HorizontalPodAutoscaler).Status)
	case *policyv1.PodDisruptionBudget:
		was := old.(*policyv1.PodDisruptionBudget)
		keepStatus(&o.Status, was.Status)
		generation = nextGeneration(generation, o.Spec, was.Spec)
	}
	obj.SetGeneration(generation)
}

// byController tells whether it is a controller, and not the user, that writes an annotation of the key.
func byController(key string) bool {
	for _, prefix := range []string{"deployment.kubernetes.io/", "pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/", "faultline.dev/"} {
		if strings.HasPrefix(key, prefix) {
			return key != VolumeTopologyAnnotation
		}
	}
	return false
}

func keepStatus[T any](status *T, old T) {
	if reflect.ValueOf(status).Elem().IsZero() {
		*status = old
	}
}

// nextGeneration is one more where the spec has changed, as the API server counts.
func nextGeneration(generation int64, spec, old any) int64 {
	if apiequality.Semantic.DeepEqual(spec, old) {
		return generation
	}
	return generation + 1
}
