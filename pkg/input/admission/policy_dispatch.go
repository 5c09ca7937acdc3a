package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	celtypes "github.com/google/cel-go/common/types"
	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiadmission "k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/warning"
)

// invocation is one evaluation of a policy for a request, with a binding and a parameter. If err is set, the policy could not be evaluated.
type invocation struct {
	*boundPolicy
	binding  *binding
	resource schema.GroupVersionResource
	object   *apiadmission.VersionedAttributes
	param    runtime.Object
	err      error
}

// findInvocations returns the evaluations that the request needs. See Dispatch in policy/generic/policy_dispatcher.go and in
// policy/validating/dispatcher.go.
func (p *policies) findInvocations(a apiadmission.Attributes, all []*boundPolicy) (found []invocation) {
	objects := map[schema.GroupVersionKind]*apiadmission.VersionedAttributes{}
	for _, of := range all {
		fail := func(b *binding, err error) { found = append(found, invocation{boundPolicy: of, binding: b, err: err}) }
		matches, resource, kind, err := p.matchesRequest(a, of.match, "policy contained no match constraints, a required field")
		if err == nil && matches && of.paramKind != nil && p.params[paramGVK(of.paramKind)] == nil {
			err = fmt.Errorf("failed to find resource referenced by paramKind: '%v'", paramGVK(of.paramKind))
		}
		if err != nil {
			fail(nil, err)
			continue
		}
		for i := range of.bindings {
			b := &of.bindings[i]
			if !matches {
				break
			}
			if b.match != nil {
				bound, _, _, err := p.matchesRequest(a, b.match, "")
				if err != nil {
					fail(b, err)
				}
				if err != nil || !bound {
					continue
				}
			}
			params, err := p.collectParams(of.paramKind, b.param, a.GetNamespace())
			if err == nil && objects[kind] == nil {
				objects[kind], err = apiadmission.NewVersionedAttributes(a, kind, objectInterfaces)
			}
			if err != nil {
				fail(b, err)
				continue
			}
			for _, param := range params {
				found = append(found, invocation{of, b, resource, objects[kind], param, nil})
			}
		}
	}
	return found
}

// matchesRequest reports whether the request matches the resources, and returns the resource and kind as which it does. Missing resources are an
// error with the text missing. See policy/generic/policy_matcher.go.
func (p *policies) matchesRequest(a apiadmission.Attributes, resources *admissionv1.MatchResources, missing string) (bool, schema.GroupVersionResource, schema.GroupVersionKind, error) {
	if resources == nil {
		return false, schema.GroupVersionResource{}, schema.GroupVersionKind{}, errors.New(missing)
	}
	return p.matcher.Matches(a, objectInterfaces, criteria{resources})
}

// criteria implements matching.MatchCriteria.
type criteria struct{ *admissionv1.MatchResources }

func (c criteria) GetParsedNamespaceSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.NamespaceSelector)
}

func (c criteria) GetParsedObjectSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.ObjectSelector)
}

func (c criteria) GetMatchResources() admissionv1.MatchResources { return *c.MatchResources }

// requestNamespace returns the namespace of the request.
func (p *policies) requestNamespace(ctx context.Context, a apiadmission.Attributes) (*v1.Namespace, error) {
	if a.GetNamespace() == "" {
		return nil, nil
	}
	return p.matcher.GetNamespace(ctx, a.GetNamespace())
}

// admissionRequest returns the request as expressions see it.
func (i *invocation) admissionRequest() *admissionapi.AdmissionRequest {
	return plugincel.CreateAdmissionRequest(i.object.Attributes, metav1.GroupVersionResource(i.resource), metav1.GroupVersionKind(i.object.VersionedKind))
}

// allowAll is an authorizer that allows everything, since the input does not say who may do what.
type allowAll struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (allowAll) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// validatingPlugin is the plugin ValidatingAdmissionPolicy.
type validatingPlugin struct{ *policies }

func (validatingPlugin) Handles(operation apiadmission.Operation) bool {
	return operation == apiadmission.Create || operation == apiadmission.Update
}

// denial is one reason for which a policy refuses an object.
type denial struct {
	message string
	reason  metav1.StatusReason
}

// Validate implements admission.ValidationInterface. See Dispatch in policy/validating/dispatcher.go.
func (p validatingPlugin) Validate(ctx context.Context, a apiadmission.Attributes, _ apiadmission.ObjectInterfaces) error {
	var denied error
	deny := func(i *invocation, d denial) {
		with := ""
		if i.binding != nil {
			with = fmt.Sprintf(" with binding '%s'", i.binding.name)
		}
		if denied != nil {
			return // the first one counts
		}
		forbidden := apiadmission.NewForbidden(a, fmt.Errorf("ValidatingAdmissionPolicy '%s'%s denied request: %s", i.name, with, d.message))
		err, _ := errors.AsType[*apierrors.StatusError](forbidden) // it always is one
		err.ErrStatus.Reason, err.ErrStatus.Code = d.reason, http.StatusUnprocessableEntity
		if d.reason == "" {
			err.ErrStatus.Reason = metav1.StatusReasonInvalid
		}
		denied = err
	}
	invocations := p.findInvocations(a, p.validating)
	if len(invocations) == 0 {
		return nil
	}
	namespace, err := p.requestNamespace(ctx, a)
	if err != nil {
		return err
	}
	for n := range invocations {
		i := &invocations[n]
		switch {
		case i.err != nil && i.failure == admissionv1.Ignore:
			continue
		case i.err != nil:
			deny(i, denial{message: configurationError(i).Error()})
			continue
		}
		decisions, unnoted := i.evaluate(ctx, namespace)
		for _, d := range decisions {
			if slices.Contains(i.binding.actions, admissionv1.Warn) {
				warning.AddWarning(ctx, "", fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", i.name, i.binding.name, d.message))
			}
			if slices.Contains(i.binding.actions, admissionv1.Deny) {
				deny(i, d)
			}
		}
		for _, d := range unnoted {
			deny(i, d)
		}
	}
	return denied
}

// configurationError returns the error of a policy that could not be evaluated.
func configurationError(i *invocation) error {
	if i.binding == nil {
		return fmt.Errorf("failed to configure policy: %w", i.err)
	}
	return fmt.Errorf("failed to configure binding: %w", i.err)
}

// evaluate evaluates the policy. It returns the reasons to refuse the object, and the failures of audit annotations. See
// policy/validating/validator.go.
func (i *invocation) evaluate(ctx context.Context, namespace *v1.Namespace) (decisions, unnoted []denial) {
	c := i.compile()
	failed := func(message string) []denial {
		if i.failure == admissionv1.Ignore {
			return nil
		}
		return []denial{{message: message}}
	}
	if c.matcher != nil {
		switch match := c.matcher.Match(c.compiler.CreateContext(ctx), i.object, i.param, allowAll{}); {
		case match.Error != nil:
			return failed(match.Error.Error()), nil
		case !match.Matches:
			return nil, nil
		}
	}
	asked, ns := i.admissionRequest(), plugincel.CreateNamespaceObject(namespace)
	results, budget, err := c.validations.ForInput(c.compiler.CreateContext(ctx), i.object, asked,
		plugincel.OptionalVariableBindings{VersionedParams: i.param, Authorizer: allowAll{}}, ns, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return failed(err.Error()), nil
	}
	bindings := plugincel.OptionalVariableBindings{VersionedParams: i.param}
	messages, _, err := c.messages.ForInput(c.compiler.CreateContext(ctx), i.object, asked, bindings, ns, budget)
	for n, result := range results {
		switch {
		case result.Error != nil:
			decisions = append(decisions, failed(result.Error.Error())...)
		case errors.Is(err, apiservercel.ErrInternal) || errors.Is(err, apiservercel.ErrOutOfBudget):
			decisions = append(decisions, failed(fmt.Sprintf("failed messageExpression: %s", err))...)
		case result.EvalResult != celtypes.True:
			denied := denial{message: i.denialMessage(n, messages)}
			if reason := i.validations[n].Reason; reason != nil {
				denied.reason = *reason
			}
			decisions = append(decisions, denied)
		}
	}
	notes, _, err := c.annotations.ForInput(c.compiler.CreateContext(ctx), i.object, asked,
		plugincel.OptionalVariableBindings{VersionedParams: i.param, Authorizer: allowAll{}}, namespace, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return failed(err.Error()), nil
	}
	for _, note := range notes {
		if note.Error != nil {
			unnoted = append(unnoted, failed(note.Error.Error())...)
		}
	}
	return decisions, unnoted
}

// denialMessage returns the message of a failed validation: the value of its messageExpression, or its message, or its expression.
func (i *invocation) denialMessage(n int, messages []plugincel.EvaluationResult) string {
	v := i.validations[n]
	if n < len(messages) && messages[n].Error == nil && messages[n].EvalResult != nil {
		text, _ := messages[n].EvalResult.Value().(string)
		if text = strings.TrimSpace(text); text != "" && len(text) <= celconfig.MaxEvaluatedMessageExpressionSizeBytes && !strings.Contains(text, "\n") {
			return text
		}
	}
	if text := strings.TrimSpace(v.Message); text != "" {
		return text
	}
	return "failed expression: " + strings.TrimSpace(v.Expression)
}

// mutatingPlugin is the plugin MutatingAdmissionPolicy.
type mutatingPlugin struct{ *policies }

func (mutatingPlugin) Handles(operation apiadmission.Operation) bool {
	return operation == apiadmission.Create || operation == apiadmission.Update
}

// reinvocationState is the state that a request keeps between two passes of the policies. See policy/mutating/reinvocationcontext.go.
type reinvocationState struct {
	output            runtime.Object
	eligible, pending map[invocationKey]bool
}

type invocationKey struct{ policy, binding, namespace, param string }

// requireEligible makes all eligible policies run again in the next pass.
func (r *reinvocationState) requireEligible() {
	for key := range r.eligible {
		r.pending[key] = true
	}
	r.eligible = map[invocationKey]bool{}
}

// Admit implements admission.MutationInterface. See Dispatch in policy/generic/policy_dispatcher.go and dispatchInvocations in
// policy/mutating/dispatcher.go.
func (p mutatingPlugin) Admit(ctx context.Context, a apiadmission.Attributes, _ apiadmission.ObjectInterfaces) error {
	all := p.findInvocations(a, p.mutating)
	var refusal error
	refuse := func(i *invocation, err error, reason metav1.StatusReason) {
		if i.failure == admissionv1.Ignore || refusal != nil {
			return
		}
		message := fmt.Sprintf("policy %q denied request: %s", i.name, err)
		if i.binding != nil {
			message = fmt.Sprintf("policy '%s' with binding '%s' denied request: %s", i.name, i.binding.name, err)
		}
		// NewForbidden always returns a StatusError.
		forbidden, _ := errors.AsType[*apierrors.StatusError](apiadmission.NewForbidden(a, errors.New("admission request denied by policy")))
		forbidden.ErrStatus.Message = message
		if reason != "" {
			forbidden.ErrStatus.Reason = reason
		}
		refusal = forbidden
	}
	for n := range all {
		if i := &all[n]; i.err != nil {
			refuse(i, configurationError(i), "")
		}
	}
	all = slices.DeleteFunc(all, func(i invocation) bool { return i.err != nil })
	if len(all) == 0 {
		return refusal
	}
	if err := p.invoke(ctx, a, all, refuse); err != nil {
		return err
	}
	return refusal
}

// invoke applies the patches of all policies to the object, and requires a second pass if a policy has changed the object.
func (p mutatingPlugin) invoke(ctx context.Context, a apiadmission.Attributes, all []invocation, refuse func(*invocation, error, metav1.StatusReason)) error {
	again := a.GetReinvocationContext()
	known, _ := again.Value(mutatingPolicies).(*reinvocationState)
	if known == nil {
		known = &reinvocationState{eligible: map[invocationKey]bool{}, pending: map[invocationKey]bool{}}
		again.SetValue(mutatingPolicies, known)
	}
	if again.IsReinvoke() && !apiequality.Semantic.DeepEqual(known.output, a.GetObject()) {
		known.requireEligible()
	}
	namespace, err := p.requestNamespace(ctx, a)
	if err != nil {
		return err
	}
	var last *apiadmission.VersionedAttributes
	for n := range all {
		i := &all[n]
		c := i.compile()
		if c.matcher != nil {
			match := c.matcher.Match(c.compiler.CreateContext(ctx), i.object, i.param, allowAll{})
			if match.Error != nil {
				refuse(i, match.Error, metav1.StatusReasonInvalid)
			}
			if match.Error != nil || !match.Matches {
				continue
			}
		}
		key := invocationKey{policy: i.name, binding: i.binding.name}
		if i.param != nil {
			param, err := meta.Accessor(i.param)
			if err != nil {
				return err
			}
			key.namespace, key.param = param.GetNamespace(), param.GetName()
		}
		if again.IsReinvoke() && !known.pending[key] {
			continue
		}
		before := i.object.VersionedObject.Object()
		for _, patcher := range c.patchers {
			last = i.object
			if err := i.applyPatch(c.compiler.CreateContext(ctx), patcher, namespace); err != nil {
				if status := apierrors.APIStatus(nil); errors.As(err, &status) {
					return err
				}
				refuse(i, err, metav1.StatusReasonInvalid)
			}
		}
		if !apiequality.Semantic.DeepEqual(before, i.object.VersionedObject.Object()) {
			known.requireEligible()
			again.SetShouldReinvoke()
		}
		if i.reinvocation == admissionv1.IfNeededReinvocationPolicy {
			known.eligible[key] = true
		}
	}
	if last != nil && last.Dirty {
		known.requireEligible()
		again.SetShouldReinvoke()
		if err := objectInterfaces.GetObjectConvertor().Convert(last.VersionedObject.Object(), a.GetObject(), nil); err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to convert object: %w", err))
		}
	}
	known.output = a.GetObject().DeepCopyObject()
	return nil
}

// applyPatch applies one of the policy's mutations to the object. See dispatchOne in policy/mutating/dispatcher.go.
func (i *invocation) applyPatch(ctx context.Context, patcher patch.Patcher, namespace *v1.Namespace) error {
	patched, err := patcher.Patch(ctx, patch.Request{
		MatchedResource: i.resource, VersionedAttributes: i.object, ObjectInterfaces: objectInterfaces,
		OptionalVariables: plugincel.OptionalVariableBindings{VersionedParams: i.param, Authorizer: allowAll{}},
		Namespace:         namespace, TypeConverter: typeConverter(),
	}, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return err
	}
	if patched, err = objectInterfaces.GetObjectConvertor().ConvertToVersion(patched, i.object.VersionedKind.GroupVersion()); err != nil {
		return err
	}
	objectInterfaces.GetObjectDefaulter().Default(patched)
	i.object.UpdateObject(patched)
	return nil
}
