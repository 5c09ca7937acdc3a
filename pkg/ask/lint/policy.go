package lint

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/words"
)

// admissionPolicyUnmatched finds admission policies that match no object of the scenario, in any step. They belong to no subject, so the check
// reports them for the first subject of their step.
func admissionPolicyUnmatched(l *inspection, s *subject) []Finding {
	if !l.isFirstOfStep(s) || len(s.step.State.Policies) == 0 {
		return nil
	}
	objects := slices.Concat(l.result.Scenario.Cluster, l.result.Scenario.Workloads)
	for i := range l.result.Scenario.Steps {
		objects = append(objects, l.result.Scenario.Steps[i].Objects...)
	}
	matches := admission.NewMatcher(objects)
	var found []Finding
	for _, obj := range s.step.State.Policies {
		constraints := constraintsOf(obj)
		if constraints == nil || matchesDeletions(constraints) || cluster.FromDump(obj) && matchesUnknownResource(constraints) {
			continue
		}
		var bound []*admissionv1.MatchResources
		for _, other := range s.step.State.Policies {
			switch b := other.(type) {
			case *admissionv1.ValidatingAdmissionPolicyBinding:
				if cluster.KindOf(obj) == "ValidatingAdmissionPolicy" && b.Spec.PolicyName == obj.GetName() {
					bound = append(bound, b.Spec.MatchResources)
				}
			case *admissionv1.MutatingAdmissionPolicyBinding:
				if cluster.KindOf(obj) == "MutatingAdmissionPolicy" && b.Spec.PolicyName == obj.GetName() {
					bound = append(bound, b.Spec.MatchResources)
				}
			}
		}
		finding := Finding{
			Object: objectOf(cluster.RefTo(obj)), Field: "spec.matchConstraints", Message: "no object of the scenario matches the policy, or none its bindings",
			Fix: "give resourceRules and selectors that match, or delete it",
		}
		if len(bound) == 0 {
			finding.Field, finding.Message, finding.Fix = "metadata.name", "no binding names the policy, so that it is not in force", "add a "+cluster.KindOf(obj)+"Binding, or delete it"
		} else if slices.ContainsFunc(objects, func(o cluster.Object) bool {
			return matches(o, *constraints) && slices.ContainsFunc(bound, func(b *admissionv1.MatchResources) bool { return b == nil || matches(o, *b) })
		}) {
			continue
		}
		found = append(found, finding)
	}
	return found
}

// constraintsOf returns the match constraints of an admission policy, or nil for another object.
func constraintsOf(obj cluster.Object) *admissionv1.MatchResources {
	switch o := obj.(type) {
	case *admissionv1.ValidatingAdmissionPolicy:
		return o.Spec.MatchConstraints
	case *admissionv1.MutatingAdmissionPolicy:
		return o.Spec.MatchConstraints
	}
	return nil
}

// matchesDeletions reports whether the policy also matches requests that are not simulated: deletions and connections.
func matchesDeletions(constraints *admissionv1.MatchResources) bool {
	return slices.ContainsFunc(constraints.ResourceRules, func(rule admissionv1.NamedRuleWithOperations) bool {
		return slices.Contains(rule.Operations, admissionv1.Delete) || slices.Contains(rule.Operations, admissionv1.Connect)
	})
}

// matchesUnknownResource reports whether the policy matches resources that no dump has, such as Ingresses.
func matchesUnknownResource(constraints *admissionv1.MatchResources) bool {
	return slices.ContainsFunc(constraints.ResourceRules, func(rule admissionv1.NamedRuleWithOperations) bool {
		return slices.ContainsFunc(rule.Resources, func(resource string) bool {
			resource, _, _ = strings.Cut(resource, "/")
			return resource != "*" && !slices.ContainsFunc(rule.APIGroups, func(group string) bool { return group == "*" || admission.HasResource(group, resource) })
		})
	})
}

// admissionPolicyUnmet finds workloads whose pods no node accepts, but some node would if admission policies did not change the pods' node selector
// or affinity.
func admissionPolicyUnmet(l *inspection, s *subject) []Finding {
	template := s.step.State.PodOf(s.object)
	attracted := func(pod *v1.Pod) bool {
		return slices.ContainsFunc(l.nodes, func(node *v1.Node) bool { return cluster.Attracts(node, pod) })
	}
	if s.pod == template || !attracted(template) || attracted(s.pod) {
		return nil
	}
	return []Finding{{
		Field: s.path, Message: fmt.Sprintf("MutatingAdmissionPolicies give its pods a node selector or a node affinity that none of the %s meets", words.Count(len(l.nodes), "node")),
		Fix: "label nodes accordingly, or change the policies",
	}}
}
