package admission

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// The upstream packages cel, policy/matching, webhook/matchconditions and policy/mutating/patch below
// https://github.com/kubernetes/kubernetes/tree/v1.37.1/staging/src/k8s.io/apiserver/pkg/admission/plugin compile, match and evaluate
// policies. Upstream's two plugins, policy/validating and policy/mutating, only call these packages, but would import gRPC and
// OpenTelemetry, 160 packages, for the clients of webhooks. So this file and policy_dispatch.go copy the plugins function by function,
// without metrics, audit events and informers.

// policies holds the admission policies of a state, each kind sorted by name; upstream's order is random.
type policies struct {
	mutating, validating []*boundPolicy
	matcher              *matching.Matcher
	params               map[schema.GroupVersionKind]*paramKind
}

// boundPolicy is a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy with its bindings.
type boundPolicy struct {
	name         string
	paramKind    *admissionv1.ParamKind
	match        *admissionv1.MatchResources
	failure      admissionv1.FailurePolicyType
	validations  []admissionv1.Validation
	reinvocation admissionv1.ReinvocationPolicyType
	bindings     []binding
	// compile compiles the expressions when they are first needed.
	compile func() *compiledPolicy
}

// binding is a binding of a policy.
type binding struct {
	name    string
	param   *admissionv1.ParamRef
	match   *admissionv1.MatchResources
	actions []admissionv1.ValidationAction
}

// newPolicies returns the policies of the state that have bindings. See calculatePolicyData in policy/generic/policy_source.go.
func newPolicies(s *cluster.State, namespaces corev1listers.NamespaceLister, client kubernetes.Interface) *policies {
	p := &policies{matcher: matching.NewMatcher(namespaces, client), params: paramKindsOf(s)}
	bound, kindOf := map[cluster.Ref][]binding{}, func(kind, name string) cluster.Ref { return cluster.Ref{Kind: kind, Name: name} }
	for _, obj := range s.Policies {
		switch b := obj.(type) {
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			of := kindOf(validatingPolicies, b.Spec.PolicyName)
			bound[of] = append(bound[of], binding{b.Name, b.Spec.ParamRef, b.Spec.MatchResources, b.Spec.ValidationActions})
		case *admissionv1.MutatingAdmissionPolicyBinding:
			of := kindOf(mutatingPolicies, b.Spec.PolicyName)
			bound[of] = append(bound[of], binding{b.Name, b.Spec.ParamRef, b.Spec.MatchResources, nil})
		}
	}
	for _, obj := range s.Policies {
		bindings := bound[cluster.RefTo(obj)]
		if len(bindings) == 0 {
			continue
		}
		slices.SortFunc(bindings, func(a, b binding) int { return cmp.Compare(a.name, b.name) })
		switch o := obj.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			p.validating = append(p.validating, &boundPolicy{
				name: o.Name, paramKind: o.Spec.ParamKind, match: o.Spec.MatchConstraints, failure: ptr.Deref(o.Spec.FailurePolicy, admissionv1.Fail),
				validations: o.Spec.Validations, bindings: bindings, compile: func() *compiledPolicy { return compileOnce(o, compileValidating) },
			})
		case *admissionv1.MutatingAdmissionPolicy:
			if !utilfeature.DefaultFeatureGate.Enabled(features.MutatingAdmissionPolicy) {
				continue // the API server does not know the kind
			}
			p.mutating = append(p.mutating, &boundPolicy{
				name: o.Name, paramKind: o.Spec.ParamKind, match: o.Spec.MatchConstraints, failure: ptr.Deref(o.Spec.FailurePolicy, admissionv1.Fail),
				reinvocation: o.Spec.ReinvocationPolicy, bindings: bindings, compile: func() *compiledPolicy { return compileOnce(o, compileMutating) },
			})
		}
	}
	for _, all := range [][]*boundPolicy{p.mutating, p.validating} {
		slices.SortFunc(all, func(a, b *boundPolicy) int { return cmp.Compare(a.name, b.name) })
	}
	return p
}

// compiledPolicy holds the expressions of a policy, ready for evaluation. An expression that does not compile fails in each evaluation; problems
// lists such expressions for the validation of the policy.
type compiledPolicy struct {
	compiler                           *plugincel.CompositedCompiler
	matcher                            matchconditions.Matcher
	validations, messages, annotations plugincel.ConditionEvaluator
	patchers                           []patch.Patcher
	problems                           field.ErrorList
}

// compileOnce compiles each policy once for all states that share it.
func compileOnce[P any](policy *P, compile func(*P) *compiledPolicy) *compiledPolicy {
	key := weak.Make(policy)
	if known, found := compiledPolicies.Load(key); found {
		return known.(*compiledPolicy)
	}
	made := compile(policy)
	if _, found := compiledPolicies.LoadOrStore(key, made); !found {
		runtime.AddCleanup(policy, func(gone weak.Pointer[P]) { compiledPolicies.Delete(gone) }, key)
	}
	return made
}

// compiledPolicies holds a *compiled for each policy, by a weak pointer to it.
var compiledPolicies sync.Map

// expression is a CEL expression with the types that its result may have, and the name of the variable that it defines.
type expression struct {
	text  string
	types []*cel.Type
	name  string
}

func (e expression) GetExpression() string    { return e.text }
func (e expression) ReturnTypes() []*cel.Type { return e.types }
func (e expression) GetName() string          { return e.name }

// newCompiled compiles the parts that both kinds of policies have: variables and match conditions.
func newCompiled(name string, params bool, variables []admissionv1.Variable, conditions []admissionv1.MatchCondition, failure *admissionv1.FailurePolicyType) (*compiledPolicy, plugincel.OptionalVariableDeclarations) {
	options := plugincel.OptionalVariableDeclarations{HasParams: params, HasAuthorizer: true}
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		panic(err) // the environment is upstream's, and the same for every policy
	}
	c := &compiledPolicy{compiler: compiler}
	spec := field.NewPath("spec")
	for i, v := range variables {
		result := compiler.CompileAndStoreVariable(expression{v.Expression, []*cel.Type{cel.AnyType, cel.DynType}, v.Name}, options, environment.StoredExpressions)
		c.addProblem(spec.Child("variables").Index(i).Child("expression"), v.Expression, result.Error)
	}
	if len(conditions) > 0 {
		all := make([]plugincel.ExpressionAccessor, len(conditions))
		for i := range conditions {
			all[i] = (*matchconditions.MatchCondition)(&conditions[i])
		}
		c.matcher = matchconditions.NewMatcher(c.compileConditions(all, options, func(i int) *field.Path { return spec.Child("matchConditions").Index(i).Child("expression") }),
			failure, "policy", "validate", name)
	}
	return c, options
}

// compileConditions compiles expressions; a nil expression stays nil. path returns the path of an expression in the policy.
func (c *compiledPolicy) compileConditions(all []plugincel.ExpressionAccessor, options plugincel.OptionalVariableDeclarations, path func(int) *field.Path) plugincel.ConditionEvaluator {
	results := make([]plugincel.CompilationResult, len(all))
	for i, accessor := range all {
		if accessor != nil {
			results[i] = c.compiler.CompileCELExpression(accessor, options, environment.StoredExpressions)
			c.addProblem(path(i), accessor.GetExpression(), results[i].Error)
		}
	}
	return compositedEvaluator{plugincel.NewCondition(results), c.compiler}
}

// compositedEvaluator evaluates conditions with the variables of their policy.
type compositedEvaluator struct {
	plugincel.ConditionEvaluator
	compiler *plugincel.CompositedCompiler
}

// addProblem adds the problem of an expression that does not compile. See convertCELErrorToValidationError in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/apis/admissionregistration/validation/validation.go.
func (c *compiledPolicy) addProblem(path *field.Path, text string, err *apiservercel.Error) {
	if err != nil {
		c.problems = append(c.problems, field.Invalid(path, text, err.Detail))
	}
}

// compileValidating does what compilePolicy does in policy/validating/plugin.go.
func compileValidating(o *admissionv1.ValidatingAdmissionPolicy) *compiledPolicy {
	spec := &o.Spec
	c, options := newCompiled(o.Name, spec.ParamKind != nil, spec.Variables, spec.MatchConditions, spec.FailurePolicy)
	checks, messages := make([]plugincel.ExpressionAccessor, len(spec.Validations)), make([]plugincel.ExpressionAccessor, len(spec.Validations))
	for i, v := range spec.Validations {
		checks[i] = expression{text: v.Expression, types: []*cel.Type{cel.BoolType}}
		if v.MessageExpression != "" {
			messages[i] = expression{text: v.MessageExpression, types: []*cel.Type{cel.StringType}}
		}
	}
	annotations := make([]plugincel.ExpressionAccessor, len(spec.AuditAnnotations))
	for i, a := range spec.AuditAnnotations {
		annotations[i] = expression{text: a.ValueExpression, types: []*cel.Type{cel.StringType, cel.NullType}}
	}
	within := func(list, of string) func(int) *field.Path {
		return func(i int) *field.Path { return field.NewPath("spec", list).Index(i).Child(of) }
	}
	c.validations = c.compileConditions(checks, options, within("validations", "expression"))
	c.annotations = c.compileConditions(annotations, options, within("auditAnnotations", "valueExpression"))
	options.HasAuthorizer = false
	c.messages = c.compileConditions(messages, options, within("validations", "messageExpression"))
	return c
}

// compileMutating does what compilePolicy does in policy/mutating/compilation.go.
func compileMutating(o *admissionv1.MutatingAdmissionPolicy) *compiledPolicy {
	spec := &o.Spec
	c, options := newCompiled(o.Name, spec.ParamKind != nil, spec.Variables, spec.MatchConditions, spec.FailurePolicy)
	options.HasPatchTypes = true
	evaluator := func(accessor plugincel.ExpressionAccessor, i int, of string) plugincel.MutatingEvaluator {
		result := c.compiler.CompileCELExpression(accessor, options, environment.StoredExpressions)
		c.addProblem(field.NewPath("spec", "mutations").Index(i).Child(of, "expression"), accessor.GetExpression(), result.Error)
		return plugincel.NewMutatingEvaluator(result)
	}
	for i, m := range spec.Mutations {
		switch {
		case m.PatchType == admissionv1.PatchTypeJSONPatch && m.JSONPatch != nil:
			c.patchers = append(c.patchers, patch.NewJSONPatcher(evaluator(&patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}, i, "jsonPatch")))
		case m.PatchType == admissionv1.PatchTypeApplyConfiguration && m.ApplyConfiguration != nil:
			accessor := &patch.ApplyConfigurationCondition{Expression: m.ApplyConfiguration.Expression}
			c.patchers = append(c.patchers, patch.NewApplyConfigurationPatcher(evaluator(accessor, i, "applyConfiguration")))
		}
	}
	return c
}
