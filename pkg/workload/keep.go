package workload

import (
	"reflect"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
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
	keepAnnotations(obj, old)
	switch o := obj.(type) {
	case *v1.Pod: // a pod's spec is immutable in all that matters here
		was := old.(*v1.Pod)
		if o.Spec.NodeName == "" {
			o.Spec, o.Status = was.Spec, was.Status
		}
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
	case *batchv1.Job: // the template and the selector of a Job are immutable
		was := old.(*batchv1.Job)
		o.Spec.Template, o.Spec.Selector = was.Spec.Template, was.Spec.Selector
	}
	now, was := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old).Elem()
	if status := now.FieldByName("Status"); status.IsValid() && status.IsZero() {
		status.Set(was.FieldByName("Status"))
	}
	generation := old.GetGeneration()
	if spec := now.FieldByName("Spec"); spec.IsValid() && !apiequality.Semantic.DeepEqual(spec.Interface(), was.FieldByName("Spec").Interface()) {
		generation++ // by which controllers see that the spec has changed
	}
	obj.SetGeneration(generation)
}

// keepAnnotations keeps what controllers have annotated.
func keepAnnotations(obj, old cluster.Object) {
	annotations := obj.GetAnnotations()
	for key, value := range old.GetAnnotations() {
		if _, given := annotations[key]; given || !byController(key) {
			continue
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
	}
	obj.SetAnnotations(annotations)
}

// byController tells whether it is a controller, and not the user, that writes an annotation of the key.
func byController(key string) bool {
	for _, prefix := range []string{"deployment.kubernetes.io/", "pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
