package admission

import (
	"errors"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
)

// typeConverter returns the schemas of Kubernetes' own kinds, which the patches of policies need for merging.
var typeConverter = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(legacyscheme.Scheme) })

// paramKind is a kind of policy parameters, with the state's objects of this kind.
type paramKind struct {
	namespaced bool
	objects    []*unstructured.Unstructured
}

// paramKindsOf returns the parameter kinds that the state's policies name and the API server knows: Kubernetes' own kinds, kinds with a
// CustomResourceDefinition, and kinds of which the state has an object.
func paramKindsOf(s *cluster.State) map[schema.GroupVersionKind]*paramKind {
	kinds := map[schema.GroupVersionKind]*paramKind{}
	for _, obj := range s.Policies {
		var kind *admissionv1.ParamKind
		switch o := obj.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			kind = o.Spec.ParamKind
		case *admissionv1.MutatingAdmissionPolicy:
			kind = o.Spec.ParamKind
		}
		if kind == nil || kinds[paramGVK(kind)] != nil {
			continue
		}
		if found := paramObjects(s, paramGVK(kind)); found != nil {
			kinds[paramGVK(kind)] = found
		}
	}
	return kinds
}

func paramGVK(kind *admissionv1.ParamKind) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
}

// paramObjects returns the state's objects of the kind, or nil if the API server does not know the kind.
func paramObjects(s *cluster.State, gvk schema.GroupVersionKind) *paramKind {
	found := &paramKind{namespaced: cluster.Namespaced(gvk.Kind)}
	served := legacyscheme.Scheme.Recognizes(gvk)
	for _, obj := range s.Policies {
		param, is := obj.(*cluster.Param)
		if !is {
			continue
		}
		of := unstructured.Unstructured{Object: param.Content}
		switch group, _, _ := unstructured.NestedString(param.Content, "spec", "group"); {
		case of.GroupVersionKind() == gvk:
			named := of.DeepCopy() // with the namespace that it was given
			named.SetNamespace(param.Namespace)
			found.objects, found.namespaced, served = append(found.objects, named), param.Namespace != "", true
		case param.Kind == "CustomResourceDefinition" && group == gvk.Group:
			if kind, _, _ := unstructured.NestedString(param.Content, "spec", "names", "kind"); kind == gvk.Kind {
				scope, _, _ := unstructured.NestedString(param.Content, "spec", "scope")
				found.namespaced, served = scope == "Namespaced", true
			}
		}
	}
	if known := KindNamed(gvk.Kind); known != nil && known.Serves(gvk.GroupVersion()) {
		for _, obj := range s.Objects() {
			if cluster.KindOf(obj) != gvk.Kind {
				continue
			}
			if content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err == nil {
				of := &unstructured.Unstructured{Object: content}
				of.SetGroupVersionKind(gvk)
				found.objects = append(found.objects, of)
			}
		}
	}
	if !served {
		return nil
	}
	return found
}

// collectParams returns the parameters of a binding. It returns a single nil if the policy has no parameters. See CollectParams in
// policy/generic/policy_dispatcher.go.
func (p *policies) collectParams(kind *admissionv1.ParamKind, ref *admissionv1.ParamRef, namespace string) ([]runtime.Object, error) {
	if kind == nil || ref == nil {
		return []runtime.Object{nil}, nil
	}
	of := p.params[paramGVK(kind)]
	switch {
	case !of.namespaced && ref.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !of.namespaced:
		namespace = ""
	case ref.Namespace != "":
		namespace = ref.Namespace
	case namespace == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	selector := labels.Nothing()
	if ref.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(ref.Selector); err != nil {
			return nil, err
		}
	}
	switch {
	case ref.Name != "" && ref.Selector != nil:
		return nil, errors.New("paramRef.name and paramRef.selector are mutually exclusive")
	case ref.Name == "" && ref.Selector == nil:
		return nil, errors.New("one of name or selector must be provided")
	}
	var params []runtime.Object
	for _, obj := range of.objects {
		if obj.GetNamespace() == namespace && (obj.GetName() == ref.Name || selector.Matches(labels.Set(obj.GetLabels()))) {
			params = append(params, obj)
		}
	}
	if len(params) == 0 && ref.ParameterNotFoundAction != nil && *ref.ParameterNotFoundAction == admissionv1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return params, nil
}
