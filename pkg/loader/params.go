package loader

import (
	"cmp"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// params makes a cluster.Param of every object whose kind is that of the parameters of a policy, and of these kinds' definitions.
func (r *contents) params() {
	wanted := map[admissionv1.ParamKind]bool{}
	all := [][]content{r.cluster, r.workloads, r.steps}
	for _, list := range all {
		for i := range list {
			for _, obj := range list[i].objects {
				switch o := obj.(type) {
				case *admissionv1.ValidatingAdmissionPolicy:
					if o.Spec.ParamKind != nil {
						wanted[*o.Spec.ParamKind] = true
					}
				case *admissionv1.MutatingAdmissionPolicy:
					if o.Spec.ParamKind != nil {
						wanted[*o.Spec.ParamKind] = true
					}
				}
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	namespaced := map[string]bool{"ConfigMap": true}
	each := func(take func(manifest.Ignored) cluster.Object) {
		for _, list := range all {
			for i := range list {
				var rest []manifest.Ignored
				for _, resource := range list[i].resources {
					if obj := take(resource); obj != nil {
						list[i].objects = append(list[i].objects, obj)
					} else {
						rest = append(rest, resource)
					}
				}
				list[i].resources = rest
			}
		}
	}
	each(func(resource manifest.Ignored) cluster.Object {
		var definition unstructured.Unstructured
		if resource.Kind != "CustomResourceDefinition" || definition.UnmarshalJSON(resource.JSON) != nil {
			return nil
		}
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
		for param := range wanted {
			if gvk := schema.FromAPIVersionAndKind(param.APIVersion, param.Kind); gvk.Group == group && gvk.Kind == kind {
				namespaced[kind] = scope == "Namespaced"
				return paramOf(resource, "", definition.Object)
			}
		}
		return nil
	})
	each(func(resource manifest.Ignored) cluster.Object {
		var content unstructured.Unstructured
		if !wanted[admissionv1.ParamKind{APIVersion: resource.APIVersion, Kind: resource.Kind}] || resource.JSON == nil || content.UnmarshalJSON(resource.JSON) != nil {
			return nil
		}
		namespace := resource.Namespace
		if namespaced[resource.Kind] {
			namespace = cmp.Or(namespace, v1.NamespaceDefault)
		}
		return paramOf(resource, namespace, content.Object)
	})
}

func paramOf(resource manifest.Ignored, namespace string, content map[string]any) *cluster.Param {
	return &cluster.Param{
		TypeMeta:   metav1.TypeMeta{APIVersion: resource.APIVersion, Kind: resource.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: resource.Name},
		Content:    content,
	}
}
