package manifest

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	jobutil "k8s.io/kubernetes/pkg/api/job"
	pvutil "k8s.io/kubernetes/pkg/api/persistentvolume"
	pvcutil "k8s.io/kubernetes/pkg/api/persistentvolumeclaim"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	serviceutil "k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
	"k8s.io/kubernetes/pkg/features"
	volumevalidation "k8s.io/kubernetes/pkg/volume/validation"

	"github.com/faultline/faultline/pkg/cluster"
)

// kind is a kind that a cluster.State holds.
type kind struct {
	name, group string
	// versions are those that an API server serves; the first is the one that cluster.State holds.
	versions   []string
	namespaced bool
	holds      cluster.Object
	// validate prepares and validates an object in its internal version as the PrepareForCreate and Validate of the kind's
	// strategy do, without resetting the status:
	// https://github.com/kubernetes/kubernetes/tree/v1.37.1/pkg/registry/<group>/<kind>/strategy.go.
	validate func(internal runtime.Object) field.ErrorList
}

const namespaced, clusterWide = true, false

var table = []*kind{
	{"Namespace", "", []string{"v1"}, clusterWide, &v1.Namespace{}, on(corevalidation.ValidateNamespace)},
	{"Node", "", []string{"v1"}, clusterWide, &v1.Node{}, on(corevalidation.ValidateNode)},
	{"Pod", "", []string{"v1"}, namespaced, &v1.Pod{}, on(validatePod)},
	{"Service", "", []string{"v1"}, namespaced, &v1.Service{}, on(validateService)},
	{"PersistentVolume", "", []string{"v1"}, clusterWide, &v1.PersistentVolume{}, on(validatePersistentVolume)},
	{"PersistentVolumeClaim", "", []string{"v1"}, namespaced, &v1.PersistentVolumeClaim{}, on(validatePersistentVolumeClaim)},
	{"Deployment", "apps", []string{"v1"}, namespaced, &appsv1.Deployment{}, on(validateDeployment)},
	{"ReplicaSet", "apps", []string{"v1"}, namespaced, &appsv1.ReplicaSet{}, on(validateReplicaSet)},
	{"StatefulSet", "apps", []string{"v1"}, namespaced, &appsv1.StatefulSet{}, on(validateStatefulSet)},
	{"DaemonSet", "apps", []string{"v1"}, namespaced, &appsv1.DaemonSet{}, on(validateDaemonSet)},
	{"ControllerRevision", "apps", []string{"v1"}, namespaced, &appsv1.ControllerRevision{}, on(appsvalidation.ValidateControllerRevisionCreate)},
	{"Job", "batch", []string{"v1"}, namespaced, &batchv1.Job{}, on(validateJob)},
	{"CronJob", "batch", []string{"v1"}, namespaced, &batchv1.CronJob{}, on(validateCronJob)},
	{"HorizontalPodAutoscaler", "autoscaling", []string{"v2", "v1"}, namespaced, &autoscalingv2.HorizontalPodAutoscaler{}, on(validateHorizontalPodAutoscaler)},
	{"PodDisruptionBudget", "policy", []string{"v1"}, namespaced, &policyv1.PodDisruptionBudget{}, on(validatePodDisruptionBudget)},
	{"PriorityClass", "scheduling.k8s.io", []string{"v1"}, clusterWide, &schedulingv1.PriorityClass{}, on(schedulingvalidation.ValidatePriorityClass)},
	{"StorageClass", "storage.k8s.io", []string{"v1"}, clusterWide, &storagev1.StorageClass{}, on(storagevalidation.ValidateStorageClass)},
	{"CSINode", "storage.k8s.io", []string{"v1"}, clusterWide, &storagev1.CSINode{}, on(storagevalidation.ValidateCSINode)},
}

var (
	kinds   = map[string]*kind{}       // by name
	kindsBy = map[reflect.Type]*kind{} // by the type that cluster.State holds
	groups  = sets.New[string]()       // their API groups
)

func init() {
	for _, k := range table {
		kinds[k.name], kindsBy[reflect.TypeOf(k.holds)] = k, k
		groups.Insert(k.group)
	}
}

func kindOf(obj cluster.Object) *kind { return kindsBy[reflect.TypeOf(obj)] }

func (k *kind) apiVersion() string {
	if k.group == "" {
		return k.versions[0]
	}
	return k.group + "/" + k.versions[0]
}

// describe names an object of the kind as errors do: "Deployment default/web", "Node n1".
func (k *kind) describe(namespace, name string) string {
	switch {
	case name == "":
		return k.name + " without a name"
	case !k.namespaced:
		return fmt.Sprintf("%s %s", k.name, name)
	case namespace == "":
		namespace = v1.NamespaceDefault
	}
	return fmt.Sprintf("%s %s/%s", k.name, namespace, name)
}

func on[T runtime.Object](validate func(T) field.ErrorList) func(runtime.Object) field.ErrorList {
	return func(obj runtime.Object) field.ErrorList { return validate(obj.(T)) }
}

// aHealthCheckNodePort is the first port of the default --service-node-port-range. Which one it is has no effect on placement.
const aHealthCheckNodePort = 30000

// validateService fills in what the API server does before it validates: clusterIPs, by normalizeClusterIPs in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/service/storage/storage.go, and the port at which load
// balancers ask for local endpoints, by allocHealthCheckNodePort in alloc.go beside it. What else it allocates may be missing.
func validateService(service *core.Service) field.ErrorList {
	if service.Spec.ClusterIP != "" && len(service.Spec.ClusterIPs) == 0 {
		service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
	}
	if serviceutil.NeedsHealthCheck(service) && service.Spec.HealthCheckNodePort == 0 {
		service.Spec.HealthCheckNodePort = aHealthCheckNodePort
	}
	return corevalidation.ValidateServiceCreate(service)
}

func validatePersistentVolume(pv *core.PersistentVolume) field.ErrorList {
	pvutil.DropDisabledSpecFields(&pv.Spec, nil)
	errs := corevalidation.ValidatePersistentVolume(pv, corevalidation.ValidationOptionsForPersistentVolume(pv, nil))
	return append(errs, volumevalidation.ValidatePersistentVolume(pv)...)
}

func validatePersistentVolumeClaim(pvc *core.PersistentVolumeClaim) field.ErrorList {
	pvcutil.DropDisabledFields(&pvc.Spec, nil)
	pvcutil.EnforceDataSourceBackwardsCompatibility(&pvc.Spec, nil)
	pvcutil.NormalizeDataSources(&pvc.Spec)
	return corevalidation.ValidatePersistentVolumeClaim(pvc, corevalidation.ValidationOptionsForPersistentVolumeClaim(pvc, nil))
}

func validateDeployment(d *apps.Deployment) field.ErrorList {
	return appsvalidation.ValidateDeployment(d, templateOptions(&d.Spec.Template))
}

func validateReplicaSet(rs *apps.ReplicaSet) field.ErrorList {
	return appsvalidation.ValidateReplicaSet(rs, templateOptions(&rs.Spec.Template))
}

func validateStatefulSet(s *apps.StatefulSet) field.ErrorList {
	if s.Spec.UpdateStrategy.RollingUpdate != nil && !utilfeature.DefaultFeatureGate.Enabled(features.MaxUnavailableStatefulSet) {
		s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = nil
	}
	return appsvalidation.ValidateStatefulSet(s, appsvalidation.StatefulSetValidationOptions{
		AllowStatefulSetRecreateStrategy: utilfeature.DefaultFeatureGate.Enabled(features.StatefulSetRecreateStrategy),
	}, templateOptions(&s.Spec.Template))
}

func validateDaemonSet(ds *apps.DaemonSet) field.ErrorList {
	ds.Spec.TemplateGeneration = max(ds.Spec.TemplateGeneration, 1)
	return appsvalidation.ValidateDaemonSet(ds, templateOptions(&ds.Spec.Template))
}

func validateJob(job *batch.Job) field.ErrorList {
	generateSelector(job)
	jobutil.DropDisabledFields(&job.Spec, nil)
	return batchvalidation.ValidateJobCreate(job, batchvalidation.JobValidationOptions{
		PodValidationOptions:  templateOptions(&job.Spec.Template),
		RequirePrefixedLabels: true,
	})
}

func validateCronJob(cronJob *batch.CronJob) field.ErrorList {
	jobutil.DropDisabledFields(&cronJob.Spec.JobTemplate.Spec, nil)
	return batchvalidation.ValidateCronJobCreate(cronJob, templateOptions(&cronJob.Spec.JobTemplate.Spec.Template))
}

func validatePodDisruptionBudget(pdb *policy.PodDisruptionBudget) field.ErrorList {
	return policyvalidation.ValidatePodDisruptionBudget(pdb, policyvalidation.PodDisruptionBudgetValidationOptions{})
}

func validateHorizontalPodAutoscaler(hpa *autoscaling.HorizontalPodAutoscaler) field.ErrorList {
	opts := autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{
		MinReplicasLowerBound: 1,
		ScaleTargetRefValidationOptions: autoscalingvalidation.CrossVersionObjectReferenceValidationOptions{
			RequiredCoveredByDeclarative: true,
			// The one scalable kind of the core API has no group.
			AllowEmptyAPIGroup: hpa.Spec.ScaleTargetRef.Kind == "ReplicationController",
		},
		ObjectMetricsValidationOptions: autoscalingvalidation.CrossVersionObjectReferenceValidationOptions{AllowEmptyAPIGroup: true},
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.HPAScaleToZero) {
		opts.MinReplicasLowerBound = 0
	}
	return autoscalingvalidation.ValidateHorizontalPodAutoscaler(hpa, opts)
}

// templateOptions drops the fields of disabled features from a pod template and returns how to validate it.
func templateOptions(template *core.PodTemplateSpec) corevalidation.PodValidationOptions {
	podutil.DropDisabledTemplateFields(template, nil)
	return podutil.GetValidationOptionsFromPodTemplate(template, nil)
}
