//go:build ordered

package main

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	jobsetapi "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/controller/jobs/job"
	"sigs.k8s.io/kueue/pkg/controller/jobs/jobset"
	"sigs.k8s.io/kueue/pkg/controller/jobs/pod"
	"sigs.k8s.io/kueue/pkg/webhooks"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/deciders/kit"
	"github.com/faultline/faultline/deciders/kit/api"
	"github.com/faultline/faultline/deciders/kit/crd"
)

// admission admits objects by Kueue's definitions and webhooks.
type admission struct {
	api *api.Client
	// definitions are read when an object of the kind comes: that of Workload is large.
	definitions map[schema.GroupKind]*crd.Definitions
}

func newAdmission(c *api.Client) *admission {
	return &admission{c, map[schema.GroupKind]*crd.Definitions{}}
}

// plurals are Kueue's kinds, as their definitions' files are named.
var plurals = map[string]string{
	"AdmissionCheck": "admissionchecks", "ClusterQueue": "clusterqueues", "Cohort": "cohorts", "LocalQueue": "localqueues",
	"ResourceFlavor": "resourceflavors", "Topology": "topologies", "Workload": "workloads", "WorkloadPriorityClass": "workloadpriorityclasses",
}

// definition returns the definition of a kind; nil for a kind that is not Kueue's.
func (a *admission) definition(kind schema.GroupKind) (*crd.Definitions, error) {
	if found, known := a.definitions[kind]; known || kind.Group != kueue.SchemeGroupVersion.Group {
		return found, nil
	}
	content, err := fs.ReadFile(kueue.Definitions, "definitions/kueue.x-k8s.io_"+plurals[kind.Kind]+".yaml")
	if err != nil {
		return nil, fmt.Errorf("kueue has no kind %s", kind.Kind)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, definition); err != nil {
		return nil, err
	}
	read, err := crd.New(definition)
	a.definitions[kind] = read
	return read, err
}

// admitAll sets defaults in place, and returns what is wrong.
func (d *decider) admitAll(ctx context.Context, objects []*unstructured.Unstructured) ([]kit.Problem, error) {
	hooks, err := d.newWebhooks(ctx, objects)
	if err != nil {
		return nil, err
	}
	var problems []kit.Problem
	for i, object := range objects {
		found, err := d.admit.admit(object)
		if err == nil && len(found) == 0 {
			found, err = hooks.call(ctx, object)
		}
		if err != nil {
			return nil, err
		}
		for _, problem := range found {
			problem.Index = i
			problems = append(problems, problem)
		}
	}
	return problems, nil
}

// admit admits an object by its definition, in the version that Kueue stores.
func (a *admission) admit(object *unstructured.Unstructured) ([]kit.Problem, error) {
	definition, err := a.definition(object.GroupVersionKind().GroupKind())
	if definition == nil || err != nil {
		return nil, err
	}
	problems := definition.Admit([]*unstructured.Unstructured{object})
	if len(problems) > 0 || object.GroupVersionKind().Version == kueue.SchemeGroupVersion.Version {
		return problems, nil
	}
	if err := a.convert(object); err != nil {
		return nil, err
	}
	return definition.Admit([]*unstructured.Unstructured{object}), nil
}

// convert converts an object of an older version, as Kueue's conversion webhook does.
func (a *admission) convert(object *unstructured.Unstructured) error {
	old, err := a.api.Scheme().New(object.GroupVersionKind())
	if err != nil {
		return err
	}
	stored := kueue.SchemeGroupVersion.WithKind(object.GetKind())
	hub, err := a.api.Scheme().New(stored)
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, old); err != nil {
		return err
	}
	if convertible, is := old.(conversion.Convertible); is {
		if err := convertible.ConvertTo(hub.(conversion.Hub)); err != nil {
			return err
		}
	} else if err := a.api.Scheme().Convert(old, hub, nil); err != nil {
		// A kind without a conversion has the same fields in both versions.
		object.SetGroupVersionKind(stored)
		return nil
	}
	return put(object, hub, stored)
}

// put sets the object's content.
func put(object *unstructured.Unstructured, content runtime.Object, gvk schema.GroupVersionKind) error {
	converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(content)
	if err != nil {
		return err
	}
	object.SetUnstructuredContent(converted)
	object.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	return nil
}

// webhooksOf are Kueue's webhooks.
type webhookSet struct {
	api     *api.Client
	enabled sets.Set[string]
	options []jobframework.Option
	process jobframework.Options
}

// newWebhooks returns the webhooks, which know the LocalQueues of the cluster and those among the objects.
func (d *decider) newWebhooks(ctx context.Context, objects []*unstructured.Unstructured) (*webhookSet, error) {
	cache := schdcache.New(d.api)
	queues := qcache.NewManager(d.api, cache, qcache.NewRequeues())
	all := api.List[kueue.LocalQueue](d.api)
	for _, object := range objects {
		if object.GetKind() == "LocalQueue" {
			queue := &kueue.LocalQueue{}
			queue.Namespace, queue.Name = object.GetNamespace(), object.GetName()
			all = append(all, queue)
		}
	}
	for _, queue := range all {
		_ = queues.AddLocalQueue(ctx, queue) // which is there already if it is changed
	}
	options, err := d.jobOptions(queues, cache)
	return &webhookSet{d.api, sets.New(d.integrations()...), options, jobframework.ProcessOptions(options...)}, err
}

// call lets the webhooks set defaults in place, and returns what they refuse.
func (w *webhookSet) call(ctx context.Context, object *unstructured.Unstructured) ([]kit.Problem, error) {
	switch gvk := object.GroupVersionKind(); gvk {
	case kueue.SchemeGroupVersion.WithKind("ClusterQueue"):
		return hook(object, func(queue *kueue.ClusterQueue) (field.ErrorList, error) {
			err := (&webhooks.ClusterQueueWebhook{}).Default(ctx, queue)
			return webhooks.ValidateClusterQueue(queue), err
		})
	case kueue.SchemeGroupVersion.WithKind("ResourceFlavor"):
		return hook(object, func(flavor *kueue.ResourceFlavor) (field.ErrorList, error) {
			err := (&webhooks.ResourceFlavorWebhook{}).Default(ctx, flavor)
			return webhooks.ValidateResourceFlavor(flavor), err
		})
	case kueue.SchemeGroupVersion.WithKind("Cohort"):
		return hook(object, func(cohort *kueue.Cohort) (field.ErrorList, error) {
			_, err := (&webhooks.CohortWebhook{}).ValidateCreate(ctx, cohort)
			return refusals(err), nil
		})
	case kueue.SchemeGroupVersion.WithKind("Workload"):
		return hook(object, func(workload *kueue.Workload) (field.ErrorList, error) {
			err := (&webhooks.WorkloadWebhook{}).Default(ctx, workload)
			return webhooks.ValidateWorkload(workload, nil), err
		})
	case batchv1.SchemeGroupVersion.WithKind("Job"):
		if !w.enabled.Has(job.FrameworkName) {
			return nil, nil
		}
		return hook(object, func(o *batchv1.Job) (field.ErrorList, error) {
			if o.Status.StartTime != nil || len(o.Status.Conditions) > 0 { // it was created before
				return nil, nil
			}
			own := job.NewWebhook(w.api, w.options...)
			if err := own.Default(ctx, o); err != nil {
				return nil, err
			}
			_, err := own.ValidateCreate(ctx, o)
			return refusals(err), nil
		})
	case jobsetapi.SchemeGroupVersion.WithKind("JobSet"):
		if !w.enabled.Has(jobset.FrameworkName) {
			return nil, nil
		}
		return hook(object, func(o *jobsetapi.JobSet) (field.ErrorList, error) {
			return nil, jobframework.ApplyDefaultForSuspend(ctx, (*jobset.JobSet)(o), w.api, w.process.ManageJobsWithoutQueueName, w.process.ManagedJobsNamespaceSelector)
		})
	case corev1.SchemeGroupVersion.WithKind("Pod"):
		if !w.enabled.Has(pod.FrameworkName) || jobframework.QueueNameForObject(object) == "" && !w.process.ManageJobsWithoutQueueName {
			return nil, nil
		}
		return hook(object, func(o *corev1.Pod) (field.ErrorList, error) {
			if o.Spec.NodeName != "" || o.Status.Phase != "" && o.Status.Phase != corev1.PodPending { // it was created before
				return nil, nil
			}
			own := pod.NewWebhook(w.api, w.options...)
			if err := own.Default(ctx, o); err != nil {
				return nil, err
			}
			_, err := own.ValidateCreate(ctx, o)
			return refusals(err), nil
		})
	}
	return nil, nil
}

// hook calls a webhook with the typed object, and takes over what it has changed.
func hook[T any](object *unstructured.Unstructured, do func(*T) (field.ErrorList, error)) ([]kit.Problem, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return []kit.Problem{{Message: err.Error()}}, nil
	}
	refused, err := do(typed)
	if err != nil {
		return nil, err
	}
	var problems []kit.Problem
	for _, one := range refused {
		problems = append(problems, kit.Problem{Field: strings.TrimPrefix(one.Field, "<nil>"), Message: one.ErrorBody()})
	}
	return problems, put(object, any(typed).(client.Object), object.GroupVersionKind())
}

// refusals are the field errors that an error of a webhook has.
func refusals(err error) field.ErrorList {
	if err == nil {
		return nil
	}
	var all field.ErrorList
	if many, is := err.(interface{ Errors() []error }); is {
		for _, one := range many.Errors() {
			all = append(all, refusals(one)...)
		}
		return all
	}
	if one, is := err.(*field.Error); is {
		return field.ErrorList{one}
	}
	return field.ErrorList{field.Invalid(nil, nil, err.Error())}
}
