package blast_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
)

func TestBrokenBudgets(t *testing.T) {
	for _, test := range []struct {
		name, budget string
		web          string            // where its pods are; n1 is in zone a, n2 in b, n3 in c
		want         map[string]string // by zone, the broken budgets of web
	}{
		// 4 healthy. Zone a leaves 2, the others 3.
		{"at least 3", "minAvailable: 3, selector: {matchLabels: {app: web}}", "n1 n1 n2 n3", map[string]string{"a": "b"}},
		{"at least 2", "minAvailable: 2, selector: {matchLabels: {app: web}}", "n1 n1 n2 n3", nil},
		// 51% of 4 are 2.04, rounded up 3.
		{"a percentage", "minAvailable: 51%, selector: {matchLabels: {app: web}}", "n1 n1 n2 n3", map[string]string{"a": "b"}},
		// 4 - 1 = 3; the Deployment still asks for 4 when pods are lost.
		{"at most 1 unavailable", "maxUnavailable: 1, selector: {matchLabels: {app: web}}", "n1 n1 n2 n3", map[string]string{"a": "b"}},
		// All its pods are lost: before 4 >= 3, after 0.
		{"all in one zone", "maxUnavailable: 1, selector: {matchLabels: {app: web}}", "n2 n2 n2 n2", map[string]string{"b": "b"}},
		// 3 healthy, one of n1 is not ready: zone a leaves 2, b and c leave 2.
		{"a lost pod that was not ready", "minAvailable: 3, selector: {matchLabels: {app: web}}", "n1 n1! n2 n3", map[string]string{"a": "b", "b": "b", "c": "b"}},
		// Zone a takes only the pod that did not count: 2 healthy stay 2.
		{"only a pod that was not ready", "minAvailable: 2, selector: {matchLabels: {app: web}}", "n1! n2 n3", map[string]string{"b": "b", "c": "b"}},
		// 3 healthy before, 4 wanted: it was not met, so no failure breaks it.
		{"not met before", "minAvailable: 4, selector: {matchLabels: {app: web}}", "n1 n1! n2 n3", nil},
		// The empty selector covers web and db: 4 + 1 = 5 healthy, zone a leaves 3, b 3 (web and db), c 4.
		{"empty selector", "minAvailable: 4, selector: {}", "n1 n1 n2 n3", map[string]string{"a": "b", "b": "b"}},
		{"no selector", "minAvailable: 4", "n1 n1 n2 n3", nil},
		{"an expression", "minAvailable: 3, selector: {matchExpressions: [{key: app, operator: NotIn, values: [db]}]}", "n1 n1 n2 n3", map[string]string{"a": "b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := settled(t, nodes("a b c"), map[string]string{"web": test.web, "db": "n2"},
				app("Deployment", "web", len(strings.Fields(test.web)), ""), app("StatefulSet", "db", 1, ""), pdb("b", test.budget))
			var got map[string]string
			for _, failure := range lost(t, state, blast.Options{Levels: []string{zone}}).Levels[0].Failures {
				for _, loss := range failure.Workloads {
					if loss.Name == "web" && loss.BrokenBudgets != nil {
						if got == nil {
							got = map[string]string{}
						}
						got[failure.Domains[0]] = strings.Join(loss.BrokenBudgets, " ")
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBudgetsOfAFailure(t *testing.T) {
	const bare = `{apiVersion: v1, kind: Pod, metadata: {name: one, labels: {app: one}}, spec: {containers: [{name: c, image: c}]}}`
	state := settled(t, nodes("a b"), map[string]string{"web": "n1 n2", "db": "n1", "one": "n1"},
		app("Deployment", "web", 2, ""), app("StatefulSet", "db", 1, ""), bare,
		pdb("web-2", "minAvailable: 2, selector: {matchLabels: {app: web}}"),   // 2 - 1 < 2
		pdb("web-1", "minAvailable: 1, selector: {matchLabels: {app: web}}"),   // 2 - 1 = 1
		pdb("all", "minAvailable: 4, selector: {}"),                            // 4 - 3 < 4
		pdb("bare", "minAvailable: 1, selector: {matchLabels: {app: one}}"),    // 1 - 1 < 1
		pdb("none", "minAvailable: 0, selector: {matchLabels: {app: nobody}}"), // nothing is enough
	)
	failure := lost(t, state, blast.Options{Levels: []string{zone}}).Levels[0].Failures[0]
	if diff := cmp.Diff([]string{"default/all", "default/bare", "default/web-2"}, failure.BrokenBudgets); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	got := map[string][]string{}
	for _, loss := range failure.Workloads {
		got[loss.Ref.String()] = loss.BrokenBudgets
	}
	want := map[string][]string{"deployment/web": {"all", "web-2"}, "statefulset/db": {"all"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
}

// A budget in another namespace, or one that no controller has processed yet, is not broken.
func TestBudgetsThatSayNothing(t *testing.T) {
	state := settled(t, nodes("a"), map[string]string{"web": "n1"}, app("Deployment", "web", 1, ""),
		pdb("b", "minAvailable: 1, selector: {matchLabels: {app: web}}"))
	if got := lost(t, state, blast.Options{}).Levels[0].Failures[0].BrokenBudgets; len(got) != 1 {
		t.Errorf("broken budgets = %q, want one", got)
	}
	unseen, elsewhere := state.PodDisruptionBudgets[0].DeepCopy(), state.PodDisruptionBudgets[0].DeepCopy()
	unseen.Status = policyv1.PodDisruptionBudgetStatus{}
	elsewhere.Namespace = metav1.NamespaceSystem
	state = state.With(unseen, elsewhere)
	if got := lost(t, state, blast.Options{}).Levels[0].Failures[0].BrokenBudgets; got != nil {
		t.Errorf("broken budgets = %q, want none", got)
	}
}
