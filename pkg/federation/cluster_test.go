package federation

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Karmada's rows with other operators than In and NotIn are left out: the webhook refuses them.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/selector_test.go, TestClusterMatches
func TestMatches(t *testing.T) {
	c := cluster("cluster1")
	c.Labels = map[string]string{"foo": "bar"}
	c.Spec = ClusterSpec{Zones: []string{"zone1", "zone2", "zone3"}, Region: "region1", Provider: "provider1"}

	one, other := []string{"cluster1"}, []string{"cluster2"}
	label := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	foo := label("foo", "bar")
	fields := func(key string, operator v1.NodeSelectorOperator, values ...string) *FieldSelector {
		return &FieldSelector{[]v1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	const is, isNot = v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn
	zones := fields("zone", is, c.Spec.Zones...)
	zoneAndRegion := fields("zone", is, c.Spec.Zones...)
	zoneAndRegion.MatchExpressions = append(zoneAndRegion.MatchExpressions, fields("region", is, "region1").MatchExpressions...)

	for _, test := range []struct {
		name     string
		affinity ClusterAffinity
		want     bool
	}{
		{"excluded, named", ClusterAffinity{Exclude: one, ClusterNames: one}, false},
		{"excluded, label", ClusterAffinity{Exclude: one, LabelSelector: foo}, false},
		{"excluded, zones", ClusterAffinity{Exclude: one, FieldSelector: zones}, false},
		{"named", ClusterAffinity{ClusterNames: one}, true},
		{"another named", ClusterAffinity{ClusterNames: other}, false},
		{"named, label", ClusterAffinity{ClusterNames: one, LabelSelector: foo}, true},
		{"named, other label", ClusterAffinity{ClusterNames: one, LabelSelector: label("foo", "unmatched")}, false},
		{"named, zone and region", ClusterAffinity{ClusterNames: one, FieldSelector: zoneAndRegion}, true},
		{"named, provider", ClusterAffinity{ClusterNames: one, FieldSelector: fields("provider", is, "provider1")}, true},
		{"named, region", ClusterAffinity{ClusterNames: one, FieldSelector: fields("region", is, "region1")}, true},
		{"named, not in zones", ClusterAffinity{ClusterNames: one, FieldSelector: fields("zone", isNot, c.Spec.Zones...)}, false},
		{"named, not in provider", ClusterAffinity{ClusterNames: one, FieldSelector: fields("provider", isNot, "provider1")}, false},
		{"named, not in region", ClusterAffinity{ClusterNames: one, FieldSelector: fields("region", isNot, "region1")}, false},
		{"label, zones", ClusterAffinity{LabelSelector: foo, FieldSelector: zones}, true},
		{"label, provider", ClusterAffinity{LabelSelector: foo, FieldSelector: fields("provider", is, "provider1")}, true},
		{"label, region", ClusterAffinity{LabelSelector: foo, FieldSelector: fields("region", is, "region1")}, true},
		{"label, not in zones", ClusterAffinity{LabelSelector: foo, FieldSelector: fields("zone", isNot, c.Spec.Zones...)}, false},
		{"label, not in provider", ClusterAffinity{LabelSelector: foo, FieldSelector: fields("provider", isNot, "provider1")}, false},
		{"label, not in region", ClusterAffinity{LabelSelector: foo, FieldSelector: fields("region", isNot, "region1")}, false},
		{"label", ClusterAffinity{LabelSelector: foo}, true},
		{"other label", ClusterAffinity{LabelSelector: label("foo", "unmatched")}, false},
		{"nothing said", ClusterAffinity{}, true},
		{"a label that cannot be", ClusterAffinity{LabelSelector: label("", "bar")}, false},
		{"a field that cannot be", ClusterAffinity{FieldSelector: fields("", "")}, false},
		{"zones", ClusterAffinity{FieldSelector: zones}, true},
		{"one of the zones", ClusterAffinity{ClusterNames: one, FieldSelector: fields("zone", is, "zone2")}, true},
		{"another zone", ClusterAffinity{FieldSelector: fields("zone", is, "zone4")}, false},
		{"not in another zone", ClusterAffinity{FieldSelector: fields("zone", isNot, "zone4")}, true},
		{"region", ClusterAffinity{FieldSelector: fields("region", is, "region1")}, true},
		{"another region", ClusterAffinity{ClusterNames: one, FieldSelector: fields("region", is, "region2")}, false},
		{"provider", ClusterAffinity{FieldSelector: fields("provider", is, "provider1")}, true},
		{"not in the provider", ClusterAffinity{FieldSelector: fields("provider", isNot, "provider1")}, false},
		{"another provider", ClusterAffinity{FieldSelector: fields("provider", is, "provider2")}, false},
		{"another field", ClusterAffinity{FieldSelector: fields("metadata.name", is, "cluster1")}, false},
		{"all three", ClusterAffinity{FieldSelector: zones, LabelSelector: foo, ClusterNames: one}, true},
		{"all but the name", ClusterAffinity{FieldSelector: zones, LabelSelector: foo, ClusterNames: other}, false},
		{"all but the zones", ClusterAffinity{FieldSelector: fields("zone", isNot, c.Spec.Zones...), LabelSelector: foo, ClusterNames: one}, false},
		{"all but the label", ClusterAffinity{FieldSelector: zones, LabelSelector: label("foo", "Unmatched"), ClusterNames: one}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.affinity.Matches(c); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// A cluster without provider, region and zones matches NotIn, but not In.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/selector_test.go, Test_matchZones and Test_extractClusterFields
func TestMatchesNothingKnown(t *testing.T) {
	for _, test := range []struct {
		key      string
		operator v1.NodeSelectorOperator
		want     bool
	}{
		{"zone", v1.NodeSelectorOpIn, false},
		{"zone", v1.NodeSelectorOpNotIn, true},
		{"region", v1.NodeSelectorOpIn, false},
		{"region", v1.NodeSelectorOpNotIn, true},
		{"provider", v1.NodeSelectorOpIn, false},
		{"provider", v1.NodeSelectorOpNotIn, true},
	} {
		affinity := ClusterAffinity{FieldSelector: &FieldSelector{[]v1.NodeSelectorRequirement{{Key: test.key, Operator: test.operator, Values: []string{"foo"}}}}}
		if got := affinity.Matches(cluster("cluster1")); got != test.want {
			t.Errorf("%s %s: got %v, want %v", test.key, test.operator, got, test.want)
		}
	}
}
