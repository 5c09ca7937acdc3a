package admission

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	nodevalidation "k8s.io/kubernetes/pkg/apis/node/validation"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	resourcevalidation "k8s.io/kubernetes/pkg/apis/resource/validation"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/scheduling/compositepodgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/podgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	schedulingworkload "k8s.io/kubernetes/pkg/registry/scheduling/workload"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
)

// Kind is a kind of object that a cluster.State holds.
type Kind struct {
	name, group string
	// versions are the versions that an API server serves. A State holds objects of the first one.
	versions []string
	// validateCreate prepares and validates an object in its internal version as PrepareForCreate and Validate of the kind's strategy do,
	// but keeps the status. See https://github.com/kubernetes/kubernetes/tree/v1.37.1/pkg/registry/<group>/<kind>/strategy.go.
	validateCreate func(internal runtime.Object) field.ErrorList
	// validateUpdate does the same for an object that replaces an older one. If it is nil, every valid object may replace the older one.
	validateUpdate func(internal, old runtime.Object) field.ErrorList
}

// kindTable lists all kinds that a cluster.State holds.
var kindTable = []*Kind{
	{"Namespace", "", []string{"v1"}, createValidator(validateNamespace), nil},
	{"Node", "", []string{"v1"}, createValidator(corevalidation.ValidateNode), nil},
	{"Pod", "", []string{"v1"}, createValidator(validatePod), updateValidator(validatePodUpdate)},
	{"Service", "", []string{"v1"}, createValidator(validateService), updateValidator(validateServiceUpdate)},
	{"ServiceAccount", "", []string{"v1"}, createValidator(corevalidation.ValidateServiceAccount), updateValidator(corevalidation.ValidateServiceAccountUpdate)},
	{"PersistentVolume", "", []string{"v1"}, createValidator(validatePersistentVolume), nil},
	{"PersistentVolumeClaim", "", []string{"v1"}, createValidator(validatePersistentVolumeClaim), updateValidator(validateClaimUpdate)},
	{"LimitRange", "", []string{"v1"}, createValidator(corevalidation.ValidateLimitRange), strategyValidator(limitrange.Strategy)},
	{"ResourceQuota", "", []string{"v1"}, createValidator(corevalidation.ValidateResourceQuota), strategyValidator(resourcequota.Strategy)},
	{"ReplicationController", "", []string{"v1"}, createValidator(validateReplicationController), updateValidator(validateReplicationControllerUpdate)},
	{"Deployment", "apps", []string{"v1"}, createValidator(validateDeployment), strategyValidator(deployment.Strategy)},
	{"ReplicaSet", "apps", []string{"v1"}, createValidator(validateReplicaSet), updateValidator(validateReplicaSetUpdate)},
	{"StatefulSet", "apps", []string{"v1"}, createValidator(validateStatefulSet), strategyValidator(statefulset.Strategy)},
	{"DaemonSet", "apps", []string{"v1"}, createValidator(validateDaemonSet), strategyValidator(daemonset.Strategy)},
	{"ControllerRevision", "apps", []string{"v1"}, createValidator(appsvalidation.ValidateControllerRevisionCreate), nil},
	{"Job", "batch", []string{"v1"}, createValidator(validateJob), updateValidator(validateJobUpdate)},
	{"CronJob", "batch", []string{"v1"}, createValidator(validateCronJob), strategyValidator(cronjob.Strategy)},
	{"HorizontalPodAutoscaler", "autoscaling", []string{"v2", "v1"}, createValidator(validateHorizontalPodAutoscaler), nil},
	{"PodDisruptionBudget", "policy", []string{"v1"}, createValidator(validatePodDisruptionBudget), strategyValidator(poddisruptionbudget.Strategy)},
	{"PriorityClass", "scheduling.k8s.io", []string{"v1"}, createValidator(schedulingvalidation.ValidatePriorityClass), strategyValidator(priorityclass.Strategy)},
	{"StorageClass", "storage.k8s.io", []string{"v1"}, createValidator(storagevalidation.ValidateStorageClass), strategyValidator(storageclass.Strategy)},
	{"CSINode", "storage.k8s.io", []string{"v1"}, createValidator(storagevalidation.ValidateCSINode), nil},
	{"CSIDriver", "storage.k8s.io", []string{"v1"}, createValidator(validateCSIDriver), strategyValidator(csidriver.Strategy)},
	{"CSIStorageCapacity", "storage.k8s.io", []string{"v1", "v1beta1"}, createValidator(validateCSIStorageCapacity), strategyValidator(csistoragecapacity.Strategy)},
	{"RuntimeClass", "node.k8s.io", []string{"v1"}, createValidator(nodevalidation.ValidateRuntimeClass), strategyValidator(runtimeclass.Strategy)},
	{"DeviceClass", "resource.k8s.io", []string{"v1", "v1beta2", "v1beta1"}, createValidator(resourcevalidation.ValidateDeviceClass), strategyValidator(deviceclass.Strategy)},
	{"ResourceSlice", "resource.k8s.io", []string{"v1", "v1beta2", "v1beta1"}, createValidator(resourcevalidation.ValidateResourceSlice), updateValidator(resourcevalidation.ValidateResourceSliceUpdate)},
	{"DeviceTaintRule", "resource.k8s.io", []string{"v1", "v1beta2"}, createValidator(resourcevalidation.ValidateDeviceTaintRule), updateValidator(resourcevalidation.ValidateDeviceTaintRuleUpdate)},
	{"ResourceClaim", "resource.k8s.io", []string{"v1", "v1beta2", "v1beta1"}, createValidator(resourcevalidation.ValidateResourceClaim), updateValidator(resourcevalidation.ValidateResourceClaimUpdate)},
	{"ResourceClaimTemplate", "resource.k8s.io", []string{"v1", "v1beta2", "v1beta1"}, createValidator(resourcevalidation.ValidateResourceClaimTemplate), updateValidator(resourcevalidation.ValidateResourceClaimTemplateUpdate)},
	{"Workload", "scheduling.k8s.io", []string{"v1beta1", "v1alpha3"}, createValidator(validateWorkload), strategyValidator(schedulingworkload.Strategy)},
	{validatingPolicies, admissionv1.GroupName, []string{"v1", "v1beta1"}, policyValidator(validateValidatingPolicy), nil},
	{"ValidatingAdmissionPolicyBinding", admissionv1.GroupName, []string{"v1", "v1beta1"}, policyValidator(validateValidatingBinding), nil},
	{mutatingPolicies, admissionv1.GroupName, []string{"v1", "v1beta1"}, policyValidator(validateMutatingPolicy), nil},
	{"MutatingAdmissionPolicyBinding", admissionv1.GroupName, []string{"v1", "v1beta1"}, policyValidator(validateMutatingBinding), nil},
	{"PodGroup", "scheduling.k8s.io", []string{"v1beta1", "v1alpha3"}, createValidator(validatePodGroup), strategyValidator(podgroup.NewStrategy())},
	{"CompositePodGroup", "scheduling.k8s.io", []string{"v1alpha3"}, createValidator(validateCompositePodGroup), strategyValidator(compositepodgroup.NewStrategy())},
}

var (
	kindsByName = map[string]*Kind{}
	apiGroups   = sets.New[string]()
)

func init() {
	for _, k := range kindTable {
		kindsByName[k.name] = k
		apiGroups.Insert(k.group)
	}
}

// KindNamed returns the kind of that name, or nil if a State holds no such objects.
func KindNamed(name string) *Kind { return kindsByName[name] }

// IsGroup reports whether name is the API group of one of the kinds.
func IsGroup(name string) bool { return apiGroups.Has(name) }

// Serves reports whether an API server serves the kind under the group and version.
func (k *Kind) Serves(gv schema.GroupVersion) bool {
	return k.group == gv.Group && slices.Contains(k.versions, gv.Version)
}

// GroupVersion returns the version of the kind's objects in a State.
func (k *Kind) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: k.group, Version: k.versions[0]}
}

// validate validates a new object, or an object that replaces the old one. Both are in their internal version; old may be nil.
func (k *Kind) validate(internal, old runtime.Object) field.ErrorList {
	switch {
	case old == nil:
		return k.validateCreate(internal)
	case k.validateUpdate == nil:
		return nil
	}
	internal.(metav1.Object).SetResourceVersion("1") // an update names the version that it changes
	old.(metav1.Object).SetResourceVersion("1")
	return k.validateUpdate(internal, old)
}

func createValidator[T runtime.Object](validate func(T) field.ErrorList) func(runtime.Object) field.ErrorList {
	return func(obj runtime.Object) field.ErrorList { return validate(obj.(T)) }
}

func updateValidator[T runtime.Object](validate func(obj, old T) field.ErrorList) func(obj, old runtime.Object) field.ErrorList {
	return func(obj, old runtime.Object) field.ErrorList { return validate(obj.(T), old.(T)) }
}

// strategyValidator returns a function that validates an update by upstream's own strategy. The strategies of some kinds would import a whole API
// server; validate_update.go has copies of these.
func strategyValidator(strategy rest.RESTUpdateStrategy) func(obj, old runtime.Object) field.ErrorList {
	return func(obj, old runtime.Object) field.ErrorList {
		strategy.PrepareForUpdate(context.Background(), obj, old)
		return strategy.ValidateUpdate(context.Background(), obj, old)
	}
}
