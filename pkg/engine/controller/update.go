package controller

import (
	"context"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	deployments "k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"

	"github.com/faultline/faultline/pkg/cluster"
)

// updates are how the API server validates an object of a kind that takes another's place. The strategies are upstream's own; where
// importing one would bring a whole API server along, it is what the strategy does.
var updates = map[string]func(obj, old runtime.Object) field.ErrorList{
	"Pod":                   on(validatePodUpdate),
	"Job":                   on(validateJobUpdate),
	"ReplicaSet":            on(validateReplicaSetUpdate),
	"PersistentVolumeClaim": on(validateClaimUpdate),
	"Deployment":            by(deployments.Strategy),
	"StatefulSet":           by(statefulset.Strategy),
	"DaemonSet":             by(daemonset.Strategy),
	"CronJob":               by(cronjob.Strategy),
	"PodDisruptionBudget":   by(poddisruptionbudget.Strategy),
	"PriorityClass":         by(priorityclass.Strategy),
	"StorageClass":          by(storageclass.Strategy),
}

func by(strategy rest.RESTUpdateStrategy) func(obj, old runtime.Object) field.ErrorList {
	return func(obj, old runtime.Object) field.ErrorList {
		strategy.PrepareForUpdate(context.Background(), obj, old)
		return strategy.ValidateUpdate(context.Background(), obj, old)
	}
}

func on[T runtime.Object](validate func(obj, old T) field.ErrorList) func(obj, old runtime.Object) field.ErrorList {
	return func(obj, old runtime.Object) field.ErrorList { return validate(obj.(T), old.(T)) }
}

// update finds what the API server would not take of the change, in its words.
func (a *admitting) update(obj, old cluster.Object) {
	validate := updates[cluster.KindOf(obj)]
	if validate == nil {
		return
	}
	internal, err := internalOf(obj)
	if err != nil {
		a.problem(obj, "%w", err)
		return
	}
	was, err := internalOf(old)
	if err != nil {
		a.problem(obj, "%w", err)
		return
	}
	var problems []string
	for _, err := range validate(internal, was) {
		problems = append(problems, worded(err))
	}
	slices.Sort(problems) // upstream goes through a map in some checks
	for _, problem := range slices.Compact(problems) {
		a.problem(obj, "%s", problem)
	}
}

// internalOf returns a copy in the version in which the API server validates it. An update must say which version of the object it
// changes, and here that is always the last.
func internalOf(obj cluster.Object) (runtime.Object, error) {
	internal, err := legacyscheme.Scheme.ConvertToVersion(obj, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, err
	}
	internal.(metav1.Object).SetResourceVersion("1")
	return internal, nil
}

// worded is the API server's error on one line. Of a value that must stay it does not show all, which can be a whole template; of a
// difference it shows what is there now.
func worded(err *field.Error) string {
	if err.Detail == apivalidation.FieldImmutableErrorMsg {
		return err.Field + ": " + err.Detail
	}
	first, diff, _ := strings.Cut(err.Error(), "\n")
	var changed []string
	for line := range strings.Lines(diff) {
		// The lines begin with a no-break space where nothing differs.
		if sign, rest := line[:1], strings.Join(strings.Fields(line[1:]), " "); (sign == "-" || sign == "+") && rest != "" {
			changed = append(changed, sign+" "+rest)
		}
	}
	if len(changed) > 0 {
		first += ": " + strings.Join(changed, " ")
	}
	return first
}

// validatePodUpdate takes two requests for one: the resources of the containers change by pods/resize, all else by an update, as in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go.
func validatePodUpdate(pod, old *core.Pod) field.ErrorList {
	options := func(pod, old *core.Pod) corevalidation.PodValidationOptions {
		opts := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, &old.Spec, &pod.ObjectMeta, &old.ObjectMeta)
		opts.ResourceIsPod = true
		return opts
	}
	if old.Spec.NodeName == "" {
		old.Spec.NodeName = pod.Spec.NodeName // it was bound, which is no update
	}
	var errs field.ErrorList
	if resized := withResources(old, pod); resized != nil {
		errs = corevalidation.ValidatePodResize(resized, old, options(resized, old))
		old = resized
	}
	return append(errs, corevalidation.ValidatePodUpdate(pod, old, options(pod, old))...)
}

// withResources returns the pod with the resources of the other; nil where they are the same, or their containers are not.
func withResources(pod, other *core.Pod) *core.Pod {
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

func validateReplicaSetUpdate(rs, old *apps.ReplicaSet) field.ErrorList {
	podutil.DropDisabledTemplateFields(&rs.Spec.Template, &old.Spec.Template)
	return appsvalidation.ValidateReplicaSetUpdate(rs, old, podutil.GetValidationOptionsFromPodTemplate(&rs.Spec.Template, &old.Spec.Template))
}

func validateClaimUpdate(claim, old *core.PersistentVolumeClaim) field.ErrorList {
	return corevalidation.ValidatePersistentVolumeClaimUpdate(claim, old, corevalidation.ValidationOptionsForPersistentVolumeClaim(claim, old))
}

// validateJobUpdate is the ValidateUpdate of
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/batch/job/strategy.go: a Job that is suspended and runs no pod may
// change where its pods go, and what they request.
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
