// Package generic expands custom resources by rules. A rule gives either the path of a pod template in the resource, or the shapes of the
// objects that the operator creates. shipped.yaml and templates.yaml contain the built-in rules.
package generic

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
)

// Workloads lists the kinds that a resource with a pod template can become.
var Workloads = []string{"Deployment", "StatefulSet", "DaemonSet", "Job"}

// Rule describes which resources become workloads, and how.
type Rule struct {
	// Kind is the kind of the resources, with group and version.
	Kind schema.GroupVersionKind
	// PodTemplatePath is the path of the pod template, with dots between the fields: spec.template.
	PodTemplatePath string
	// ReplicasPath is the path of the number of replicas, with dots between the fields; "" means 1. For a Job, this is the parallelism.
	ReplicasPath string
	// As is the kind of the workload, one of [Workloads].
	As string
	// Objects are the shapes of the objects that the operator creates. If there are any, the rule has no pod template.
	Objects []Shape
	// Ended are the cases in which the operator creates nothing any more: the resource is a job that has ended, or it is suspended.
	Ended []Case
}

// New returns the operator for rules about versions of one kind.
func New(rules ...Rule) operator.Operator {
	return operator.Operator{
		Name:  rules[0].Kind.Kind,
		Kinds: []schema.GroupKind{rules[0].Kind.GroupKind()},
		Expand: func(resource *operator.Resource, _ []*operator.Resource) (*operator.Expansion, error) {
			var versions []string
			for i := range rules {
				version := rules[i].Kind.GroupVersion().String()
				if resource.APIVersion == version {
					return rules[i].expand(resource)
				}
				versions = append(versions, version)
			}
			return nil, fmt.Errorf("apiVersion: unknown version %[3]s of %[1]s: use %[2]s, or add it to customResources", rules[0].Kind.Kind, strings.Join(versions, " or "), resource.APIVersion)
		},
	}
}

func (r *Rule) expand(resource *operator.Resource) (*operator.Expansion, error) {
	object := map[string]any{}
	if err := json.Unmarshal(resource.JSON, &object); err != nil {
		return nil, err
	}
	var problems []error
	if resource.Name == "" {
		problems = append(problems, errors.New("metadata.name: Required value"))
	}
	if slices.ContainsFunc(r.Ended, func(c Case) bool { return c.matches(object) }) && len(problems) == 0 {
		return &operator.Expansion{}, nil
	}
	if len(r.Objects) > 0 && len(problems) == 0 {
		return r.makeObjects(object)
	}
	replicas, err := r.readReplicas(object)
	problems = append(problems, err)
	template, warnings, err := r.readTemplate(object)
	problems = append(problems, err)
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	made := r.newWorkload(resource, template, replicas)
	if err := operator.CheckObject(made, "spec.template", r.PodTemplatePath); err != nil {
		return nil, err
	}
	return &operator.Expansion{Objects: []operator.WrittenObject{{Object: made}}, Warnings: warnings}, nil
}

// makeObjects creates the objects of the rule's shapes for the resource. A shape may not apply to the resource.
func (r *Rule) makeObjects(resource map[string]any) (*operator.Expansion, error) {
	expansion := &operator.Expansion{}
	var problems []error
	for i := range r.Objects {
		items, err := r.Objects[i].items(resource)
		problems = append(problems, err)
		for _, item := range items {
			obj, warnings, assumptions, err := r.Objects[i].makeObject(item)
			expansion.Warnings, expansion.Assumptions = append(expansion.Warnings, warnings...), append(expansion.Assumptions, assumptions...)
			if problems = append(problems, err); obj != nil {
				expansion.Objects = append(expansion.Objects, operator.WrittenObject{Object: obj})
			}
		}
	}
	expansion.Warnings, expansion.Assumptions = list.Distinct(expansion.Warnings), list.Distinct(expansion.Assumptions)
	return expansion, errors.Join(problems...)
}

// valueAt returns the value at a path of the resource.
func valueAt(object map[string]any, path string) (any, error) {
	var value any = object
	fields := strings.Split(path, ".")
	for i, field := range fields {
		fieldsOf, isObject := value.(map[string]any)
		above := strings.Join(fields[:i], ".")
		if !isObject {
			return nil, fmt.Errorf("%s: Invalid value: not an object, so it has no field %q; correct the path in customResources", above, field)
		}
		next, found, err := unstructured.NestedFieldCopy(fieldsOf, field)
		if err != nil {
			return nil, err
		}
		if !found {
			names := slices.Sorted(maps.Keys(fieldsOf))
			where := "the resource"
			if above != "" {
				where = above
			}
			return nil, fmt.Errorf("%s: no such field; %s has %s%s", strings.Join(fields[:i+1], "."), where, joinNames(names), manifest.DidYouMean(field, names))
		}
		value = next
	}
	return value, nil
}

func joinNames(names []string) string {
	if len(names) == 0 {
		return "no fields"
	}
	return strings.Join(names, ", ")
}

func (r *Rule) readReplicas(object map[string]any) (int32, error) {
	if r.ReplicasPath == "" {
		return 1, nil
	}
	value, err := valueAt(object, r.ReplicasPath)
	if err != nil {
		return 0, err
	}
	number, isNumber := value.(float64)
	if !isNumber || number < 0 || number != float64(int32(number)) {
		return 0, fmt.Errorf("%s: Invalid value: %v: not a number of replicas; give a whole number of at least 0", r.ReplicasPath, value)
	}
	return int32(number), nil
}

// readTemplate reads the pod template. Unknown fields, which an API server would prune, become warnings.
func (r *Rule) readTemplate(object map[string]any) (*v1.PodTemplateSpec, []string, error) {
	value, err := valueAt(object, r.PodTemplatePath)
	if err != nil {
		return nil, nil, err
	}
	fields, isObject := value.(map[string]any)
	if !isObject {
		return nil, nil, fmt.Errorf("%s: Invalid value: not an object, so not a pod template", r.PodTemplatePath)
	}
	if _, found := fields["spec"]; !found {
		return nil, nil, fmt.Errorf("%s: not a pod template, since it has no spec; it has %s", r.PodTemplatePath, joinNames(slices.Sorted(maps.Keys(fields))))
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, nil, err
	}
	template := &v1.PodTemplateSpec{}
	warnings, err := manifest.DecodeResource(data, template)
	if err != nil {
		var problems []error
		for line := range strings.Lines(err.Error()) {
			problems = append(problems, fmt.Errorf("%s.%s", r.PodTemplatePath, strings.TrimSpace(line)))
		}
		return nil, nil, errors.Join(problems...)
	}
	for i, warning := range warnings {
		warnings[i] = strings.Replace(warning, `field "`, `field "`+r.PodTemplatePath+".", 1)
	}
	return template, warnings, nil
}

// newWorkload returns the workload. Its selector is all of the template's labels, or app: NAME if there are none.
func (r *Rule) newWorkload(resource *operator.Resource, template *v1.PodTemplateSpec, replicas int32) cluster.Object {
	if len(template.Labels) == 0 {
		template.Labels = map[string]string{"app": resource.Name}
	}
	meta := metav1.ObjectMeta{Name: resource.Name, Namespace: resource.Namespace, Labels: maps.Clone(template.Labels)}
	selector := &metav1.LabelSelector{MatchLabels: maps.Clone(template.Labels)}
	switch r.As {
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: resource.Name, Selector: selector, Template: *template,
		}}
	case "DaemonSet":
		return &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: *template}}
	case "Job":
		if template.Spec.RestartPolicy == "" {
			template.Spec.RestartPolicy = v1.RestartPolicyNever // a Job needs this; a template for something else does not set it
		}
		return &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: &replicas, Completions: &replicas, Template: *template}}
	}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: *template}}
}
