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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
)

// update prepares the object to replace the old one, and validates the change. If the API server would refuse the change, update adds
// problems in the API server's words.
func (a *admitCall) update(obj, old cluster.Object) {
	if err := prepareForUpdate(obj, old); err != nil {
		a.addProblem(obj, "%w", err)
		return
	}
	kind := KindNamed(cluster.KindOf(obj))
	if _, unknown := obj.(*cluster.UnknownOwner); unknown || kind == nil { // the rules of a custom resource are unknown
		return
	}
	internal, err := legacyscheme.Scheme.ConvertToVersion(obj, runtime.InternalGroupVersioner)
	if err != nil {
		a.addProblem(obj, "%w", err)
		return
	}
	was, err := legacyscheme.Scheme.ConvertToVersion(old, runtime.InternalGroupVersioner)
	if err != nil {
		a.addProblem(obj, "%w", err)
		return
	}
	for _, problem := range errorMessages(kind.validate(internal, was)) {
		a.addProblem(obj, "%s", problem)
	}
}

// prepareForUpdate copies to the object the parts that it keeps of the old one: its identity, the fields that controllers write, and its
// status unless the object has its own. It does not check for changes of immutable fields; [Kind.validate] does.
func prepareForUpdate(obj, old cluster.Object) error {
	created := obj.GetCreationTimestamp()
	obj.SetUID(old.GetUID())
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	if len(obj.GetOwnerReferences()) == 0 {
		obj.SetOwnerReferences(old.GetOwnerReferences())
	}
	if created.IsZero() { // a manifest leaves them out; a patch removes them
		keepControllersAnnotations(obj, old)
	}
	switch o := obj.(type) {
	case *v1.Pod:
		if err := keepPodFields(o, old.(*v1.Pod), created.IsZero()); err != nil {
			return err
		}
	case *v1.PersistentVolume:
		was := old.(*v1.PersistentVolume)
		if o.Spec.ClaimRef == nil && created.IsZero() { // a manifest leaves it out; a patch removes it
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
		keepSelector(o, old.(*batchv1.Job))
	case *appsv1.DaemonSet:
		if err := raiseTemplateGeneration(o, old.(*appsv1.DaemonSet)); err != nil {
			return err
		}
	}
	now, was := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old).Elem()
	if status := now.FieldByName("Status"); status.IsValid() && status.IsZero() {
		status.Set(was.FieldByName("Status"))
	}
	generation := old.GetGeneration()
	if spec := now.FieldByName("Spec"); spec.IsValid() && !apiequality.Semantic.DeepEqual(spec.Interface(), was.FieldByName("Spec").Interface()) {
		generation++ // controllers see by it that the spec has changed
	}
	obj.SetGeneration(generation)
	return nil
}

// keepPodFields copies to a pod the fields that the cluster has written to its spec. A pod from a dump has them all, except perhaps its node. A
// pod from a manifest (described is true) keeps the fields that the manifest does not set, with the merge that kubectl apply makes. Its
// scheduling gates are exactly those of the manifest: a gate that the manifest leaves out is removed.
func keepPodFields(pod, was *v1.Pod, described bool) error {
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName, pod.Status = was.Spec.NodeName, was.Status
	}
	if described {
		merged, err := mergeManifest(&v1.Pod{Spec: was.Spec}, &v1.Pod{Spec: pod.Spec})
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
	pod.Status.ContainerStatuses = resizeStatuses(pod.Status.ContainerStatuses, pod.Spec.Containers)
	pod.Status.InitContainerStatuses = resizeStatuses(pod.Status.InitContainerStatuses, pod.Spec.InitContainers)
	return nil
}

// mergeManifest returns the pod with the fields that the manifest sets.
func mergeManifest(pod, manifest *v1.Pod) (*v1.Pod, error) {
	modified, err := json.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	current, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(manifest)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(modified, modified, current, meta, true)
	if err != nil {
		return nil, err
	}
	data, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, patch, meta)
	if err != nil {
		return nil, err
	}
	merged := &v1.Pod{}
	return merged, json.Unmarshal(data, merged)
}

// resizeStatuses returns the statuses with the containers' present resources, as after a resize that the kubelet accepts.
func resizeStatuses(statuses []v1.ContainerStatus, containers []v1.Container) []v1.ContainerStatus {
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

// raiseTemplateGeneration raises a DaemonSet's template generation if its template changes. Only DaemonSets from dumps have a template generation; a
// pod with the current number is up to date.
func raiseTemplateGeneration(ds, was *appsv1.DaemonSet) error {
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

// keepControllersAnnotations copies the annotations of controllers, but not of users, from the old object.
func keepControllersAnnotations(obj, old cluster.Object) {
	annotations := obj.GetAnnotations()
	for key, value := range old.GetAnnotations() {
		isControllers := slices.ContainsFunc(controllerAnnotationPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		if _, given := annotations[key]; given || !isControllers {
			continue
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
	}
	obj.SetAnnotations(annotations)
}

// controllerAnnotationPrefixes lists the prefixes of the annotations that controllers write.
var controllerAnnotationPrefixes = []string{"deployment.kubernetes.io/", "pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/"}
