package live

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/faultline/faultline/pkg/words"
)

// A policy may have parameters: a ConfigMap or a custom resource that a binding names. The client reads only these. If the user may not
// read the parameters of a binding, the client leaves out the binding, with a note, since without them its policy would decide otherwise.

// binding is a binding of a policy with parameters.
type binding struct {
	part int // the index of the binding's kind
	name string
	ref  admissionv1.ParamRef
	kind schema.GroupVersionKind // the kind of the parameters
}

// String returns the kind and the name of the binding.
func (b binding) String() string { return kinds[b.part].name + " " + b.name }

// readParams reads the parameters that the bindings of policies name.
func (r *reader) readParams(ctx context.Context, served map[schema.GroupVersionKind]metav1.APIResource) error {
	bindings, err := r.bindings()
	if err != nil {
		return err
	}
	known := map[string]bool{} // by request: whether the user may read the parameters
	left := map[string][]string{}
	defined := map[schema.GroupVersionKind]bool{}
	var order []string
	for _, b := range bindings {
		resource, found := served[b.kind]
		if !found || slices.ContainsFunc(kinds, func(k kind) bool { return k.Group == b.kind.Group && k.name == b.kind.Kind }) {
			continue // the policy fails without the kind, or the client reads the kind anyway
		}
		if !defined[b.kind] {
			defined[b.kind] = true
			r.define(b.kind, resource)
		}
		p, err := paramsOf(b, resource)
		if err != nil {
			return r.problem(b.String(), &unreadable{err})
		}
		readable, asked := known[p.String()]
		if !asked {
			if readable, err = r.readParam(ctx, p, b.kind.GroupVersion()); err != nil {
				return err
			}
			known[p.String()] = readable
		}
		if readable {
			continue
		}
		if left[p.String()] == nil {
			order = append(order, p.String())
			if allowed := p.allowed(); !p.secret() && !slices.Contains(r.allow, allowed) {
				r.allow = append(r.allow, allowed)
			}
		}
		left[p.String()] = append(left[p.String()], b.String())
		if err := r.without(b.part, func(m metav1.ObjectMeta) bool { return m.Name == b.name }); err != nil {
			return err
		}
	}
	for _, p := range order {
		r.dump.Notes = append(r.dump.Notes, fmt.Sprintf("%s may not be read, so %s %s left out: %s could refuse or change new pods and workloads.",
			words.UpperFirst(p), words.And(left[p]), words.Pick(len(left[p]), "is", "are"), words.Pick(len(left[p]), "its policy", "their policies")))
	}
	if len(order) > 0 {
		r.dump.Forbidden = append(r.dump.Forbidden, "parameters of admission policies")
	}
	return nil
}

// bindings returns the bindings that name parameters, if their policies have a parameter kind.
func (r *reader) bindings() (found []binding, err error) {
	for _, of := range []string{validatingPolicy, mutatingPolicy} {
		paramKinds := map[string]schema.GroupVersionKind{}
		err = r.each(of, func(_ int, object []byte) error {
			var policy admissionv1.ValidatingAdmissionPolicy // a mutating policy has the same field
			if err := json.Unmarshal(object, &policy); err != nil || policy.Spec.ParamKind == nil {
				return err
			}
			paramKinds[policy.Name] = schema.FromAPIVersionAndKind(policy.Spec.ParamKind.APIVersion, policy.Spec.ParamKind.Kind)
			return nil
		})
		if err != nil {
			return nil, err
		}
		err = r.each(of+"Binding", func(part int, object []byte) error {
			var b admissionv1.ValidatingAdmissionPolicyBinding // the binding of a mutating policy has the same field
			if err := json.Unmarshal(object, &b); err != nil {
				return err
			}
			if kind, has := paramKinds[b.Spec.PolicyName]; has && b.Spec.ParamRef != nil {
				found = append(found, binding{part, b.Name, *b.Spec.ParamRef, kind})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// each calls a function for each object of a kind that was read.
func (r *reader) each(kindName string, do func(part int, object []byte) error) error {
	part := slices.IndexFunc(kinds, func(k kind) bool { return k.name == kindName })
	err := itemsOf(r.parts[part], func(object []byte) error { return do(part, object) })
	if err != nil {
		return r.problem(kinds[part].Resource, &unreadable{err})
	}
	return nil
}

// params is a request to list parameters.
type params struct {
	kind
	namespace, name, selector string
}

// paramsOf returns the request for the parameters of a binding. Without a namespace in the binding, it asks for all namespaces, since each
// namespace has its own parameters for its objects.
func paramsOf(b binding, resource metav1.APIResource) (params, error) {
	p := params{kind: kind{of(b.kind.Group, resource.Name), b.kind.Kind, others, ""}, name: b.ref.Name}
	if resource.Namespaced {
		p.namespace = b.ref.Namespace
	}
	if b.ref.Selector == nil {
		return p, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(b.ref.Selector)
	if err == nil {
		p.selector = selector.String()
	}
	return p, err
}

// String describes the parameters, such as "ConfigMap policies/limit".
func (p params) String() string {
	if p.name != "" {
		return p.kind.name + " " + strings.TrimPrefix(p.namespace+"/"+p.name, "/")
	}
	text := p.kind.name
	if p.namespace != "" {
		text += " in namespace " + p.namespace
	}
	if p.selector != "" {
		text += " with labels " + p.selector
	}
	return "any " + text
}

// allowed returns the argument with which simulate rbac allows reading the parameters, such as configmaps/limit.
func (p params) allowed() string {
	return strings.TrimSuffix(p.GroupResource.String()+"/"+p.name, "/")
}

// secret reports whether the parameters are Secrets. The client never reads Secrets.
func (p params) secret() bool { return p.GroupResource == of("", "secrets") }

// readParam reads parameters, and reports whether the user may read them.
func (r *reader) readParam(ctx context.Context, p params, gv schema.GroupVersion) (bool, error) {
	if p.secret() {
		return false, nil
	}
	only := url.Values{}
	if p.name != "" {
		only.Set("fieldSelector", "metadata.name="+p.name)
	}
	if p.selector != "" {
		only.Set("labelSelector", p.selector)
	}
	l := &list{reader: r, kind: p.kind, version: gv.String(), namespace: p.namespace, only: only}
	switch err := l.all(ctx, gv); {
	case apierrors.IsForbidden(err):
		return false, nil
	case err != nil && !apierrors.IsNotFound(err): // the resource may be gone
		return false, r.problem(p.Resource, err)
	}
	if l.count > 0 {
		r.parts = append(r.parts, l.text())
		r.dump.Counts[p.kind.name] += l.count
	}
	return true, nil
}

// define adds a CustomResourceDefinition of the parameter kind to the dump, as far as discovery shows it, since a policy fails if the
// server lacks the kind. It adds none for Kubernetes' own kinds.
func (r *reader) define(gvk schema.GroupVersionKind, resource metav1.APIResource) {
	if scheme.Scheme.Recognizes(gvk) {
		return
	}
	scope := "Cluster"
	if resource.Namespaced {
		scope = "Namespaced"
	}
	l := &list{reader: &reader{}}
	l.write(fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":%q},"spec":{"group":%q,"names":{"kind":%q,"plural":%q},"scope":%q}}`,
		resource.Name+"."+gvk.Group, gvk.Group, gvk.Kind, resource.Name, scope))
	r.parts = append(r.parts, l.text())
}

// allowing returns the arguments with which simulate rbac allows reading the parameters.
func (r *reader) allowing() string {
	text := ""
	for _, p := range r.allow {
		text += " --parameters " + p
	}
	return text
}
