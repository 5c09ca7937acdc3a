package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	jobutil "k8s.io/kubernetes/pkg/api/job"
	pvutil "k8s.io/kubernetes/pkg/api/persistentvolume"
	pvcutil "k8s.io/kubernetes/pkg/api/persistentvolumeclaim"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	serviceutil "k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/helper/qos"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	"k8s.io/kubernetes/pkg/apis/storage"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/registry/scheduling/compositepodgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/podgroup"
	schedulingworkload "k8s.io/kubernetes/pkg/registry/scheduling/workload"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	volumevalidation "k8s.io/kubernetes/pkg/volume/validation"
)

// validatePod does what the strategy does in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go.
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

// anyHealthCheckNodePort is the first port of the default --service-node-port-range. The port has no effect on placement.
const anyHealthCheckNodePort = 30000

func validateService(service *core.Service) field.ErrorList {
	completeService(service)
	return corevalidation.ValidateServiceCreate(service)
}

// completeService sets the fields that the API server sets before validation. It sets clusterIPs as normalizeClusterIPs does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/service/storage/storage.go, and healthCheckNodePort in place of
// allocHealthCheckNodePort in alloc.go beside it. The other fields that the API server allocates may be missing.
func completeService(service *core.Service) {
	if service.Spec.ClusterIP != "" && len(service.Spec.ClusterIPs) == 0 {
		service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
	}
	if serviceutil.NeedsHealthCheck(service) && service.Spec.HealthCheckNodePort == 0 {
		service.Spec.HealthCheckNodePort = anyHealthCheckNodePort
	}
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

func validateReplicationController(rc *core.ReplicationController) field.ErrorList {
	podutil.DropDisabledTemplateFields(rc.Spec.Template, nil)
	return corevalidation.ValidateReplicationController(rc, podutil.GetValidationOptionsFromPodTemplate(rc.Spec.Template, nil))
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

func validateCSIDriver(driver *storage.CSIDriver) field.ErrorList {
	csidriver.Strategy.PrepareForCreate(context.Background(), driver)
	return csidriver.Strategy.Validate(context.Background(), driver)
}

func validateCSIStorageCapacity(capacity *storage.CSIStorageCapacity) field.ErrorList {
	return storagevalidation.ValidateCSIStorageCapacity(capacity, storagevalidation.CSIStorageCapacityValidateOptions{})
}

func validateWorkload(workload *scheduling.Workload) field.ErrorList {
	schedulingworkload.Strategy.PrepareForCreate(context.Background(), workload)
	return schedulingworkload.Strategy.Validate(context.Background(), workload)
}

func validatePodGroup(group *scheduling.PodGroup) field.ErrorList {
	strategy, status := podgroup.NewStrategy(), group.Status
	strategy.PrepareForCreate(context.Background(), group)
	group.Status = status
	return strategy.Validate(context.Background(), group)
}

func validateCompositePodGroup(group *scheduling.CompositePodGroup) field.ErrorList {
	strategy, status := compositepodgroup.NewStrategy(), group.Status
	strategy.PrepareForCreate(context.Background(), group)
	group.Status = status
	problems := strategy.Validate(context.Background(), group)
	if !utilfeature.DefaultFeatureGate.Enabled(features.CompositePodGroup) { // the API server does not serve the kind
		problems = append(problems, field.Forbidden(field.NewPath("kind"), "needs the feature gates GenericWorkload, TopologyAwareWorkloadScheduling and CompositePodGroup"))
	}
	return problems
}

func validateHorizontalPodAutoscaler(hpa *autoscaling.HorizontalPodAutoscaler) field.ErrorList {
	opts := autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{
		MinReplicasLowerBound: 1,
		ScaleTargetRefValidationOptions: autoscalingvalidation.CrossVersionObjectReferenceValidationOptions{
			RequiredCoveredByDeclarative: true,
			// The only scalable kind of the core API has no group.
			AllowEmptyAPIGroup: hpa.Spec.ScaleTargetRef.Kind == "ReplicationController",
		},
		ObjectMetricsValidationOptions: autoscalingvalidation.CrossVersionObjectReferenceValidationOptions{AllowEmptyAPIGroup: true},
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.HPAScaleToZero) {
		opts.MinReplicasLowerBound = 0
	}
	return autoscalingvalidation.ValidateHorizontalPodAutoscaler(hpa, opts)
}

// templateOptions drops the fields of disabled features from a pod template, and returns the options for its validation.
func templateOptions(template *core.PodTemplateSpec) corevalidation.PodValidationOptions {
	podutil.DropDisabledTemplateFields(template, nil)
	return podutil.GetValidationOptionsFromPodTemplate(template, nil)
}
