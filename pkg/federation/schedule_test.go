package federation

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// one limits a binding to one cluster.
var one = []SpreadConstraint{{SpreadByField: SpreadByCluster, MinGroups: 1, MaxGroups: 1}}

// bind returns the binding of a workload with the labels under the placement.
func bind(t *Template, labels map[string]string, placement Placement) *Binding {
	t.Labels = labels
	return Bind(t, &Policy{Spec: PolicySpec{Placement: placement}})
}

// describeTargets returns the clusters of each binding, or why it has none.
func describeTargets(bindings []*Binding) []string {
	var all []string
	for _, b := range bindings {
		clusters := ""
		for _, target := range b.Targets {
			clusters += " " + target.Cluster
		}
		if clusters == "" {
			clusters = " " + b.Reason + ": " + b.Message
		}
		all = append(all, b.Template.Name+clusters)
	}
	return all
}

// The four cases that Karmada tests against real clusters. In the last one either of the last two workloads may lose; here it is the one that
// comes later.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/test/e2e/suites/base/workloadaffinity_test.go
func TestWorkloadAffinity(t *testing.T) {
	group := map[string]string{"group": "x"}
	apart := &WorkloadAffinity{AntiAffinity: &GroupTerm{GroupByLabelKey: "group"}}
	together := &WorkloadAffinity{Affinity: &GroupTerm{GroupByLabelKey: "group"}}
	both := &WorkloadAffinity{Affinity: &GroupTerm{GroupByLabelKey: "with"}, AntiAffinity: &GroupTerm{GroupByLabelKey: "apart"}}
	first := clustersNamed("member1")
	for _, test := range []struct {
		name     string
		bindings []*Binding
		want     []string
	}{
		{"anti-affinity puts workloads on different clusters", []*Binding{
			bind(deployment("a", "dep1", 1), group, Placement{WorkloadAffinity: apart, SpreadConstraints: one}),
			bind(deployment("a", "dep2", 1), group, Placement{WorkloadAffinity: apart, SpreadConstraints: one}),
		}, []string{"dep1 member1", "dep2 member2"}},
		{"affinity puts them on the same cluster", []*Binding{
			bind(deployment("a", "dep1", 1), group, Placement{WorkloadAffinity: together, SpreadConstraints: one}),
			bind(deployment("a", "dep2", 1), group, Placement{WorkloadAffinity: together, SpreadConstraints: one}),
		}, []string{"dep1 member1", "dep2 member1"}},
		{"namespaces do not share groups", []*Binding{
			bind(deployment("a", "dep1", 1), group, Placement{WorkloadAffinity: apart, ClusterAffinity: &first}),
			bind(deployment("b", "dep2", 1), group, Placement{WorkloadAffinity: apart, ClusterAffinity: &first}),
		}, []string{"dep1 member1", "dep2 member1"}},
		{"both terms", []*Binding{
			bind(deployment("a", "dep1", 1), map[string]string{"with": "x"}, Placement{WorkloadAffinity: &WorkloadAffinity{Affinity: both.Affinity}, ClusterAffinity: &first}),
			bind(deployment("a", "dep2", 1), map[string]string{"apart": "x"}, Placement{WorkloadAffinity: &WorkloadAffinity{AntiAffinity: both.AntiAffinity}, ClusterAffinity: &first}),
			bind(deployment("a", "dep3", 1), map[string]string{"with": "x", "apart": "x"}, Placement{WorkloadAffinity: both, ClusterAffinity: &first, SpreadConstraints: one}),
		}, []string{"dep1 member1", "dep2 member1", "dep3 NoClusterFit: 0/3 clusters are available: " +
			"1 cluster already has workload with the same anti-affinity group, 2 cluster(s) did not match the placement cluster affinity constraint."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &Scheduler{Clusters: clusters("member1", "member2", "member3"), Gates: Gates{WorkloadAffinity: true}}
			if diff := cmp.Diff(test.want, describeTargets(s.Run(test.bindings, test.bindings))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Three Flink jobs of an anti-affinity group need three clusters, but one of three is tainted. The third job finds no cluster until its
// label differs. The gate is off by default, and then all jobs are on the first cluster.
// https://github.com/karmada-io/karmada/tree/f8fdd02d/docs/proposals/scheduling/anti-affinity-scheduling-support
func TestProposal(t *testing.T) {
	all := clusters("member1", "member2", "member3")
	all[2].Spec.Taints = []v1.Taint{{Key: "cluster.karmada.io/maintenance", Effect: v1.TaintEffectNoSchedule}}
	policy := &Policy{Spec: PolicySpec{Placement: Placement{
		SpreadConstraints: one,
		WorkloadAffinity:  &WorkloadAffinity{AntiAffinity: &GroupTerm{GroupByLabelKey: "ha-group"}},
	}}}
	job := func(name, group string) *Template {
		return &Template{APIVersion: "flink.apache.org/v1beta1", Kind: "FlinkDeployment", Namespace: "flink", Name: name,
			Labels: map[string]string{"ha-group": group}, Workload: true, Replicas: 2, Requests: resources("cpu", "1")}
	}
	jobs := []*Binding{Bind(job("a", "x"), policy), Bind(job("b", "x"), policy), Bind(job("c", "x"), policy)}

	s := &Scheduler{Clusters: all, Gates: Gates{WorkloadAffinity: true}}
	placed := s.Run(jobs, jobs)
	if diff := cmp.Diff([]string{"a member1", "b member2", "c NoClusterFit: 0/3 clusters are available: " +
		"1 cluster(s) had untolerated taint {cluster.karmada.io/maintenance:NoSchedule}, 2 cluster already has workload with the same anti-affinity group."},
		describeTargets(placed)); diff != "" {
		t.Error(diff)
	}

	placed[2] = placed[2].Rebind(job("c", "y"), policy)
	if diff := cmp.Diff([]string{"a member1", "b member2", "c member1"}, describeTargets(s.Run(placed, placed))); diff != "" {
		t.Error(diff)
	}

	off := &Scheduler{Clusters: all}
	if diff := cmp.Diff([]string{"a member1", "b member1", "c member1"}, describeTargets(off.Run(jobs, jobs))); diff != "" {
		t.Error(diff)
	}
}

// The cases are errors in a policy, and the resulting conditions.
func TestPitfalls(t *testing.T) {
	spread := func(constraints ...SpreadConstraint) Placement { return Placement{SpreadConstraints: constraints} }
	divided := func(p Placement) Placement {
		p.ReplicaScheduling = dynamic
		return p
	}
	of := func(field string, lo, hi int) SpreadConstraint {
		return SpreadConstraint{SpreadByField: field, MinGroups: lo, MaxGroups: hi}
	}
	for _, test := range []struct {
		name      string
		placement Placement
		want      string
	}{
		{"no maxGroups, duplicated", spread(of(SpreadByCluster, 1, 0)), "SchedulerError: failed to assign replicas: no clusters available to schedule"},
		{"no maxGroups, divided", divided(spread(of(SpreadByCluster, 1, 0))), "SchedulerError: failed to select clusters: no enough resource when selecting 0 clusters"},
		{"too many clusters wanted", spread(of(SpreadByCluster, 4, 4)), "SchedulerError: failed to select clusters: the number of feasible clusters is less than spreadConstraint.MinGroups"},
		{"too many regions wanted", spread(of(SpreadByRegion, 3, 3), of(SpreadByCluster, 1, 9)), "SchedulerError: failed to select clusters: the number of feasible region is less than spreadConstraint.MinGroups"},
		{"too many clusters wanted of a region", spread(of(SpreadByRegion, 1, 1), of(SpreadByCluster, 3, 3)), "SchedulerError: failed to select clusters: the number of clusters is less than the cluster spreadConstraint.MinGroups"},
		{"zone", spread(of(SpreadByZone, 1, 1), of(SpreadByCluster, 1, 1)), "member1"},
		{"zone alone", spread(of(SpreadByZone, 1, 1)), "SchedulerError: failed to select clusters: just support cluster and region spread constraint"},
		{"provider alone", spread(of(SpreadByProvider, 1, 1)), "NoClusterFit: 0/3 clusters are available: 3 cluster(s) did not have provider property."},
		{"too little room", divided(Placement{}), "Unschedulable: failed to assign replicas: failed to scale up: Clusters available replicas 6 are not enough to schedule."},
	} {
		t.Run(test.name, func(t *testing.T) {
			var all []*Cluster
			for i, region := range []string{"r1", "r1", "r2"} {
				c := withRoom(fmt.Sprint("member", i+1), 2)
				c.Spec = ClusterSpec{Region: region, Zones: []string{"z"}}
				all = append(all, c)
			}
			b := bind(deployment("a", "web", 7), nil, test.placement)
			got := (&Scheduler{Clusters: all}).Run([]*Binding{b}, []*Binding{b})
			if diff := cmp.Diff([]string{"web " + test.want}, describeTargets(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Bindings of higher priority come first, the groups of clusters are tried in order, and a cluster that is being deleted does not count.
func TestRun(t *testing.T) {
	apart := Placement{SpreadConstraints: one, WorkloadAffinity: &WorkloadAffinity{AntiAffinity: &GroupTerm{GroupByLabelKey: "group"}}}
	group := map[string]string{"group": "x"}
	low, high := bind(deployment("a", "low", 1), group, apart), bind(deployment("a", "high", 1), group, apart)
	high.Priority = 1000
	terms := bind(deployment("a", "terms", 1), nil, Placement{ClusterAffinities: []ClusterAffinityTerm{
		{AffinityName: "gone", ClusterAffinity: clustersNamed("member0")}, {AffinityName: "next", ClusterAffinity: clustersNamed("member2")},
	}})
	lost := bind(deployment("a", "lost", 1), nil, Placement{ClusterAffinities: terms.Placement.ClusterAffinities[:1]})

	all := clusters("member0", "member1", "member2")
	all[0].DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	s := &Scheduler{Clusters: all, Gates: Gates{WorkloadAffinity: true}}
	bindings := []*Binding{low, high, terms, lost}
	placed := s.Run(bindings, bindings)
	if diff := cmp.Diff([]string{"low member2", "high member1", "terms member2",
		"lost NoClusterFit: 0/3 clusters are available: 2 cluster(s) did not match the placement cluster affinity constraint."}, describeTargets(placed)); diff != "" {
		t.Error(diff)
	}
	if low.Targets != nil || low.Reason != "" {
		t.Error("Run changed a binding that it was given")
	}

	// A divided workload that has all its replicas stays when a better cluster joins.
	some := bind(deployment("a", "some", 2), nil, Placement{ReplicaScheduling: dynamic})
	s = &Scheduler{Clusters: []*Cluster{withRoom("member1", 4)}}
	placed = s.Run([]*Binding{some}, []*Binding{some})
	s.Clusters = append(s.Clusters, withRoom("member2", 400))
	if again := s.Run(placed, placed); again[0] != placed[0] {
		t.Error("a binding that has what it wants was scheduled once more")
	}
	// It moves when its cluster is deleted, and loses all clusters when none is left.
	s.Clusters[0].DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	placed = s.Run(placed, placed)
	if diff := cmp.Diff([]string{"some member2"}, describeTargets(placed)); diff != "" {
		t.Error(diff)
	}
	s.Clusters[1].DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	if diff := cmp.Diff([]string{"some NoClusterFit: 0/2 clusters are available: no cluster exists."}, describeTargets(s.Run(placed, placed))); diff != "" {
		t.Error(diff)
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/helper_test.go, Test_needConsideredPlacementChanged
func TestPlacementChanged(t *testing.T) {
	m1, m2 := clustersNamed("m1"), clustersNamed("m2")
	terms := func(all ...ClusterAffinityTerm) *Placement { return &Placement{ClusterAffinities: all} }
	term := func(name string, clusters ...string) ClusterAffinityTerm {
		return ClusterAffinityTerm{AffinityName: name, ClusterAffinity: clustersNamed(clusters...)}
	}
	tolerate := func(key string) *Placement { return &Placement{ClusterTolerations: []v1.Toleration{{Key: key}}} }
	for _, test := range []struct {
		name     string
		was, is  *Placement
		affinity string
		want     bool
	}{
		{"never scheduled", nil, &Placement{}, "", true},
		{"the same", &Placement{ClusterAffinity: &m1}, &Placement{ClusterAffinity: &m1}, "", false},
		{"other clusters", &Placement{ClusterAffinity: &m1}, &Placement{ClusterAffinity: &m2}, "", true},
		{"other tolerations", tolerate("foo"), tolerate("bar"), "", true},
		{"other spread constraints", &Placement{SpreadConstraints: one}, &Placement{}, "", true},
		{"another division", &Placement{ReplicaScheduling: equal}, &Placement{ReplicaScheduling: duplicated}, "", true},
		{"another workload affinity", &Placement{}, &Placement{WorkloadAffinity: &WorkloadAffinity{}}, "", true},
		{"groups added", &Placement{}, terms(term("group1", "m1")), "", true},
		{"its group changed", terms(term("group1", "m1")), terms(term("group1", "m1", "m2")), "group1", true},
		{"its group deleted", terms(term("group1", "m1"), term("group2", "m2")), terms(term("group2", "m2")), "group1", true},
		{"all groups deleted", terms(term("group1", "m1")), &Placement{}, "group1", true},
		{"another group added", terms(term("group1", "m1")), terms(term("group1", "m1"), term("group2", "m1", "m2")), "group1", false},
		{"another group changed", terms(term("group1", "m1"), term("group2", "m2")), terms(term("group1", "m1"), term("group2", "m1", "m2")), "group1", false},
		{"another group deleted", terms(term("group1", "m1"), term("group2", "m2")), terms(term("group1", "m1")), "group1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &Binding{applied: test.was, Placement: test.is, affinity: test.affinity}
			if got := b.placementChanged(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/helper_test.go, Test_getConditionByError
func TestCondition(t *testing.T) {
	for _, test := range []struct {
		err  error
		want [2]string
	}{
		{nil, [2]string{ReasonSuccess, "Binding has been scheduled successfully."}},
		{errors.New("other"), [2]string{ReasonSchedulerError, "other"}},
		{&FitError{}, [2]string{ReasonNoClusterFit, "0/0 clusters are available: no cluster exists."}},
		{&roomError{"little"}, [2]string{ReasonUnschedulable, "little"}},
		{fmt.Errorf("failed to assign replicas: %w", fmt.Errorf("failed to scale up: %w", &roomError{"little"})),
			[2]string{ReasonUnschedulable, "failed to assign replicas: failed to scale up: little"}},
	} {
		reason, message := condition(test.err)
		if got := [2]string{reason, message}; got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// The search for a group of clusters begins with the one that the binding has, even after a placement without groups.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/helper_test.go, Test_getAffinityIndex
func TestFirstGroup(t *testing.T) {
	groups := Placement{ClusterAffinities: []ClusterAffinityTerm{
		{AffinityName: "group1", ClusterAffinity: clustersNamed("m1")}, {AffinityName: "group2", ClusterAffinity: clustersNamed("m2")}, {AffinityName: "group3", ClusterAffinity: clustersNamed("m3")},
	}}
	s := &Scheduler{Clusters: clusters("m1", "m2", "m3")}
	run := func(b *Binding) *Binding { return s.Run([]*Binding{b}, []*Binding{b})[0] }
	for affinity, want := range map[string]string{"": "m1", "group0": "m1", "group3": "m3"} {
		b := bind(deployment("a", "web", 1), nil, groups)
		b.affinity = affinity
		if got := run(b).Targets; !slices.Equal(got, []Target{{want, 1}}) {
			t.Errorf("from %q: got %v, want %s", affinity, got, want)
		}
	}

	b := bind(deployment("a", "web", 1), nil, groups)
	b.affinity = "group3"
	b = run(run(b).Rebind(b.Template, &Policy{}))
	b = run(b.Rebind(b.Template, &Policy{Spec: PolicySpec{Placement: groups}}))
	if !slices.Equal(b.Targets, []Target{{"m3", 1}}) {
		t.Errorf("got %v, want m3", b.Targets)
	}
}
