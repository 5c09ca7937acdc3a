package federation

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/overridemanager/overridemanager_test.go, TestGetMatchingOverridePolicies
func TestOverridden(t *testing.T) {
	// Each override appends its word, so that the words show which rules were applied, and in which order.
	word := func(w string) Overriders {
		return Overriders{Plaintext: []PlaintextOverrider{{Path: "/words/-", Operator: "add", Value: w}}}
	}
	only := func(names ...string) *ClusterAffinity { a := clustersNamed(names...); return &a }
	override := func(namespace, name string, selector *ResourceSelector, rules ...OverrideRule) *Override {
		o := &Override{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: OverrideSpec{OverrideRules: rules}}
		if selector != nil {
			o.Spec.ResourceSelectors = []ResourceSelector{*selector}
		}
		return o
	}
	kind := &ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"}
	exact := &ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "test"}
	policy1 := override("default", "overridePolicy1", exact,
		OverrideRule{only("cluster1", "cluster2"), word("one")}, OverrideRule{only("cluster2"), word("two")})
	policy2 := override("default", "overridePolicy2", nil, OverrideRule{only("cluster1", "cluster2"), word("three")})
	old := &Override{ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: OverrideSpec{TargetCluster: only("cluster1"), Overriders: word("old")}}
	for _, test := range []struct {
		name      string
		overrides []*Override
		cluster   string
		want      string
	}{
		{"the less precise first", []*Override{policy1, policy2}, "cluster1", "three one"},
		{"the rules in their order", []*Override{policy1, policy2}, "cluster2", "three one two"},
		{"without selectors", []*Override{policy2}, "cluster2", "three"},
		{"without rules", []*Override{old}, "cluster1", "old"},
		{"another cluster", []*Override{old}, "cluster2", ""},
		{"no cluster said", []*Override{override("default", "a", nil, OverrideRule{nil, word("all")})}, "cluster2", "all"},
		{"the cluster's policies first, however precise", []*Override{policy2, override("", "z", exact, OverrideRule{nil, word("cluster")})}, "cluster1", "cluster three"},
		{"by name", []*Override{override("default", "b", kind, OverrideRule{nil, word("b")}), override("default", "a", kind, OverrideRule{nil, word("a")})}, "cluster1", "a b"},
		{"another namespace", []*Override{override("other", "a", nil, OverrideRule{nil, word("other")})}, "cluster1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Overridden(deployment("default", "test", 1), []byte(`{"words":[]}`), cluster(test.cluster), test.overrides)
			if err != nil {
				t.Fatal(err)
			}
			var object struct{ Words []string }
			if err := json.Unmarshal(got, &object); err != nil {
				t.Fatal(err)
			}
			if words := strings.Join(object.Words, " "); words != test.want {
				t.Errorf("got %q, want %q", words, test.want)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/overridemanager/labelannotationoverrider_test.go, Test_applyLabelsOverriders
func TestOverriders(t *testing.T) {
	label := func(operator string, pairs ...string) Overriders {
		values := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		return Overriders{LabelsOverrider: []LabelOverrider{{operator, values}}}
	}
	plain := func(operator, path string, value any) Overriders {
		return Overriders{Plaintext: []PlaintextOverrider{{Path: path, Operator: operator, Value: value}}}
	}
	const labels = `{"metadata":{"labels":{"bar":"bar","foo":"foo"}}}`
	for _, test := range []struct {
		name       string
		object     string
		overriders Overriders
		want       string
		err        string
	}{
		{"nothing", labels, Overriders{}, labels, ""},
		{"the first label", `{"metadata":{}}`, label("add", "test2", "test2"), `{"metadata":{"labels":{"test2":"test2"}}}`, ""},
		{"replace what exists", labels, label("replace", "foo", "exist", "non-exist", "non-exist"), `{"metadata":{"labels":{"bar":"bar","foo":"exist"}}}`, ""},
		{"add", labels, label("add", "test", "test"), `{"metadata":{"labels":{"bar":"bar","foo":"foo","test":"test"}}}`, ""},
		{"remove what exists", labels, label("remove", "foo", "foo", "non-exist", "non-exist"), `{"metadata":{"labels":{"bar":"bar"}}}`, ""},
		{"a prefix", labels, label("add", "example.com/a", ""), `{"metadata":{"labels":{"bar":"bar","example.com/a":"","foo":"foo"}}}`, ""},

		{"replicas", `{"spec":{"replicas":3}}`, plain("replace", "/spec/replicas", 0), `{"spec":{"replicas":0}}`, ""},
		{"an item of a list", `{"a":[1,2,3]}`, plain("replace", "/a/1", 5), `{"a":[1,5,3]}`, ""},
		{"a new field", `{"spec":{}}`, plain("add", "/spec/paused", true), `{"spec":{"paused":true}}`, ""},
		{"a field less", `{"spec":{"paused":true}}`, plain("remove", "/spec/paused", nil), `{"spec":{}}`, ""},
		{"a field that is missing", `{"spec":{}}`, plain("replace", "/spec/paused", true), "",
			`OverridePolicy default/o for cluster cluster1: error in remove for path: '/spec/paused': Unable to remove nonexistent key: paused: missing value`},
		{"labels before plaintext", labels, Overriders{
			LabelsOverrider: label("add", "a", "a").LabelsOverrider,
			Plaintext:       plain("replace", "/metadata/labels/a", "b").Plaintext,
		}, `{"metadata":{"labels":{"a":"b","bar":"bar","foo":"foo"}}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := &Override{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "o"}, Spec: OverrideSpec{Overriders: test.overriders}}
			got, err := Overridden(deployment("default", "test", 1), []byte(test.object), cluster("cluster1"), []*Override{o})
			if diff := cmp.Diff(test.want, string(got)); diff != "" || message(err) != test.err {
				t.Error(err, diff)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/validation/validation_test.go, TestValidateOverrideSpec
func TestValidateOverride(t *testing.T) {
	only := clustersNamed("cluster-name")
	rules := []OverrideRule{{TargetCluster: &only}}
	image := Overriders{Plaintext: []PlaintextOverrider{{Path: "spec/image", Operator: "replace", Value: "x"}}}
	field := func(key string, operator v1.NodeSelectorOperator) *ClusterAffinity {
		return &ClusterAffinity{FieldSelector: &FieldSelector{[]v1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: []string{"fooCloud"}}}}}
	}
	for _, test := range []struct {
		name string
		spec OverrideSpec
		want []string
	}{
		{"rules", OverrideSpec{OverrideRules: rules}, nil},
		{"a target and overriders", OverrideSpec{TargetCluster: &only, Overriders: image}, nil},
		{"rules and a target", OverrideSpec{OverrideRules: rules, TargetCluster: &only}, []string{"spec.targetCluster: overrideRules and targetCluster can't co-exist"}},
		{"rules and overriders", OverrideSpec{OverrideRules: rules, Overriders: image}, []string{"spec.overriders: overrideRules and overriders can't co-exist"}},
		{"all three", OverrideSpec{OverrideRules: rules, TargetCluster: &only, Overriders: image},
			[]string{"spec.targetCluster: overrideRules and targetCluster can't co-exist", "spec.overriders: overrideRules and overriders can't co-exist"}},
		{"a label that cannot be", OverrideSpec{OverrideRules: []OverrideRule{{&only, Overriders{LabelsOverrider: []LabelOverrider{{"add", map[string]string{"a~b": "c"}}}}}}},
			[]string{"spec.overrideRules[0].overriders.labelsOverrider[0].value: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"}},
		{"an operator that does not exist", OverrideSpec{Overriders: Overriders{Plaintext: []PlaintextOverrider{{Operator: "move"}}}},
			[]string{`spec.overriders.plaintext[0].operator: supported values: "add", "remove", "replace"`}},
		{"a target by another field", OverrideSpec{TargetCluster: field("foo", v1.NodeSelectorOpIn)},
			[]string{`spec.targetCluster.fieldSelector: unsupported key "foo", must be provider, region, or zone`}},
		{"a target by another operator", OverrideSpec{TargetCluster: field("provider", v1.NodeSelectorOpGt)},
			[]string{`spec.targetCluster.fieldSelector: unsupported operator "Gt", must be In or NotIn`}},
		{"a rule by another field", OverrideSpec{OverrideRules: []OverrideRule{{TargetCluster: field("foo", v1.NodeSelectorOpIn)}}},
			[]string{`spec.overrideRules[0].targetCluster.fieldSelector: unsupported key "foo", must be provider, region, or zone`}},
		{"a rule by another operator", OverrideSpec{OverrideRules: []OverrideRule{{TargetCluster: field("provider", v1.NodeSelectorOpGt)}}},
			[]string{`spec.overrideRules[0].targetCluster.fieldSelector: unsupported operator "Gt", must be In or NotIn`}},
		{"a selector of another namespace", OverrideSpec{ResourceSelectors: []ResourceSelector{{APIVersion: "v1", Kind: "Pod", Namespace: "other"}}},
			[]string{"spec.resourceSelectors[0].namespace: namespace of resource selector must be the same as the namespace of the policy"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := &Override{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "o"}, Spec: test.spec}
			if diff := cmp.Diff(test.want, details(o.Validate())); diff != "" {
				t.Error(diff)
			}
		})
	}
}
