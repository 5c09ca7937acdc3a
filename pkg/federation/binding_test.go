package federation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func labelled(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/selector_test.go, TestResourceSelectorPriority and
// TestResourceMatchSelectorsPriority
func TestPrecision(t *testing.T) {
	pod := &Template{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "test", Labels: map[string]string{"foo": "bar"}}
	all, one := ResourceSelector{APIVersion: "v1", Kind: "Pod"}, ResourceSelector{APIVersion: "v1", Kind: "Pod", Name: "test"}
	for _, test := range []struct {
		name      string
		selectors []ResourceSelector
		want      int
	}{
		{"another API version", []ResourceSelector{{APIVersion: "unmatched", Kind: "Pod", Name: "foo", Namespace: "default"}}, notSelected},
		{"another kind", []ResourceSelector{{APIVersion: "v1", Kind: "Unmatched", Name: "foo", Namespace: "default"}}, notSelected},
		{"another namespace", []ResourceSelector{{APIVersion: "v1", Kind: "Pod", Name: "foo", Namespace: "Unmatched"}}, notSelected},
		{"the name in every namespace", []ResourceSelector{one}, byName},
		{"another name, the label", []ResourceSelector{{APIVersion: "v1", Kind: "Pod", Name: "unmatched", LabelSelector: labelled("foo", "bar")}}, notSelected},
		{"the name, another label", []ResourceSelector{{APIVersion: "v1", Kind: "Pod", Name: "test", LabelSelector: labelled("foo", "unmatched")}}, byName},
		{"another name", []ResourceSelector{{APIVersion: "v1", Kind: "Pod", Name: "unmatched"}}, notSelected},
		{"another label", []ResourceSelector{{APIVersion: "v1", Kind: "Pod", LabelSelector: labelled("foo", "unmatched")}}, notSelected},
		{"the label", []ResourceSelector{{APIVersion: "v1", Kind: "Pod", LabelSelector: labelled("foo", "bar")}}, byLabels},
		{"the kind", []ResourceSelector{all}, byKind},
		{"a label that cannot be", []ResourceSelector{{APIVersion: "v1", Kind: "Pod", LabelSelector: labelled("", "bar")}}, notSelected},
		{"no selector", nil, notSelected},
		{"the kind twice", []ResourceSelector{all, all}, byKind},
		{"the kind, then the name", []ResourceSelector{all, one}, byName},
		{"the name, then the kind", []ResourceSelector{one, all}, byName},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := precision(test.selectors, pod); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/detector/compare_test.go
func TestClaim(t *testing.T) {
	policy := func(namespace, name string, priority *int32, selector ResourceSelector) *Policy {
		selector.APIVersion, selector.Kind = "apps/v1", "Deployment"
		p := &Policy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		p.Spec.Priority, p.Spec.ResourceSelectors = priority, []ResourceSelector{selector}
		p.Default()
		return p
	}
	one, label, kind := ResourceSelector{Name: "nginx"}, ResourceSelector{LabelSelector: labelled("app", "nginx")}, ResourceSelector{}
	pp := func(name string, priority *int32, selector ResourceSelector) *Policy {
		return policy("test", name, priority, selector)
	}
	cpp := func(name string, priority *int32, selector ResourceSelector) *Policy {
		return policy("", name, priority, selector)
	}
	for _, test := range []struct {
		name      string
		namespace string
		policies  []*Policy
		claimed   string
		want      string
	}{
		{"no policy", "test", nil, "", ""},
		{"no policy of the namespace", "test01", []*Policy{pp("match-with-name", nil, one), pp("match-with-label", nil, label)}, "", ""},
		{"the most precise", "test", []*Policy{pp("match-all", nil, kind), pp("match-with-label", nil, label), pp("match-with-name", nil, one)}, "", "PropagationPolicy test/match-with-name"},
		{"the first by name", "test", []*Policy{pp("b-pp", nil, one), pp("a-pp", nil, one)}, "", "PropagationPolicy test/a-pp"},
		{"priority 1", "test", []*Policy{pp("a-pp", nil, one), pp("b-pp", ptr.To[int32](1), one)}, "", "PropagationPolicy test/b-pp"},
		{"priority before precision", "test", []*Policy{pp("a-pp", ptr.To[int32](1), one), pp("b-pp", ptr.To[int32](2), label)}, "", "PropagationPolicy test/b-pp"},
		{"priority 1 twice, by name", "test", []*Policy{pp("b-pp", ptr.To[int32](1), one), pp("a-pp", ptr.To[int32](1), one)}, "", "PropagationPolicy test/a-pp"},
		{"priority 1 twice, by precision", "test", []*Policy{pp("a-pp", ptr.To[int32](1), label), pp("b-pp", ptr.To[int32](1), one)}, "", "PropagationPolicy test/b-pp"},
		{"priority -1", "test", []*Policy{pp("a-pp", nil, label), pp("b-pp", ptr.To[int32](-1), one)}, "", "PropagationPolicy test/a-pp"},

		{"the most precise of all namespaces", "test", []*Policy{cpp("match-all", nil, kind), cpp("match-with-name", nil, one)}, "", "ClusterPropagationPolicy match-with-name"},
		{"the namespace's own first", "test", []*Policy{cpp("a", ptr.To[int32](9), one), pp("b", nil, kind)}, "", "PropagationPolicy test/b"},
		{"the one that claimed it stays", "test", []*Policy{pp("a-pp", nil, one), cpp("b", nil, kind)}, "ClusterPropagationPolicy b", "ClusterPropagationPolicy b"},
		{"unless it no longer selects it", "test", []*Policy{pp("a-pp", nil, kind), pp("b-pp", nil, ResourceSelector{Name: "other"})}, "PropagationPolicy test/b-pp", "PropagationPolicy test/a-pp"},
	} {
		t.Run(test.name, func(t *testing.T) {
			template := deployment(test.namespace, "nginx", 1)
			template.Labels = map[string]string{"app": "nginx"}
			got := ""
			if p := Claim(template, test.policies, test.claimed); p != nil {
				got = p.String()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/detector/detector_test.go, TestApplyPolicy and TestApplyClusterPolicy
func TestGroups(t *testing.T) {
	together, apart := &GroupTerm{GroupByLabelKey: "affinityKey"}, &GroupTerm{GroupByLabelKey: "antiAffinityKey"}
	for _, test := range []struct {
		name      string
		namespace string
		affinity  *WorkloadAffinity
		labels    map[string]string
		want      [2]string
	}{
		{"no term", "default", nil, map[string]string{"affinityKey": "a"}, [2]string{}},
		{"both", "default", &WorkloadAffinity{Affinity: together, AntiAffinity: apart}, map[string]string{"affinityKey": "a", "antiAffinityKey": "b"},
			[2]string{"affinityKey=a", "antiAffinityKey=b"}},
		{"affinity", "default", &WorkloadAffinity{Affinity: together}, map[string]string{"affinityKey": "a", "antiAffinityKey": "b"}, [2]string{"affinityKey=a", ""}},
		{"anti-affinity", "default", &WorkloadAffinity{AntiAffinity: apart}, map[string]string{"affinityKey": "a", "antiAffinityKey": "b"}, [2]string{"", "antiAffinityKey=b"}},
		{"no label", "default", &WorkloadAffinity{Affinity: together, AntiAffinity: apart}, nil, [2]string{}},
		{"an empty value is a group", "default", &WorkloadAffinity{Affinity: together}, map[string]string{"affinityKey": ""}, [2]string{"affinityKey=", ""}},
		{"no namespace", "", &WorkloadAffinity{Affinity: together}, map[string]string{"affinityKey": "a"}, [2]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			template, policy := deployment(test.namespace, "web", 1), &Policy{}
			template.Labels, policy.Spec.Placement.WorkloadAffinity = test.labels, test.affinity
			b := Bind(template, policy)
			if got := [2]string{b.AffinityGroup, b.AntiAffinityGroup}; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/names/names_test.go, TestGenerateBindingName
func TestBindingName(t *testing.T) {
	for template, want := range map[*Template]string{
		{Kind: "Deployment", Name: "Web"}:            "web-deployment",
		{Kind: "ClusterRole", Name: "system:viewer"}: "system.viewer-clusterrole",
	} {
		if got := (&Binding{Template: template}).Name(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
