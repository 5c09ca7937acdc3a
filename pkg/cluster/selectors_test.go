package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The budgets of one pod are found without an index, and those of many pods with one: both ways find the budgets that upstream's selectors
// match.
func TestBudgets(t *testing.T) {
	labelled := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	state := &State{}
	for _, b := range []struct {
		namespace, name string
		selector        *metav1.LabelSelector
	}{
		{"shop", "a-label", labelled("app", "web")},
		{"shop", "another-value", labelled("app", "db")},
		{"shop", "another-label", labelled("tier", "web")},
		{"other", "another-namespace", labelled("app", "web")},
		{"shop", "both", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "tier": "front"}}},
		{"shop", "and-expression", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "canary", Operator: metav1.LabelSelectorOpExists}}}},
		{"shop", "expression", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "canary", Operator: metav1.LabelSelectorOpDoesNotExist}}}},
		{"shop", "invalid", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Like"}}}},
		{"shop", "all", &metav1.LabelSelector{}},
		{"shop", "none", nil},
	} {
		state = state.With(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: b.name}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: b.selector}})
	}
	for name, c := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"web":       {map[string]string{"app": "web"}, []string{"a-label", "expression", "all"}},
		"web-front": {map[string]string{"app": "web", "tier": "front"}, []string{"a-label", "both", "expression", "all"}},
		"canary":    {map[string]string{"app": "web", "canary": ""}, []string{"a-label", "and-expression", "all"}},
		"unlabeled": {nil, []string{"expression", "all"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: c.labels}}
			for way, found := range map[string][]*policyv1.PodDisruptionBudget{"one pod": state.BudgetsOf(pod), "many pods": state.Budgets()(pod)} {
				var got []string
				for _, pdb := range found {
					got = append(got, pdb.Name)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}
