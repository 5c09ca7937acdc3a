package cluster

import (
	"cmp"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// KindOf returns the object's kind. It reads the Go type, because typed objects need not set their kind. An unknown owner has the kind that
// its pods name, and a Param and a CustomResource have the kind of their content.
func KindOf(obj Object) string {
	switch o := obj.(type) {
	case *UnknownOwner:
		return o.Kind
	case *Param:
		return o.Kind
	case *CustomResource:
		return o.GetKind()
	}
	return reflect.TypeOf(obj).Elem().Name()
}

// Namespaced reports whether objects of the kind live in a namespace.
func Namespaced(kind string) bool {
	switch kind {
	case "Namespace", "Node", "PersistentVolume", "PriorityClass", "StorageClass", "CSINode", "CSIDriver", "RuntimeClass", "DeviceClass", "ResourceSlice",
		"DeviceTaintRule", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding":
		return false
	}
	return true
}

// PodSpec returns the spec of the pod, or of the pods that the object creates, and the spec's path in the object. It returns nil if the
// object creates no pods.
func PodSpec(obj Object) (*v1.PodSpec, string) {
	if pod, ok := obj.(*v1.Pod); ok {
		return &pod.Spec, "spec"
	}
	if template, path := Template(obj); template != nil {
		return &template.Spec, path + ".spec"
	}
	return nil, ""
}

// PodGroupOf returns the name of the pod group to which the pod, or the pods that the object creates, belong, or "" if there is none.
func PodGroupOf(obj Object) string {
	spec, _ := PodSpec(obj)
	if spec == nil || spec.SchedulingGroup == nil {
		return ""
	}
	return ptr.Deref(spec.SchedulingGroup.PodGroupName, "")
}

// AskedPodGroup returns the name of the pod group that the pod, or the pods that the object creates, ask another scheduler for: by the labels of
// Coscheduling of scheduler-plugins, or by the annotations of Volcano, which kube-scheduler ignores. "" if they ask for none.
func AskedPodGroup(obj Object) string {
	spec, _ := PodSpec(obj)
	if spec == nil {
		return ""
	}
	annotations := obj.GetAnnotations()
	if template, _ := Template(obj); template != nil {
		annotations = template.Annotations
	}
	labels := PodLabels(obj)
	name := cmp.Or(labels["scheduling.x-k8s.io/pod-group"], labels["pod-group.scheduling.sigs.k8s.io"])
	if spec.SchedulerName != v1.DefaultSchedulerName {
		name = cmp.Or(name, annotations["scheduling.k8s.io/group-name"], annotations["scheduling.volcano.sh/group-name"])
	}
	return name
}

// PodLabels returns the labels of the pod, or of the pods that the object creates.
func PodLabels(obj Object) map[string]string {
	if pod, ok := obj.(*v1.Pod); ok {
		return pod.Labels
	}
	if template, _ := Template(obj); template != nil {
		return template.Labels
	}
	return nil
}

// WorkloadKinds are the kinds of Kubernetes whose objects are pods or make pods.
var WorkloadKinds = []string{"Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"}

// Template returns the workload's pod template and the template's path in the object, or nil if the object is not a workload.
func Template(obj Object) (*v1.PodTemplateSpec, string) {
	switch o := obj.(type) {
	case *v1.ReplicationController:
		return o.Spec.Template, "spec.template"
	case *appsv1.Deployment:
		return &o.Spec.Template, "spec.template"
	case *appsv1.ReplicaSet:
		return &o.Spec.Template, "spec.template"
	case *appsv1.StatefulSet:
		return &o.Spec.Template, "spec.template"
	case *appsv1.DaemonSet:
		return &o.Spec.Template, "spec.template"
	case *UnknownOwner:
		return &o.Spec.Template, "spec.template"
	case *batchv1.Job:
		return &o.Spec.Template, "spec.template"
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template, "spec.jobTemplate.spec.template"
	}
	return nil, ""
}

// Selector returns the workload's selector. It is nil for Jobs, whose selector the API server generates, and for other objects.
func Selector(obj Object) *metav1.LabelSelector {
	switch o := obj.(type) {
	case *v1.ReplicationController:
		return &metav1.LabelSelector{MatchLabels: o.Spec.Selector}
	case *appsv1.Deployment:
		return o.Spec.Selector
	case *appsv1.ReplicaSet:
		return o.Spec.Selector
	case *appsv1.StatefulSet:
		return o.Spec.Selector
	case *appsv1.DaemonSet:
		return o.Spec.Selector
	}
	return nil
}

// Replicas returns the number of replicas that the object asks for, or false if its kind cannot be scaled.
func Replicas(obj Object) (int32, bool) {
	replicas := ReplicasOf(obj)
	switch {
	case replicas == nil:
		return 0, false
	case *replicas == nil:
		return 1, true // the API server's default
	}
	return **replicas, true
}

// ReplicasOf returns a pointer to the object's spec.replicas, or nil if its kind cannot be scaled.
func ReplicasOf(obj Object) **int32 {
	switch o := obj.(type) {
	case *v1.ReplicationController:
		return &o.Spec.Replicas
	case *appsv1.Deployment:
		return &o.Spec.Replicas
	case *appsv1.ReplicaSet:
		return &o.Spec.Replicas
	case *appsv1.StatefulSet:
		return &o.Spec.Replicas
	case *UnknownOwner:
		return &o.Spec.Replicas
	}
	return nil
}

// ClaimProtection is the finalizer with which Kubernetes keeps a claim that pods have. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/volume/util/finalizer.go.
const ClaimProtection = "kubernetes.io/pvc-protection"
