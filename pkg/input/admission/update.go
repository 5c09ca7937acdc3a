package admission

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
)

// keep gives an object that is applied over another of its name what it keeps of it: its identity, what controllers have
// written, and its status unless it brings its own. What it must not change is for update to find.
func keep(obj, old cluster.Object) error {
	created := obj.GetCreationTimestamp()
	obj.SetUID(old.GetUID())
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	if len(obj.GetOwnerReferences()) == 0 {
		obj.SetOwnerReferences(old.GetOwnerReferences())
	}
	keepAnnotations(obj, old)
	switch o := obj.(type) {
	case *v1.Pod:
		if err := keepPod(o, old.(*v1.Pod), created.IsZero()); err != nil {
			return err
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
	case *batchv1.Job:
		keepJob(o, old.(*batchv1.Job))
	case *appsv1.DaemonSet:
		if err := keepGeneration(o, old.(*appsv1.DaemonSet)); err != nil {
			return err
		}
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
	return nil
}

// keepPod gives a pod what the cluster has written into its spec. One that comes from a cluster has it all, but perhaps its node; to one
// that a manifest describes it is what the manifest does not say, as for kubectl apply, which finds the difference as here. The gates
// are those that are named: who leaves one out opens it.
func keepPod(pod, was *v1.Pod, described bool) error {
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName, pod.Status = was.Spec.NodeName, was.Status
	}
	if described {
		said := v1.Pod{Spec: pod.Spec}
		merged, err := merge(&said, &v1.Pod{Spec: was.Spec})
		if err != nil {
			return err
		}
		merged.Spec.SchedulingGates = pod.Spec.SchedulingGates
		pod.Spec = merged.Spec
		pod.Spec.Tolerations = defaultTolerations(pod.Spec.Tolerations)
		if err := defaultPodLevelResources(&pod.Spec); err != nil {
			return err
		}
	}
	pod.Status.ContainerStatuses = resized(pod.Status.ContainerStatuses, pod.Spec.Containers)
	pod.Status.InitContainerStatuses = resized(pod.Status.InitContainerStatuses, pod.Spec.InitContainers)
	return nil
}

// merge returns the pod with what another says of it.
func merge(said, pod *v1.Pod) (*v1.Pod, error) {
	modified, err := json.Marshal(said)
	if err != nil {
		return nil, err
	}
	current, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(said)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(modified, modified, current, meta, true)
	if err != nil {
		return nil, err
	}
	patched, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, patch, meta)
	if err != nil {
		return nil, err
	}
	merged := &v1.Pod{}
	return merged, json.Unmarshal(patched, merged)
}

// resized are the statuses of containers that have what they request: a kubelet takes what it gets, and at once.
func resized(statuses []v1.ContainerStatus, containers []v1.Container) []v1.ContainerStatus {
	statuses = slices.Clone(statuses)
	for i := range statuses {
		for j := range containers {
			if containers[j].Name == statuses[i].Name && statuses[i].Resources != nil {
				statuses[i].Resources = containers[j].Resources.DeepCopy()
				statuses[i].AllocatedResources = statuses[i].Resources.Requests
			}
		}
	}
	return statuses
}

// keepJob gives a Job the selector and the labels that the API server made for it, which its manifest can have for another UID.
func keepJob(job, was *batchv1.Job) {
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		return
	}
	job.Spec.Selector = was.Spec.Selector
	for _, key := range []string{"job-name", batchv1.JobNameLabel, "controller-uid", batchv1.ControllerUidLabel} {
		delete(job.Spec.Template.Labels, key)
		if value, found := was.Spec.Template.Labels[key]; found {
			metav1.SetMetaDataLabel(&job.Spec.Template.ObjectMeta, key, value)
		}
	}
}

// keepGeneration counts the templates of a DaemonSet that is counted at all, which those of dumps are: a pod with the number of the
// present one is up to date.
func keepGeneration(ds, was *appsv1.DaemonSet) error {
	generation, err := daemonutil.GetTemplateGeneration(was)
	if err != nil || generation == nil {
		return err
	}
	if !apiequality.Semantic.DeepEqual(ds.Spec.Template, was.Spec.Template) {
		*generation++
	}
	metav1.SetMetaDataAnnotation(&ds.ObjectMeta, appsv1.DeprecatedTemplateGeneration, strconv.FormatInt(*generation, 10))
	return nil
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
