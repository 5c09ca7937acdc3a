package run

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report/doc"
)

// spread returns a distribution over domains with these numbers of pods.
func spread(empty int, pods ...int) Distribution {
	d := Distribution{TopologyKey: doc.Zone, Empty: empty}
	for i, n := range pods {
		d.Counts = append(d.Counts, Count{Domain: fmt.Sprintf("zone-%c", 'a'+i), Pods: n})
	}
	return d
}

func TestDistributionText(t *testing.T) {
	tests := map[string]struct {
		d    Distribution
		want string
	}{
		"named":          {spread(0, 17, 17, 16), "zone-a 17, zone-b 17, zone-c 16"},
		"empty domain":   {spread(1, 2, 1), "zone-a 2, zone-b 1, 1 zone empty"},
		"at the limit":   {spread(2, 1, 1), "zone-a 1, zone-b 1, 2 zones empty"},
		"too many":       {spread(0, 1, 1, 1, 1, 2), "5 zones: 4 with 1 pod, 1 with 2"},
		"many and empty": {spread(298, 3, 2, 2), "301 zones: 2 with 2 pods, 1 with 3, 298 empty"},
		"four sizes":     {spread(0, 4, 1, 2, 3, 4), "5 zones: 1 with 1 pod, 1 with 2, 1 with 3, 2 with 4"},
		"many sizes":     {spread(1, 9, 2, 3, 7, 5), "6 zones: 5 with 2 to 9 pods, 1 empty"},
		"no pod":         {spread(3), ""},
		"no pod, many":   {spread(30), ""},
		"unlabelled":     {Distribution{Unlabelled: 2, Empty: 1}, "2 on nodes without the label"},
		"both":           {Distribution{Counts: []Count{{"a", 1}}, Unlabelled: 1}, "a 1, 1 on nodes without the label"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.d.Text(4); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// If every domain has pods, the skew is the difference between the fullest and the emptiest. A pod without one level counts in the others.
func TestMergeDomains(t *testing.T) {
	in := func(domain string, pods, empty int) Workload {
		return Workload{Domains: []Distribution{{TopologyKey: doc.Zone, Counts: []Count{{domain, pods}}, Empty: empty}}}
	}
	want := Distribution{TopologyKey: doc.Zone, Counts: []Count{{"a", 3}, {"b", 1}}, Skew: 2}
	if diff := cmp.Diff(want, sumDistributions([]Workload{in("a", 1, 1), in("b", 1, 1), in("a", 2, 1), {}}, doc.Zone)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRowsMergeBarePods(t *testing.T) {
	pod := func(namespace, name, domain string) Workload {
		return Workload{
			Ref: cluster.Ref{Kind: "Pod", Namespace: namespace, Name: name}, Desired: 1, Running: 1,
			Domains: []Distribution{{TopologyKey: doc.Zone, Counts: []Count{{domain, 1}}, Empty: 2, Skew: 1}},
		}
	}
	web := Workload{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}, Desired: 3, Running: 3}
	waiting := Workload{Ref: cluster.Ref{Kind: "Pod", Namespace: "default", Name: "c"}, Desired: 1, Pending: 1, Domains: []Distribution{{TopologyKey: doc.Zone, Empty: 3}}}
	got := mergeBarePods([]Workload{pod("default", "a", "east"), web, pod("default", "b", "north"), pod("kafka", "a", "east"), waiting, pod("default", "d", "north")})
	want := []Workload{
		{
			Ref: cluster.Ref{Namespace: "default", Name: "4 pods without owner"}, Desired: 4, Running: 3, Pending: 1,
			Domains: []Distribution{{TopologyKey: doc.Zone, Counts: []Count{{"east", 1}, {"north", 2}}, Empty: 1, Skew: 2}},
		},
		web,
		pod("kafka", "a", "east"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
