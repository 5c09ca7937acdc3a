package rule_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster/rule"
)

// KeepApart keeps the rules about other pods and removes all those about the pods themselves.
func TestKeepApart(t *testing.T) {
	own := labels.Set{"app": "web", "tier": "front"}
	web, cache := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "cache"}}
	term := func(selector *metav1.LabelSelector, key string, namespaces ...string) v1.PodAffinityTerm {
		return v1.PodAffinityTerm{LabelSelector: selector, TopologyKey: key, Namespaces: namespaces}
	}
	before := v1.PodSpec{
		NodeSelector: map[string]string{"disk": "ssd"},
		Affinity: &v1.Affinity{
			PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term(web, "zone")}},
			PodAntiAffinity: &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term(web, "zone"), term(cache, "rack"), term(web, "row", "other")},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
					{Weight: 7, PodAffinityTerm: term(web, "host")}, {Weight: 9, PodAffinityTerm: term(cache, "host")},
				},
			},
		},
		TopologySpreadConstraints: []v1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: web},
			{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: cache},
		},
	}
	var kept []string
	for _, r := range rule.ApartRules(&before, own, "default") {
		kept = append(kept, r.String())
	}
	wantKept := []string{"required anti-affinity over zone", "preferred anti-affinity over host (weight 7)", "spread over zone, maxSkew 1, DoNotSchedule"}
	if diff := cmp.Diff(wantKept, kept); diff != "" {
		t.Errorf("kept apart (-want +got)\n%s", diff)
	}
	others := func(own ...string) []string {
		all := []string{"required affinity over zone", "required anti-affinity over rack", "required anti-affinity over row"}
		return append(all, own...)
	}
	rest := []string{"node selector disk=ssd", "spread over zone, maxSkew 1, DoNotSchedule"}
	for _, test := range []struct {
		name  string
		apart rule.Apart
		want  []string
	}{
		{"none", rule.Apart{By: rule.NoRule}, append(others("preferred anti-affinity over host (weight 9)"), rest...)},
		{"hard", rule.Apart{By: rule.HardAnti, Over: []rule.DomainKey{{TopologyKey: "zone"}}},
			append(others("required anti-affinity over zone", "preferred anti-affinity over host (weight 9)"), rest...)},
		{"soft pair", rule.Apart{By: rule.SoftAnti, Over: []rule.DomainKey{{TopologyKey: "zone"}, {TopologyKey: "host", Weight: 3}}},
			append(others("preferred anti-affinity over host (weight 9)", "preferred anti-affinity over zone (weight 100)", "preferred anti-affinity over host (weight 3)"), rest...)},
		{"spread", rule.Apart{By: rule.EvenlySpread, Over: []rule.DomainKey{{TopologyKey: "row"}}, MaxSkew: 2},
			append(append(others("preferred anti-affinity over host (weight 9)"), rest...), "spread over row, maxSkew 2, ScheduleAnyway")},
	} {
		t.Run(test.name, func(t *testing.T) {
			after := before.DeepCopy()
			rule.KeepApart(after, own, "default", web, test.apart)
			var got []string
			for _, r := range rule.List(after) {
				got = append(got, r.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			again := after.DeepCopy()
			rule.KeepApart(again, own, "default", web, test.apart)
			if diff := cmp.Diff(after, again); diff != "" {
				t.Errorf("once more (-once +twice)\n%s", diff)
			}
		})
	}
	empty := &v1.PodSpec{}
	rule.KeepApart(empty, own, "default", web, rule.Apart{By: rule.HardAnti, Over: []rule.DomainKey{{TopologyKey: "zone"}}, MatchLabelKeys: []string{"pod-template-hash"}})
	if got := empty.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].MatchLabelKeys; !cmp.Equal(got, []string{"pod-template-hash"}) {
		t.Errorf("matchLabelKeys %q", got)
	}
	rule.KeepApart(empty, own, "default", web, rule.Apart{By: rule.NoRule})
	if diff := cmp.Diff(&v1.PodSpec{}, empty); diff != "" {
		t.Errorf("without the only rule (-want +got)\n%s", diff)
	}
}
