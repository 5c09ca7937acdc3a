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
	bindings, err := r.bindingsWithParams()
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
			r.writeDefinition(b.kind, resource)
		}
		p, err := newParamsRequest(b, resource)
		if err != nil {
			return r.wrapError(b.String(), &unreadableError{err})
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
			if allowed := p.rbacArgument(); !p.isSecret() && !slices.Contains(r.unreadableParams, allowed) {
				r.unreadableParams = append(r.unreadableParams, allowed)
			}
		}
		left[p.String()] = append(left[p.String()], b.String())
		if err := r.dropObjects(b.part, func(m metav1.ObjectMeta) bool { return m.Name == b.name }); err != nil {
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

// bindingsWithParams returns the bindings that name parameters, if their policies have a parameter kind.
func (r *reader) bindingsWithParams() (found []binding, err error) {
	for _, of := range []string{validatingPolicy, mutatingPolicy} {
		paramKinds := map[string]schema.GroupVersionKind{}
		err = r.forEachObject(of, func(_ int, object []byte) error {
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
		err = r.forEachObject(of+"Binding", func(part int, object []byte) error {
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

// forEachObject calls a function for each object of a kind that was read.
func (r *reader) forEachObject(kindName string, do func(part int, object []byte) error) error {
	part := slices.IndexFunc(kinds, func(k kind) bool { return k.name == kindName })
	err := forEachStoredItem(r.parts[part], func(object []byte) error { return do(part, object) })
	if err != nil {
		return r.wrapError(kinds[part].Resource, &unreadableError{err})
	}
	return nil
}

// paramsRequest is a request to list parameters.
type paramsRequest struct {
	kind
	namespace, name, selector string
}

// newParamsRequest returns the request for the parameters of a binding. Without a namespace in the binding, it asks for all namespaces, since each
// namespace has its own parameters for its objects.
func newParamsRequest(b binding, resource metav1.APIResource) (paramsRequest, error) {
	p := paramsRequest{kind: kind{groupResource(b.kind.Group, resource.Name), b.kind.Kind, otherStage, ""}, name: b.ref.Name}
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
func (p paramsRequest) String() string {
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

// rbacArgument returns the argument with which simulate rbac allows reading the parameters, such as configmaps/limit.
func (p paramsRequest) rbacArgument() string {
	return strings.TrimSuffix(p.GroupResource.String()+"/"+p.name, "/")
}

// isSecret reports whether the parameters are Secrets. The client never reads Secrets.
func (p paramsRequest) isSecret() bool { return p.GroupResource == groupResource("", "secrets") }

// readParam reads parameters, and reports whether the user may read them.
func (r *reader) readParam(ctx context.Context, p paramsRequest, gv schema.GroupVersion) (bool, error) {
	if p.isSecret() {
		return false, nil
	}
	only := url.Values{}
	if p.name != "" {
		only.Set("fieldSelector", "metadata.name="+p.name)
	}
	if p.selector != "" {
		only.Set("labelSelector", p.selector)
	}
	l := &list{reader: r, kind: p.kind, version: gv.String(), namespace: p.namespace, selectors: only}
	switch err := l.readAll(ctx, gv); {
	case apierrors.IsForbidden(err):
		return false, nil
	case err != nil && !apierrors.IsNotFound(err): // the resource may be gone
		return false, r.wrapError(p.Resource, err)
	}
	if l.count > 0 {
		r.parts = append(r.parts, l.compressedData())
		r.dump.Counts[p.kind.name] += l.count
	}
	return true, nil
}

// writeDefinition adds a CustomResourceDefinition of the parameter kind to the dump, as far as discovery shows it, since a policy fails if the
// server lacks the kind. It adds none for Kubernetes' own kinds.
func (r *reader) writeDefinition(gvk schema.GroupVersionKind, resource metav1.APIResource) {
	if scheme.Scheme.Recognizes(gvk) {
		return
	}
	scope := "Cluster"
	if resource.Namespaced {
		scope = "Namespaced"
	}
	l := &list{reader: &reader{}}
	l.appendObject(fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":%q},"spec":{"group":%q,"names":{"kind":%q,"plural":%q},"scope":%q}}`,
		resource.Name+"."+gvk.Group, gvk.Group, gvk.Kind, resource.Name, scope))
	r.parts = append(r.parts, l.compressedData())
}

// rbacFlags returns the arguments with which simulate rbac allows reading the parameters.
func (r *reader) rbacFlags() string {
	text := ""
	for _, p := range r.unreadableParams {
		text += " --parameters " + p
	}
	return text
}
