package admission

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	nodevalidation "k8s.io/kubernetes/pkg/apis/node/validation"
	resourcevalidation "k8s.io/kubernetes/pkg/apis/resource/validation"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/cluster"
)

// Create does what the API server does with an object in a POST request, in the same order, and returns the object in the version that
// cluster.State holds, or the problems in the API server's words. gv is the version of the object, and source its place in a file. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/registry/rest/create.go. Unlike the API server,
// Create keeps the status, so that the dump of a live cluster stays complete.
func Create(obj cluster.Object, gv schema.GroupVersion, source string) (cluster.Object, []string) {
	kind := KindNamed(cluster.KindOf(obj))
	dumped := obj.GetUID() != "" || obj.GetResourceVersion() != ""
	identify(obj, source)
	undated, err := undatedTaints(obj, kind)
	if err != nil {
		return nil, []string{err.Error()}
	}
	legacyscheme.Scheme.Default(obj)
	if job, ok := obj.(*batchv1.Job); ok {
		generateSelector(job)
	}
	internal, err := legacyscheme.Scheme.UnsafeConvertToVersion(obj, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, []string{err.Error()}
	}
	if pod, ok := internal.(*core.Pod); ok && dumped {
		pod.Spec.EphemeralContainers = nil // not allowed on creation; they are for debugging and hold no resources
	}
	errs := kind.validateCreate(internal)
	if len(errs) == 0 {
		errs = apivalidation.ValidateObjectMetaAccessor(obj, cluster.Namespaced(kind.name), checkPathSegment, field.NewPath("metadata"))
	}
	errs = rest.ValidateDeclarativelyWithMigrationChecks(requestContext(gv), legacyscheme.Scheme, internal, nil, errs, operation.Create, declarativeConfig())
	if len(errs) > 0 {
		return nil, errorMessages(errs)
	}
	external, err := legacyscheme.Scheme.UnsafeConvertToVersion(internal, kind.GroupVersion())
	if err != nil {
		return nil, []string{err.Error()}
	}
	external.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	clearTaintTimes(external, undated)
	setStatus(external)
	return external.(cluster.Object), nil
}

// setStatus sets the parts of the status that the API server, controllers and the kubelet would set at once or soon, and that the scheduler
// waits for.
func setStatus(obj runtime.Object) {
	switch o := obj.(type) {
	case *v1.Pod:
		cluster.MergeLabelKeys(o)
		switch {
		case o.Status.Phase != "":
		case o.Spec.NodeName == "":
			o.Status.Phase = v1.PodPending
		default:
			*o = *cluster.BindPod(o, o.Spec.NodeName, cluster.Epoch.Time)
		}
	case *v1.PersistentVolume:
		// The volume controller marks each new volume Available; the scheduler uses no others.
		if o.Status.Phase == "" || o.Status.Phase == v1.VolumePending {
			o.Status.Phase = v1.VolumeAvailable
		}
	}
}

// requestContext returns the context in which the API server validates a request of that version. It discards the log, which is useful only
// to upstream's developers.
func requestContext(gv schema.GroupVersion) context.Context {
	ctx := klog.NewContext(context.Background(), logr.Discard())
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{APIGroup: gv.Group, APIVersion: gv.Version})
}

var normalizationRules = slices.Concat(nodevalidation.NodeNormalizationRules, resourcevalidation.ResourceNormalizationRules)

// declarativeConfig returns the options to which the validation tags of all kinds refer, as in the DeclarativeValidationConfig of their
// strategies. See https://github.com/kubernetes/kubernetes/tree/v1.37.1/pkg/registry.
func declarativeConfig() rest.DeclarativeValidationConfig {
	enabled := utilfeature.DefaultFeatureGate.Enabled
	return rest.DeclarativeValidationConfig{NormalizationRules: normalizationRules, Options: map[string]bool{
		string(features.InPlacePodVerticalScalingSchedulerPreemption): enabled(features.InPlacePodVerticalScalingSchedulerPreemption),
		string(features.WorkloadWithJob):                              enabled(features.WorkloadWithJob),
		string(features.HPAScaleToZero):                               enabled(features.HPAScaleToZero),
		string(features.DRAPartitionableDevicesType):                  enabled(features.DRAPartitionableDevicesType),
		string(features.TopologyAwareWorkloadScheduling):              enabled(features.TopologyAwareWorkloadScheduling),
		string(features.DRAWorkloadResourceClaims):                    enabled(features.DRAWorkloadResourceClaims),
		string(features.PodGroupPreemptionPolicy):                     enabled(features.PodGroupPreemptionPolicy),
		string(features.CompositePodGroup):                            enabled(features.CompositePodGroup),
	}}
}

func checkPathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}
