package loader

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// noteUnevaluated removes from the ignored objects the ones that act on workloads of the scenario but are not simulated: webhooks, and the
// policies of Kyverno and Gatekeeper. It returns one note that names the webhooks, and one note for each other kind.
func noteUnevaluated(s *scenario.Scenario) []string {
	objects := slices.Concat(s.Cluster, s.Workloads)
	for i := range s.Steps {
		objects = append(objects, s.Steps[i].Objects...)
	}
	workloads := list.Without(objects, func(obj cluster.Object) bool {
		spec, _ := cluster.PodSpec(obj)
		return spec == nil || metav1.GetControllerOfNoCopy(obj) != nil
	})
	var notes []string
	known, matches := map[string]int{}, (func(cluster.Object, admissionv1.MatchResources) bool)(nil)
	var kinds, asked []string
	var rest []manifest.Ignored
	for _, ignored := range s.Ignored {
		matched := newMatcher(ignored)
		if matched == nil {
			rest = append(rest, ignored)
			continue
		}
		if matches == nil {
			matches = admission.NewMatcher(objects)
		}
		if !slices.ContainsFunc(workloads, func(obj cluster.Object) bool { return matched(obj, matches) }) {
			rest = append(rest, ignored)
			continue
		}
		if isWebhook(ignored) {
			asked = append(asked, ignored.Kind+" "+ignored.Name)
			continue
		}
		if known[ignored.Kind]++; known[ignored.Kind] == 1 {
			kinds = append(kinds, ignored.Kind)
		}
	}
	s.Ignored = rest
	if len(asked) > 0 {
		notes = append(notes, fmt.Sprintf("Not asked: %s, whose webhooks match pods or workloads of the input and %s.", words.And(asked), webhookEffect(asked)))
	}
	for _, kind := range kinds {
		effect := "could refuse them, or change them"
		if strings.HasPrefix(kind, "Validating") {
			effect = "could refuse them"
		}
		verb := "match"
		if known[kind] == 1 {
			verb = "matches"
		}
		notes = append(notes, fmt.Sprintf("Not evaluated: %s that %s pods or workloads of the input, and %s.", words.Count(known[kind], kind), verb, effect))
	}
	return notes
}

func isWebhook(ignored manifest.Ignored) bool {
	return strings.HasPrefix(ignored.APIVersion, admissionv1.GroupName+"/") && strings.HasSuffix(ignored.Kind, "WebhookConfiguration")
}

// webhookEffect returns the clause that says what webhooks could do, from the kinds and names of their configurations.
func webhookEffect(configurations []string) string {
	mutating := list.Count(configurations, func(c string) bool { return strings.HasPrefix(c, "Mutating") })
	effect := "could change or refuse them"
	switch mutating {
	case 0:
		return "could refuse them"
	case len(configurations):
		effect = "could change them"
	}
	return effect + "; what those that change pods have done to the running pods of a dump, new pods get, too"
}

// matchFunc reports whether a webhook or a policy acts on the workload or its pods. It may call matches, which matches as an API server
// does.
type matchFunc func(workload cluster.Object, matches func(cluster.Object, admissionv1.MatchResources) bool) bool

// newMatcher returns the function that matches workloads against the object, or nil if an object of its kind acts on none.
func newMatcher(ignored manifest.Ignored) matchFunc {
	group, _, _ := strings.Cut(ignored.APIVersion, "/")
	switch {
	case ignored.JSON == nil:
		return nil
	case isWebhook(ignored):
		return matchWebhooks(ignored)
	case group == "policies.kyverno.io" && !strings.HasPrefix(ignored.Kind, "Policy"):
		var of struct {
			Spec struct{ MatchConstraints *admissionv1.MatchResources }
		}
		if json.Unmarshal(ignored.JSON, &of) != nil || of.Spec.MatchConstraints == nil {
			return nil
		}
		return func(obj cluster.Object, matches func(cluster.Object, admissionv1.MatchResources) bool) bool {
			return matches(obj, *of.Spec.MatchConstraints)
		}
	case group == "kyverno.io" && (ignored.Kind == "ClusterPolicy" || ignored.Kind == "Policy"):
		return matchKyverno(ignored)
	case group == "constraints.gatekeeper.sh", group == "mutations.gatekeeper.sh":
		return matchGatekeeper(ignored)
	}
	return nil
}

// matchWebhooks returns a function that matches workloads as the API server does before it calls a webhook.
func matchWebhooks(ignored manifest.Ignored) matchFunc {
	var of struct {
		Webhooks []admissionv1.ValidatingWebhook // a mutating one has the same fields to match by
	}
	if json.Unmarshal(ignored.JSON, &of) != nil {
		return nil
	}
	return func(obj cluster.Object, matches func(cluster.Object, admissionv1.MatchResources) bool) bool {
		return slices.ContainsFunc(of.Webhooks, func(w admissionv1.ValidatingWebhook) bool {
			resources := admissionv1.MatchResources{NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector}
			for _, rule := range w.Rules {
				resources.ResourceRules = append(resources.ResourceRules, admissionv1.NamedRuleWithOperations{RuleWithOperations: rule})
			}
			return len(w.Rules) > 0 && matches(obj, resources)
		})
	}
}

// policyScope restricts a policy of Kyverno or Gatekeeper to some objects; an empty field restricts nothing.
type policyScope struct{ Kinds, Namespaces, ExcludedNamespaces, Names []string }

// includes reports whether the workload or its pods are in the scope. Kyverno applies a policy for pods to workloads, too. Labels are not
// compared, so the scope can include an object that the policy leaves alone.
func (s policyScope) includes(obj cluster.Object) bool {
	in := func(patterns []string, value string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { matched, err := path.Match(pattern, value); return err == nil && matched })
	}
	kind := func(pattern string) bool {
		pattern = pattern[strings.LastIndex(pattern, "/")+1:]
		return in([]string{pattern}, "Pod") || in([]string{pattern}, cluster.KindOf(obj))
	}
	namespace := cmp.Or(obj.GetNamespace(), v1.NamespaceDefault)
	return (len(s.Kinds) == 0 || slices.ContainsFunc(s.Kinds, kind)) && (len(s.Namespaces) == 0 || in(s.Namespaces, namespace)) &&
		!in(s.ExcludedNamespaces, namespace) && (len(s.Names) == 0 || in(s.Names, obj.GetName()))
}

// matchKyverno returns a function that matches workloads against a Policy or ClusterPolicy of Kyverno, or nil if the object cannot be read.
func matchKyverno(ignored manifest.Ignored) matchFunc {
	type filter struct{ Resources policyScope }
	var of struct {
		Spec struct {
			Rules []struct {
				Match struct {
					filter
					Any, All []filter
				}
			}
		}
	}
	if json.Unmarshal(ignored.JSON, &of) != nil {
		return nil
	}
	return func(obj cluster.Object, _ func(cluster.Object, admissionv1.MatchResources) bool) bool {
		if ignored.Kind == "Policy" && cmp.Or(ignored.Namespace, v1.NamespaceDefault) != obj.GetNamespace() {
			return false
		}
		for _, rule := range of.Spec.Rules {
			for _, f := range slices.Concat([]filter{rule.Match.filter}, rule.Match.Any, rule.Match.All) {
				if len(f.Resources.Kinds) > 0 && f.Resources.includes(obj) {
					return true
				}
			}
		}
		return false
	}
}

// matchGatekeeper returns a function that matches workloads against a constraint or mutation of Gatekeeper, or nil if the object cannot be read.
func matchGatekeeper(ignored manifest.Ignored) matchFunc {
	var of struct {
		Spec struct {
			Match struct {
				Kinds                          []struct{ Kinds []string }
				Namespaces, ExcludedNamespaces []string
			}
		}
	}
	if json.Unmarshal(ignored.JSON, &of) != nil {
		return nil
	}
	in := policyScope{Namespaces: of.Spec.Match.Namespaces, ExcludedNamespaces: of.Spec.Match.ExcludedNamespaces}
	for _, kinds := range of.Spec.Match.Kinds {
		in.Kinds = append(in.Kinds, kinds.Kinds...)
	}
	return func(obj cluster.Object, _ func(cluster.Object, admissionv1.MatchResources) bool) bool {
		return in.includes(obj)
	}
}
