package loader

import (
	"cmp"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
)

// convertParams replaces each custom resource whose kind is the parameter kind of a policy by a cluster.Param, and also the definitions of these
// kinds.
func (r *scenarioContent) convertParams() {
	wanted := map[admissionv1.ParamKind]bool{}
	all := [][]sourceContent{r.cluster, r.workloads, r.steps}
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
				return newParam(resource, "", definition.Object)
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
		return newParam(resource, namespace, content.Object)
	})
}

// newParam returns the resource as a parameter of policies.
func newParam(resource manifest.Ignored, namespace string, content map[string]any) *cluster.Param {
	return &cluster.Param{
		TypeMeta:   metav1.TypeMeta{APIVersion: resource.APIVersion, Kind: resource.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: resource.Name},
		Content:    content,
	}
}

// dropBindingsWithoutParams removes the bindings of policies from a dump if the dump lacks their parameters, with a note for each. The parameters are
// unknown, not missing: a dump has no ConfigMaps unless somebody adds them. The reader of a live cluster has read the parameters, so its
// bindings stay.
func (l *loader) dropBindingsWithoutParams(r *scenarioContent) {
	if l.opts.Server != "" {
		return
	}
	all := [][]sourceContent{r.cluster, r.workloads, r.steps}
	paramKinds, given := map[cluster.Ref]admissionv1.ParamKind{}, []cluster.Object(nil)
	for _, contents := range all {
		for i := range contents {
			for _, obj := range contents[i].objects {
				given = append(given, obj)
				switch o := obj.(type) {
				case *admissionv1.ValidatingAdmissionPolicy:
					if o.Spec.ParamKind != nil {
						paramKinds[cluster.RefTo(o)] = *o.Spec.ParamKind
					}
				case *admissionv1.MutatingAdmissionPolicy:
					if o.Spec.ParamKind != nil {
						paramKinds[cluster.RefTo(o)] = *o.Spec.ParamKind
					}
				}
			}
		}
	}
	for _, contents := range all {
		for i := range contents {
			contents[i].objects = list.Without(contents[i].objects, func(obj cluster.Object) bool {
				policy, ref := bindingParamRef(obj)
				kind, has := paramKinds[policy]
				if ref == nil || !has || !cluster.FromDump(obj) || slices.ContainsFunc(given, func(o cluster.Object) bool { return mayBeParam(o, kind, ref) }) {
					return false
				}
				what := "parameters, each " + kind.Kind + " with labels " + metav1.FormatLabelSelector(ref.Selector)
				if ref.Name != "" {
					what = "parameter, " + kind.Kind + " " + cluster.Qualify(ref.Namespace, ref.Name)
				}
				l.notes = append(l.notes, fmt.Sprintf("%s is left out, since the dump lacks its %s; give that, too. Its policy could refuse or change new pods and workloads.",
					cluster.RefTo(obj).Describe(), what))
				return true
			})
		}
	}
}

// bindingParamRef returns the policy of a binding, and the reference to its parameters; nil if the binding has none.
func bindingParamRef(obj cluster.Object) (policy cluster.Ref, ref *admissionv1.ParamRef) {
	switch o := obj.(type) {
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return cluster.Ref{Kind: "ValidatingAdmissionPolicy", Name: o.Spec.PolicyName}, o.Spec.ParamRef
	case *admissionv1.MutatingAdmissionPolicyBinding:
		return cluster.Ref{Kind: "MutatingAdmissionPolicy", Name: o.Spec.PolicyName}, o.Spec.ParamRef
	}
	return cluster.Ref{}, nil
}

// mayBeParam reports whether the object may be a parameter that the reference of a binding selects.
func mayBeParam(obj cluster.Object, kind admissionv1.ParamKind, ref *admissionv1.ParamRef) bool {
	if cluster.KindOf(obj) != kind.Kind || ref.Namespace != "" && obj.GetNamespace() != ref.Namespace {
		return false
	}
	if ref.Name != "" {
		return obj.GetName() == ref.Name
	}
	has := obj.GetLabels()
	if param, is := obj.(*cluster.Param); is {
		has = (&unstructured.Unstructured{Object: param.Content}).GetLabels()
	}
	selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
	return err == nil && selector.Matches(labels.Set(has))
}
