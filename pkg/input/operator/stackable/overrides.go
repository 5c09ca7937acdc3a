package stackable

import (
	"encoding/json"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/faultline/faultline/pkg/input/operator"
)

// typeConverter has the schemas of the Kubernetes API: which lists are atomic, and which are maps by some key.
var typeConverter = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

// applyPodOverrides merges podOverrides into the finished template, as the operators do in their last step with DeepMerge of k8s-openapi
// (https://github.com/Arnavion/k8s-openapi at 9413a9a, src/v1_32/api/core/v1/pod_spec.rs). It follows the schema of the Kubernetes API,
// like server-side apply: structs field by field, labels key by key, containers by name; affinity terms, tolerations and the node selector
// as a whole. There is one difference: if two topology spread constraints have the same key and different whenUnsatisfiable, DeepMerge
// keeps the later one, and override keeps both. It returns the origins, with the level added to those of the fields that the overrides
// changed.
func (c *cluster) applyPodOverrides(path string, template *v1.PodTemplateSpec, claims []v1.PersistentVolumeClaim, raw json.RawMessage, name string, origins []operator.Origin) []operator.Origin {
	if len(raw) == 0 || string(raw) == "null" {
		return origins
	}
	overrides := &v1.PodTemplateSpec{}
	problems := len(c.problems)
	c.decode(path, raw, overrides)
	if len(c.problems) > problems {
		return origins
	}
	before := template.Spec.DeepCopy()
	merged := &v1.PodTemplate{}
	if err := mergeObjects(&v1.PodTemplate{Template: *template}, &v1.PodTemplate{Template: *overrides}, merged); err != nil {
		c.addProblem("%s: %s", path, err)
		return origins
	}
	*template = merged.Template
	c.completeOverrides(&template.Spec, claims)
	return addChangedOrigins("podOverrides of "+name, before, &template.Spec, origins)
}

// addChangedOrigins adds the level to the origins of the placement fields that differ between before and after.
func addChangedOrigins(level string, before, after *v1.PodSpec, origins []operator.Origin) []operator.Origin {
	was, is := placementValues(before), placementValues(after)
	for i, field := range placementFields {
		if !equality.Semantic.DeepEqual(was[i], is[i]) {
			origins = addOrigin(origins, field, level)
		}
	}
	return origins
}

// addOrigin adds the level to the origin of the field.
func addOrigin(origins []operator.Origin, field, level string) []operator.Origin {
	for i := range origins {
		if origins[i].Field == field {
			origins[i].Level += ", " + level
			return origins
		}
	}
	return append(origins, operator.Origin{Field: field, Level: level})
}

// placementFields lists the fields of a pod's spec that decide where it goes.
var placementFields = []string{
	"affinity.podAffinity", "affinity.podAntiAffinity", "affinity.nodeAffinity", "nodeSelector",
	"tolerations", "topologySpreadConstraints", "priorityClassName", "schedulerName", "nodeName",
}

// placementValues returns the values of placementFields.
func placementValues(spec *v1.PodSpec) []any {
	a := spec.Affinity
	if a == nil {
		a = &v1.Affinity{}
	}
	return []any{
		a.PodAffinity, a.PodAntiAffinity, a.NodeAffinity, spec.NodeSelector,
		spec.Tolerations, spec.TopologySpreadConstraints, spec.PriorityClassName, spec.SchedulerName, spec.NodeName,
	}
}

// mergeObjects merges an object over another of its kind, following the schema of the Kubernetes API.
func mergeObjects(base, over, into runtime.Object) error {
	below, err := toUnstructured(base)
	if err != nil {
		return err
	}
	above, err := toUnstructured(over)
	if err != nil {
		return err
	}
	typedBelow, err := typeConverter().ObjectToTyped(below)
	if err != nil {
		return fmt.Errorf("reading the operator's object: %w", err)
	}
	typedAbove, err := typeConverter().ObjectToTyped(above)
	if err != nil {
		return fmt.Errorf("reading the overrides: %w", err)
	}
	merged, err := typedBelow.Merge(typedAbove)
	if err != nil {
		return err
	}
	result, err := typeConverter().TypedToObject(merged)
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(result.(*unstructured.Unstructured).Object, into)
}

// toUnstructured converts the object to unstructured content, without nulls for unset fields.
func toUnstructured(obj runtime.Object) (*unstructured.Unstructured, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, err
	}
	whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: dropNulls(whole).(map[string]any)}
	u.SetGroupVersionKind(kinds[0])
	return u, nil
}

func dropNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, element := range v {
			if element == nil {
				delete(v, key)
			} else {
				dropNulls(element)
			}
		}
	case []any:
		for _, element := range v {
			dropNulls(element)
		}
	}
	return value
}
