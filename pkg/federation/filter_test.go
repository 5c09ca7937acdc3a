package federation

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// Each row has the result of one plugin for cluster1.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/framework/plugins, */*_test.go
func TestFilters(t *testing.T) {
	taint := func(value string, effect v1.TaintEffect) ClusterSpec {
		return ClusterSpec{Taints: []v1.Taint{{Key: "key1", Value: value, Effect: effect}}}
	}
	apps := ClusterStatus{APIEnablements: []APIEnablement{{GroupVersion: "apps/v1", Resources: []APIResource{{Kind: "Deployment"}}}}}
	tolerating := &Placement{ClusterTolerations: []v1.Toleration{{Key: "key1", Operator: v1.TolerationOpEqual, Value: "value1", Effect: v1.TaintEffectNoSchedule}}}
	by := func(field string) *Placement {
		return &Placement{SpreadConstraints: []SpreadConstraint{{SpreadByField: field}}}
	}
	only := func(names ...string) *ClusterAffinity { a := clustersNamed(names...); return &a }
	terms := &Placement{ClusterAffinities: []ClusterAffinityTerm{
		{AffinityName: "affinity1", ClusterAffinity: clustersNamed("cluster1")}, {AffinityName: "affinity2", ClusterAffinity: clustersNamed("cluster2")},
	}}
	const (
		noAPI      = "cluster(s) did not have the API resource"
		unmatched  = "cluster(s) did not match the placement cluster affinity constraint"
		evicting   = "cluster(s) is in the process of eviction"
		noProvider = "cluster(s) did not have provider property"
		noRegion   = "cluster(s) did not have region property"
		noZones    = "cluster(s) did not have zones property"
	)
	for _, test := range []struct {
		name    string
		refuse  filter
		cluster Cluster
		binding Binding
		want    string
	}{
		{"API", refuseAPI, Cluster{Status: apps}, Binding{Template: deployment("", "web", 1)}, ""},
		{"API missing", refuseAPI, Cluster{Status: apps}, Binding{Template: &Template{APIVersion: "custom.io/v1", Kind: "CustomResource"}}, noAPI},
		{"API of another version", refuseAPI, Cluster{Status: apps}, Binding{Template: &Template{APIVersion: "apps/v2", Kind: "Deployment"}}, noAPI},
		{"API missing, has the cluster", refuseAPI, Cluster{Status: apps}, Binding{Template: &Template{APIVersion: "custom.io/v1", Kind: "CustomResource"}, Targets: targets("cluster1")}, ""},
		{"APIs unknown", refuseAPI, Cluster{}, Binding{Template: &Template{APIVersion: "custom.io/v1", Kind: "CustomResource"}}, ""},

		{"no taint", refuseTaints, Cluster{}, Binding{Placement: &Placement{}}, ""},
		{"taint, has the cluster", refuseTaints, Cluster{Spec: taint("value1", v1.TaintEffectNoSchedule)}, Binding{Placement: &Placement{}, Targets: targets("cluster1")}, ""},
		{"taint, tolerated", refuseTaints, Cluster{Spec: taint("value1", v1.TaintEffectNoSchedule)}, Binding{Placement: tolerating}, ""},
		{"taint", refuseTaints, Cluster{Spec: taint("value1", v1.TaintEffectNoSchedule)}, Binding{Placement: &Placement{}}, "cluster(s) had untolerated taint {key1=value1:NoSchedule}"},
		{"taint NoExecute without a value", refuseTaints, Cluster{Spec: taint("", v1.TaintEffectNoExecute)}, Binding{Placement: &Placement{}}, "cluster(s) had untolerated taint {key1:NoExecute}"},
		{"taint PreferNoSchedule", refuseTaints, Cluster{Spec: taint("value1", v1.TaintEffectPreferNoSchedule)}, Binding{Placement: &Placement{}}, ""},

		{"affinity", refuseAffinity, Cluster{}, Binding{Placement: &Placement{ClusterAffinity: only("cluster1")}}, ""},
		{"affinity to another", refuseAffinity, Cluster{}, Binding{Placement: &Placement{ClusterAffinity: only("cluster2")}}, unmatched},
		{"affinity to another, has the cluster", refuseAffinity, Cluster{}, Binding{Placement: &Placement{ClusterAffinity: only("cluster2")}, Targets: targets("cluster1")}, unmatched},
		{"affinity of the term", refuseAffinity, Cluster{}, Binding{Placement: terms, affinity: "affinity1"}, ""},
		{"affinity of another term", refuseAffinity, Cluster{}, Binding{Placement: terms, affinity: "affinity2"}, unmatched},
		{"no affinity", refuseAffinity, Cluster{}, Binding{Placement: &Placement{}}, ""},

		{"no spread constraint", refuseSpread, Cluster{}, Binding{Placement: &Placement{}}, ""},
		{"provider", refuseSpread, Cluster{Spec: ClusterSpec{Provider: "aws"}}, Binding{Placement: by(SpreadByProvider)}, ""},
		{"provider missing", refuseSpread, Cluster{}, Binding{Placement: by(SpreadByProvider)}, noProvider},
		{"region", refuseSpread, Cluster{Spec: ClusterSpec{Region: "us-west-2"}}, Binding{Placement: by(SpreadByRegion)}, ""},
		{"region missing", refuseSpread, Cluster{}, Binding{Placement: by(SpreadByRegion)}, noRegion},
		{"zone", refuseSpread, Cluster{Spec: ClusterSpec{Zones: []string{"us-west-2a"}}}, Binding{Placement: by(SpreadByZone)}, ""},
		{"zone missing", refuseSpread, Cluster{}, Binding{Placement: by(SpreadByZone)}, noZones},

		{"eviction", refuseEviction, Cluster{}, Binding{Evictions: []Eviction{{From: "cluster1"}}}, evicting},
		{"eviction from another", refuseEviction, Cluster{}, Binding{Evictions: []Eviction{{From: "cluster2"}}}, ""},
		{"no eviction", refuseEviction, Cluster{}, Binding{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.cluster.Name = "cluster1"
			if got := test.refuse(&Scheduler{}, &test.binding, &test.cluster); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Karmada has no unit test of these two plugins; the rows follow their code.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/framework/plugins/workloadantiaffinity/workload_anti_affinity.go
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/framework/plugins/workloadaffinity/workload_affinity.go
func TestGroupFilters(t *testing.T) {
	const (
		same  = "cluster already has workload with the same anti-affinity group"
		other = "ResourceBinding with the same affinity group does not target this cluster"
	)
	bound := func(namespace, name, group, had string) *Binding {
		return &Binding{Template: deployment(namespace, name, 1), AffinityGroup: group, AntiAffinityGroup: group, Targets: targets(had)}
	}
	for _, test := range []struct {
		name        string
		off         bool
		binding     *Binding
		peers       []*Binding
		apart, with string
	}{
		{"no peer", false, bound("a", "web", "app=x", ""), nil, "", ""},
		{"a peer here", false, bound("a", "web", "app=x", ""), []*Binding{bound("a", "db", "app=x", "cluster1=1")}, same, ""},
		{"a peer elsewhere", false, bound("a", "web", "app=x", ""), []*Binding{bound("a", "db", "app=x", "cluster2=1")}, "", other},
		{"a peer here and elsewhere", false, bound("a", "web", "app=x", ""), []*Binding{bound("a", "db", "app=x", "cluster1=1 cluster2=1")}, same, ""},
		{"one peer here, one elsewhere", false, bound("a", "web", "app=x", ""), []*Binding{bound("a", "db", "app=x", "cluster1=1"), bound("a", "q", "app=x", "cluster2=1")}, same, other},
		{"a peer nowhere", false, bound("a", "web", "app=x", ""), []*Binding{bound("a", "db", "app=x", "")}, "", ""},
		{"a peer with no replicas here", false, bound("a", "web", "app=x", ""), []*Binding{bound("a", "db", "app=x", "cluster1")}, same, ""},
		{"another group", false, bound("a", "web", "app=x", ""), []*Binding{bound("a", "db", "app=y", "cluster1=1"), bound("a", "q", "app=y", "cluster2=1")}, "", ""},
		{"another namespace", false, bound("a", "web", "app=x", ""), []*Binding{bound("b", "db", "app=x", "cluster1=1"), bound("b", "q", "app=x", "cluster2=1")}, "", ""},
		{"no group", false, bound("a", "web", "", ""), []*Binding{bound("a", "db", "app=x", "cluster1=1"), bound("a", "q", "app=x", "cluster2=1")}, "", ""},
		{"itself", false, bound("a", "web", "app=x", ""), []*Binding{bound("a", "web", "app=x", "cluster1=1")}, "", ""},
		{"has the cluster", false, bound("a", "web", "app=x", "cluster1=1"), []*Binding{bound("a", "db", "app=x", "cluster1=1"), bound("a", "q", "app=x", "cluster2=1")}, "", ""},
		{"the gate is off", true, bound("a", "web", "app=x", ""), []*Binding{bound("a", "db", "app=x", "cluster1=1"), bound("a", "q", "app=x", "cluster2=1")}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &Scheduler{Gates: Gates{WorkloadAffinity: !test.off}}
			s.indexGroups(test.peers)
			if got := refuseSameGroup(s, test.binding, cluster("cluster1")); got != test.apart {
				t.Errorf("anti-affinity: got %q, want %q", got, test.apart)
			}
			if got := refuseOtherGroup(s, test.binding, cluster("cluster1")); got != test.with {
				t.Errorf("affinity: got %q, want %q", got, test.with)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/framework/types_test.go, TestFitError_Error
func TestFitError(t *testing.T) {
	for _, test := range []struct {
		err  FitError
		want string
	}{
		{FitError{}, "0/0 clusters are available: no cluster exists."},
		{FitError{Clusters: 2}, "0/2 clusters are available: no cluster exists."},
		{FitError{3, map[string]string{"cluster1": "insufficient memory", "cluster2": "insufficient CPU", "cluster3": "insufficient CPU"}},
			"0/3 clusters are available: 1 insufficient memory, 2 insufficient CPU."},
		// The entries are sorted as strings.
		{FitError{12, map[string]string{"1": "b", "2": "b", "3": "a", "4": "a", "5": "a", "6": "a", "7": "a", "8": "a", "9": "a", "10": "a", "11": "a", "12": "a"}},
			"0/12 clusters are available: 10 a, 2 b."},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
