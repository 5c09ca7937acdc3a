package admission

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	psaapi "k8s.io/pod-security-admission/api"
)

// Upstream's validation of policies would import its plugins, and with them the packages that policy.go avoids. These functions check, in
// upstream's words, only what evaluation relies on: the required fields, and the expressions. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/apis/admissionregistration/validation/validation.go.

// policyValidator returns a function that validates a policy or a binding in its version v1, whose expressions are compiled.
func policyValidator[T any, O interface {
	*T
	runtime.Object
}](validate func(O) field.ErrorList) func(runtime.Object) field.ErrorList {
	return func(internal runtime.Object) field.ErrorList {
		external := O(new(T))
		if err := legacyscheme.Scheme.Convert(internal, external, nil); err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
		return validate(external)
	}
}

func validateValidatingPolicy(p *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	errs := requireMatchConstraints(p.Spec.MatchConstraints)
	if len(p.Spec.Validations) == 0 && len(p.Spec.AuditAnnotations) == 0 {
		errs = append(errs, field.Required(field.NewPath("spec", "validations"), "validations or auditAnnotations must be present and non-empty"))
	}
	return append(errs, compileValidating(p).problems...)
}

func validateMutatingPolicy(p *admissionv1.MutatingAdmissionPolicy) field.ErrorList {
	errs := requireMatchConstraints(p.Spec.MatchConstraints)
	if len(p.Spec.Mutations) == 0 {
		errs = append(errs, field.Required(field.NewPath("spec", "mutations"), "mutations must contain at least one item"))
	}
	for i, m := range p.Spec.Mutations {
		path := field.NewPath("spec", "mutations").Index(i)
		switch {
		case m.PatchType == admissionv1.PatchTypeJSONPatch && m.JSONPatch == nil:
			errs = append(errs, field.Required(path.Child("jsonPatch"), "must be specified when patchType is JSONPatch"))
		case m.PatchType == admissionv1.PatchTypeApplyConfiguration && m.ApplyConfiguration == nil:
			errs = append(errs, field.Required(path.Child("applyConfiguration"), "must be specified when patchType is ApplyConfiguration"))
		case m.PatchType != admissionv1.PatchTypeJSONPatch && m.PatchType != admissionv1.PatchTypeApplyConfiguration:
			errs = append(errs, field.NotSupported(path.Child("patchType"), m.PatchType, []admissionv1.PatchType{admissionv1.PatchTypeApplyConfiguration, admissionv1.PatchTypeJSONPatch}))
		}
	}
	if policy := p.Spec.ReinvocationPolicy; policy != admissionv1.NeverReinvocationPolicy && policy != admissionv1.IfNeededReinvocationPolicy {
		errs = append(errs, field.NotSupported(field.NewPath("spec", "reinvocationPolicy"), policy,
			[]admissionv1.ReinvocationPolicyType{admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy}))
	}
	return append(errs, compileMutating(p).problems...)
}

func requireMatchConstraints(constraints *admissionv1.MatchResources) field.ErrorList {
	path := field.NewPath("spec", "matchConstraints")
	switch {
	case constraints == nil:
		return field.ErrorList{field.Required(path, "")}
	case len(constraints.ResourceRules) == 0:
		return field.ErrorList{field.Required(path.Child("resourceRules"), "")}
	}
	return nil
}

func validateValidatingBinding(b *admissionv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	errs := validateBindingRefs(b.Spec.PolicyName, b.Spec.ParamRef)
	if len(b.Spec.ValidationActions) == 0 {
		errs = append(errs, field.Required(field.NewPath("spec", "validationActions"), ""))
	}
	for i, action := range b.Spec.ValidationActions {
		switch action {
		case admissionv1.Deny, admissionv1.Warn, admissionv1.Audit:
		default:
			errs = append(errs, field.NotSupported(field.NewPath("spec", "validationActions").Index(i), action,
				[]admissionv1.ValidationAction{admissionv1.Audit, admissionv1.Deny, admissionv1.Warn}))
		}
	}
	return errs
}

func validateMutatingBinding(b *admissionv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return validateBindingRefs(b.Spec.PolicyName, b.Spec.ParamRef)
}

func validateBindingRefs(policy string, param *admissionv1.ParamRef) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	if policy == "" {
		errs = append(errs, field.Required(spec.Child("policyName"), ""))
	}
	switch {
	case param == nil:
	case param.Name != "" && param.Selector != nil:
		errs = append(errs, field.Forbidden(spec.Child("paramRef", "name"), "name and selector are mutually exclusive"))
	case param.Name == "" && param.Selector == nil:
		errs = append(errs, field.Required(spec.Child("paramRef"), "one of name or selector must be specified"))
	case param.ParameterNotFoundAction == nil:
		errs = append(errs, field.Required(spec.Child("paramRef", "parameterNotFoundAction"), ""))
	}
	return errs
}

// validateNamespace also checks the labels for Pod Security, as the plugin PodSecurity does for new namespaces. A namespace of a running
// cluster may have labels that the plugin would refuse now.
func validateNamespace(ns *core.Namespace) field.ErrorList {
	errs := corevalidation.ValidateNamespace(ns)
	if ns.ResourceVersion == "" {
		_, wrong := psaapi.PolicyToEvaluate(ns.Labels, psaapi.Policy{})
		errs = append(errs, wrong...)
	}
	return errs
}
