package admission

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/cluster"
)

// Create does what the API server does with an object that is posted to it, in the same order, and returns the object in the
// version that cluster.State holds; see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/registry/rest/create.go.
// Unlike the API server it keeps the status, so that the dump of a live cluster stays what it was.
func Create(obj cluster.Object, gv schema.GroupVersion, source string) (cluster.Object, []string) {
	k := KindNamed(cluster.KindOf(obj))
	dumped := obj.GetUID() != "" || obj.GetResourceVersion() != ""
	identify(obj, source)
	legacyscheme.Scheme.Default(obj)
	internal, err := legacyscheme.Scheme.UnsafeConvertToVersion(obj, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, []string{err.Error()}
	}
	if dumped {
		adopt(internal)
	}
	errs := k.validate(internal)
	if len(errs) == 0 {
		errs = apivalidation.ValidateObjectMetaAccessor(obj, cluster.Namespaced(k.name), pathSegment, field.NewPath("metadata"))
	}
	errs = rest.ValidateDeclarativelyWithMigrationChecks(requestContext(gv), legacyscheme.Scheme, internal, nil, errs, operation.Create, declarative())
	if len(errs) > 0 {
		return nil, messages(errs)
	}
	external, err := legacyscheme.Scheme.UnsafeConvertToVersion(internal, k.GroupVersion())
	if err != nil {
		return nil, []string{err.Error()}
	}
	external.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	settle(external)
	return external.(cluster.Object), nil
}

// messages returns the errors as the API server words them. Of a field that is missing it says that alone, and not also that
// nothing is no valid value.
func messages(errs field.ErrorList) []string {
	missing := map[string]bool{}
	for _, err := range errs {
		missing[err.Field] = missing[err.Field] || err.Type == field.ErrorTypeRequired
	}
	var problems []string
	for _, err := range errs {
		if !missing[err.Field] || err.Type == field.ErrorTypeRequired {
			problems = append(problems, err.Error())
		}
	}
	return problems
}

// identify gives the object the namespace, name and UID that an API server would give it. They follow from what and where the
// object is, and are therefore the same in every run.
func identify(obj cluster.Object, source string) {
	kind := cluster.KindOf(obj)
	obj.SetManagedFields(nil) // often more than half of a dump, and of no use
	if cluster.Namespaced(kind) && obj.GetNamespace() == "" {
		obj.SetNamespace(v1.NamespaceDefault)
	}
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		hash := fnv.New32a()
		hash.Write([]byte(source))
		obj.SetName(obj.GetGenerateName() + rand.SafeEncodeString(fmt.Sprint(hash.Sum32())))
	}
	if obj.GetUID() == "" {
		what := fmt.Sprintf("%s/%s/%s", kind, obj.GetNamespace(), obj.GetName())
		obj.SetUID(types.UID(uuid.NewSHA1(uuid.NameSpaceURL, []byte(what)).String()))
	}
}

// settle does what the API server, controllers and the kubelet would do at once or soon, and what the scheduler waits for.
func settle(obj runtime.Object) {
	switch o := obj.(type) {
	case *v1.Pod:
		cluster.MergeLabelKeys(o)
		switch {
		case o.Status.Phase != "":
		case o.Spec.NodeName == "":
			o.Status.Phase = v1.PodPending
		default:
			*o = *cluster.Bind(o, o.Spec.NodeName, cluster.Epoch.Time)
		}
	case *v1.PersistentVolume:
		// The volume controller makes each new volume available; the scheduler takes no other.
		if o.Status.Phase == "" || o.Status.Phase == v1.VolumePending {
			o.Status.Phase = v1.VolumeAvailable
		}
	}
}

// requestContext is the context in which the API server validates a request of that version. Its log would tell only
// upstream's developers something.
func requestContext(gv schema.GroupVersion) context.Context {
	ctx := klog.NewContext(context.Background(), logr.Discard())
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{APIGroup: gv.Group, APIVersion: gv.Version})
}

// declarative are the options to which the validation tags of all kinds refer, as in the DeclarativeValidationConfig of
// their strategies under https://github.com/kubernetes/kubernetes/tree/v1.37.1/pkg/registry.
func declarative() rest.DeclarativeValidationConfig {
	enabled := utilfeature.DefaultFeatureGate.Enabled
	return rest.DeclarativeValidationConfig{Options: map[string]bool{
		string(features.InPlacePodVerticalScalingSchedulerPreemption): enabled(features.InPlacePodVerticalScalingSchedulerPreemption),
		string(features.WorkloadWithJob):                              enabled(features.WorkloadWithJob),
		string(features.HPAScaleToZero):                               enabled(features.HPAScaleToZero),
	}}
}

func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}
