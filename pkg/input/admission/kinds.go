package admission

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
)

// kind is a kind that a cluster.State holds.
type kind struct {
	name, group string
	// versions are those that an API server serves; the first is the one that cluster.State holds.
	versions []string
	// validate prepares and validates an object in its internal version as the PrepareForCreate and Validate of the kind's
	// strategy do, without resetting the status:
	// https://github.com/kubernetes/kubernetes/tree/v1.37.1/pkg/registry/<group>/<kind>/strategy.go.
	validate func(internal runtime.Object) field.ErrorList
}

var table = []*kind{
	{"Namespace", "", []string{"v1"}, creating(corevalidation.ValidateNamespace)},
	{"Node", "", []string{"v1"}, creating(corevalidation.ValidateNode)},
	{"Pod", "", []string{"v1"}, creating(validatePod)},
	{"Service", "", []string{"v1"}, creating(validateService)},
	{"PersistentVolume", "", []string{"v1"}, creating(validatePersistentVolume)},
	{"PersistentVolumeClaim", "", []string{"v1"}, creating(validatePersistentVolumeClaim)},
	{"Deployment", "apps", []string{"v1"}, creating(validateDeployment)},
	{"ReplicaSet", "apps", []string{"v1"}, creating(validateReplicaSet)},
	{"StatefulSet", "apps", []string{"v1"}, creating(validateStatefulSet)},
	{"DaemonSet", "apps", []string{"v1"}, creating(validateDaemonSet)},
	{"ControllerRevision", "apps", []string{"v1"}, creating(appsvalidation.ValidateControllerRevisionCreate)},
	{"Job", "batch", []string{"v1"}, creating(validateJob)},
	{"CronJob", "batch", []string{"v1"}, creating(validateCronJob)},
	{"HorizontalPodAutoscaler", "autoscaling", []string{"v2", "v1"}, creating(validateHorizontalPodAutoscaler)},
	{"PodDisruptionBudget", "policy", []string{"v1"}, creating(validatePodDisruptionBudget)},
	{"PriorityClass", "scheduling.k8s.io", []string{"v1"}, creating(schedulingvalidation.ValidatePriorityClass)},
	{"StorageClass", "storage.k8s.io", []string{"v1"}, creating(storagevalidation.ValidateStorageClass)},
	{"CSINode", "storage.k8s.io", []string{"v1"}, creating(storagevalidation.ValidateCSINode)},
}

var (
	kinds  = map[string]*kind{}
	groups = sets.New[string]()
)

func init() {
	for _, k := range table {
		kinds[k.name] = k
		groups.Insert(k.group)
	}
}

// KindNamed returns the kind of that name; nil if a State holds no such objects.
func KindNamed(name string) *kind { return kinds[name] }

// IsGroup tells whether it is the API group of one of the kinds.
func IsGroup(name string) bool { return groups.Has(name) }

// Serves tells whether an API server knows the kind under the group and version.
func (k *kind) Serves(gv schema.GroupVersion) bool {
	return k.group == gv.Group && slices.Contains(k.versions, gv.Version)
}

// GroupVersion is the version that a State holds.
func (k *kind) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: k.group, Version: k.versions[0]}
}

func creating[T runtime.Object](validate func(T) field.ErrorList) func(runtime.Object) field.ErrorList {
	return func(obj runtime.Object) field.ErrorList { return validate(obj.(T)) }
}
