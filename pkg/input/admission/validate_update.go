package admission

import (
	"cmp"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	serviceutil "k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// validatePodUpdate validates a change of a pod as two requests: pods/resize changes the resources of the containers, and an update changes
// everything else. See https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go.
func validatePodUpdate(pod, old *core.Pod) field.ErrorList {
	options := func(pod, old *core.Pod) corevalidation.PodValidationOptions {
		opts := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, &old.Spec, &pod.ObjectMeta, &old.ObjectMeta)
		opts.ResourceIsPod = true
		return opts
	}
	if old.Spec.NodeName == "" {
		old.Spec.NodeName = pod.Spec.NodeName // binding is not an update
	}
	var errs field.ErrorList
	if resized := copyWithResources(old, pod); resized != nil {
		errs = corevalidation.ValidatePodResize(resized, old, options(resized, old))
		old = resized
	}
	return append(errs, corevalidation.ValidatePodUpdate(pod, old, options(pod, old))...)
}

// copyWithResources returns a copy of the pod with the resources of the other. It returns nil if the resources are the same, or if the pods
// have different containers.
func copyWithResources(pod, other *core.Pod) *core.Pod {
	resized := pod.DeepCopy()
	resized.Spec.Resources = other.Spec.Resources
	for _, pair := range [][2][]core.Container{{resized.Spec.Containers, other.Spec.Containers}, {resized.Spec.InitContainers, other.Spec.InitContainers}} {
		if len(pair[0]) != len(pair[1]) {
			return nil
		}
		for i := range pair[0] {
			pair[0][i].Resources, pair[0][i].ResizePolicy = pair[1][i].Resources, pair[1][i].ResizePolicy
		}
	}
	if apiequality.Semantic.DeepEqual(resized.Spec, pod.Spec) {
		return nil
	}
	return resized
}

// assumedClusterIP stands for the address that the API server has given to a Service.
const assumedClusterIP = "10.96.0.10"

// validateServiceUpdate validates a change of a Service after what the API server has allocated is there: in the old Service, although a manifest
// lacks it, and kept in the new one, as initIPFamilyFields and patchAllocatedValues do in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/service/storage. So a Service with an address cannot become headless, nor
// the other way round.
func validateServiceUpdate(service, old *core.Service) field.ErrorList {
	service, old = service.DeepCopy(), old.DeepCopy()
	now, before := &service.Spec, &old.Spec
	if before.Type != core.ServiceTypeExternalName {
		before.ClusterIP = cmp.Or(before.ClusterIP, assumedClusterIP)
		if now.Type != core.ServiceTypeExternalName {
			now.ClusterIP = cmp.Or(now.ClusterIP, before.ClusterIP)
			if now.ClusterIP == before.ClusterIP && len(now.ClusterIPs) == 0 {
				now.ClusterIPs = before.ClusterIPs
			}
			if now.IPFamilyPolicy == nil && len(now.IPFamilies) == 0 {
				now.IPFamilyPolicy, now.IPFamilies = before.IPFamilyPolicy, before.IPFamilies
			}
		}
	}
	completeService(old)
	if serviceutil.NeedsHealthCheck(service) && serviceutil.NeedsHealthCheck(old) {
		now.HealthCheckNodePort = cmp.Or(now.HealthCheckNodePort, before.HealthCheckNodePort)
	}
	completeService(service)
	return corevalidation.ValidateServiceUpdate(service, old)
}

func validateReplicationControllerUpdate(rc, old *core.ReplicationController) field.ErrorList {
	podutil.DropDisabledTemplateFields(rc.Spec.Template, old.Spec.Template)
	return corevalidation.ValidateReplicationControllerUpdate(rc, old, podutil.GetValidationOptionsFromPodTemplate(rc.Spec.Template, old.Spec.Template))
}

func validateReplicaSetUpdate(rs, old *apps.ReplicaSet) field.ErrorList {
	podutil.DropDisabledTemplateFields(&rs.Spec.Template, &old.Spec.Template)
	return appsvalidation.ValidateReplicaSetUpdate(rs, old, podutil.GetValidationOptionsFromPodTemplate(&rs.Spec.Template, &old.Spec.Template))
}

func validateClaimUpdate(claim, old *core.PersistentVolumeClaim) field.ErrorList {
	return corevalidation.ValidatePersistentVolumeClaimUpdate(claim, old, corevalidation.ValidationOptionsForPersistentVolumeClaim(claim, old))
}

// validateJobUpdate does what ValidateUpdate does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/batch/job/strategy.go: a Job that is suspended and runs no pods may
// change the scheduling directives and the resources of its template.
func validateJobUpdate(job, old *batch.Job) field.ErrorList {
	podutil.DropDisabledTemplateFields(&job.Spec.Template, &old.Spec.Template)
	suspended := old.Spec.Suspend != nil && *old.Spec.Suspend && old.Status.Active == 0 &&
		(old.Status.StartTime == nil || batchvalidation.IsConditionTrue(old.Status.Conditions, batch.JobSuspended))
	return batchvalidation.ValidateJobUpdate(job, old, batchvalidation.JobValidationOptions{
		PodValidationOptions:             podutil.GetValidationOptionsFromPodTemplate(&job.Spec.Template, &old.Spec.Template),
		AllowMutableSchedulingDirectives: suspended,
		AllowMutablePodResources:         suspended,
		RequirePrefixedLabels:            true,
	})
}
