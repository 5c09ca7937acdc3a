package federation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The parties of https://en.wikipedia.org/wiki/Sainte-Laguë_method, and the ties.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/helper/webstermethod_test.go
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/helper/binding_test.go, Test_dispenser_AllocateByWeight
func TestWebster(t *testing.T) {
	parties := []share{{"A", 100000}, {"B", 80000}, {"C", 30000}, {"D", 20000}}
	for _, test := range []struct {
		name    string
		n       int32
		weights []share
		uid     string
		want    string
	}{
		{"round 1", 1, parties, "", "A=1 B C D"},
		{"round 2", 2, parties, "", "A=1 B=1 C D"},
		{"round 3", 3, parties, "", "A=2 B=1 C D"},
		{"round 4", 4, parties, "", "A=2 B=1 C=1 D"},
		{"round 5", 5, parties, "", "A=2 B=2 C=1 D"},
		{"round 6", 6, parties, "", "A=2 B=2 C=1 D=1"},
		{"round 7", 7, parties, "", "A=3 B=2 C=1 D=1"},
		{"round 8", 8, parties, "", "A=3 B=3 C=1 D=1"},
		{"the example of the function", 4, []share{{"Alpha", 1200}, {"Beta", 900}, {"Gamma", 400}}, "", "Alpha=2 Beta=1 Gamma=1"},
		{"no party", 1, nil, "", ""},
		{"no seat", 0, []share{{"A", 100}, {"B", 200}}, "", "A B"},
		{"neither", 0, nil, "", ""},
		// After A has one seat, 3/(2·1+1) equals 1/(2·0+1).
		{"a tie goes to fewer seats", 2, []share{{"A", 3}, {"B", 1}}, "", "A=1 B=1"},
		{"then by name", 1, []share{{"B", 1}, {"A", 1}}, "", "A=1 B"},
		{"2:1, 1 replica", 1, []share{{"A", 2}, {"B", 1}}, "", "A=1 B"},
		{"2:1, 2 replicas", 2, []share{{"A", 2}, {"B", 1}}, "", "A=1 B=1"},
		{"2:1, 3 replicas", 3, []share{{"A", 2}, {"B", 1}}, "", "A=2 B=1"},
		{"170:110:60, 5 replicas", 5, []share{{"A", 170}, {"B", 110}, {"C", 60}}, "", "A=2 B=2 C=1"},
		{"170:110:60, 6 replicas", 6, []share{{"A", 170}, {"B", 110}, {"C", 60}}, "", "A=3 B=2 C=1"},
		{"a UID with an odd hash", 5, []share{{"A", 1}, {"B", 1}}, "d43fdeeb-d750-4e2b-bee3-64eb94534f4c", "A=2 B=3"},
		{"a UID with an even hash", 5, []share{{"A", 1}, {"B", 1}}, "4858ca61-3ff8-4095-8267-f3d059d8074c", "A=3 B=2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(targets(test.want), webster(test.n, test.weights, test.uid), emptyIsNil); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/helper/binding_test.go, TestDispenseReplicasByTargetClusters
func TestWebsterByRoom(t *testing.T) {
	for _, test := range []struct {
		name string
		n    int32
		room string
		want string
	}{
		{"no cluster", 10, "", ""},
		{"one cluster", 10, "m1=5", "m1=10"},
		{"1:1:1, 12 replicas", 12, "m1=5 m2=5 m3=5", "m1=4 m2=4 m3=4"},
		{"1:1:1, 10 replicas", 10, "m1=5 m2=5 m3=5", "m1=4 m2=3 m3=3"},
		{"1:2:3, 13 replicas", 13, "m1=1 m2=2 m3=3", "m1=2 m2=4 m3=7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(targets(test.want), webster(test.n, sharesByRoom(targets(test.room)), ""), emptyIsNil); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/assignment_test.go, Test_assignByStaticWeightStrategy
func TestStaticWeights(t *testing.T) {
	twice := weighted(1, 1)
	twice.WeightPreference.StaticWeightList = append(twice.WeightPreference.StaticWeightList, StaticWeight{clustersNamed("member1"), 2})
	for _, test := range []struct {
		name     string
		clusters int
		by       *ReplicaScheduling
		replicas int32
		want     string
	}{
		{"12 replicas, 3:2:1", 3, weighted(3, 2, 1), 12, "member1=6 member2=4 member3=2"},
		{"12 replicas, no weights", 3, equal, 12, "member1=4 member2=4 member3=4"},
		{"13 replicas, 3:2:1", 3, weighted(3, 2, 1), 13, "member1=7 member2=4 member3=2"},
		{"14 replicas, 3:2:1", 3, weighted(3, 2, 1), 14, "member1=7 member2=5 member3=2"},
		{"no replicas", 2, weighted(1, 1), 0, "member1 member2"},
		{"a cluster without a weight gets none", 2, weighted(1), 2, "member1=2"},
		{"the largest of several weights", 2, twice, 3, "member1=2 member2=1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := webster(test.replicas, staticWeights(test.by.WeightPreference, members(make([]int32, test.clusters)...)), "")
			if diff := cmp.Diff(targets(test.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/generic_scheduler_test.go, Test_DistributionOfReplicas
func TestDistribution(t *testing.T) {
	for _, test := range []struct {
		name     string
		clusters int
		by       *ReplicaScheduling
		replicas int32
		want     string
	}{
		{"3 replicas, 1:1", 2, weighted(1, 1), 3, "member1=2 member2=1"},
		{"from 3 to 5, 1:1:1, before", 3, weighted(1, 1, 1), 3, "member1=1 member2=1 member3=1"},
		{"from 3 to 5, 1:1:1, after", 3, weighted(1, 1, 1), 5, "member1=2 member2=2 member3=1"},
		{"from 7 to 8, 2:1:1:1, before", 4, weighted(2, 1, 1, 1), 7, "member1=3 member2=2 member3=1 member4=1"},
		{"from 7 to 8, 2:1:1:1, after", 4, weighted(2, 1, 1, 1), 8, "member1=3 member2=2 member3=2 member4=1"},
		{"from 9 to 8, 2:1:1:1, before", 4, weighted(2, 1, 1, 1), 9, "member1=3 member2=2 member3=2 member4=2"},
		{"from 9 to 8, 2:1:1:1, after", 4, weighted(2, 1, 1, 1), 8, "member1=3 member2=2 member3=2 member4=1"},
		{"6 replicas, from 1:1:1:1 to 2:1:1:1, before", 4, weighted(1, 1, 1, 1), 6, "member1=2 member2=2 member3=1 member4=1"},
		{"6 replicas, from 1:1:1:1 to 2:1:1:1, after", 4, weighted(2, 1, 1, 1), 6, "member1=3 member2=1 member3=1 member4=1"},
		{"5 replicas, a new cluster, before", 3, weighted(1, 1, 1), 5, "member1=2 member2=2 member3=1"},
		{"5 replicas, a new cluster, after", 4, weighted(1, 1, 1, 1), 5, "member1=2 member2=1 member3=1 member4=1"},
		{"6 replicas, a cluster less, before", 4, weighted(1, 1, 1, 1), 6, "member1=2 member2=2 member3=1 member4=1"},
		{"6 replicas, a cluster less, after", 3, weighted(1, 1, 1), 6, "member1=2 member2=2 member3=2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := assign(bindingWith(test.replicas, test.by, ""), members(make([]int32, test.clusters)...))
			if diff := cmp.Diff(targets(test.want), got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// The replicas of the binding change, and so do the replicas of its targets.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/assignment_test.go, Test_dynamicScale, Test_dynamicScaleUp
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/division_algorithm_test.go
func TestDivideByRoom(t *testing.T) {
	without := func(all []candidate, i int) []candidate { return append(all[:i:i], all[i+1:]...) }
	for _, test := range []struct {
		name     string
		selected []candidate
		by       *ReplicaScheduling
		had      string
		replicas int32
		want     string
		err      string
	}{
		{"12 to 6", members(1, 1, 1), dynamic, "member1=2 member2=4 member3=6", 6, "member1=1 member2=2 member3=3", ""},
		{"12 to 24", members(10, 10, 10), dynamic, "member1=2 member2=4 member3=6", 24, "member1=6 member2=8 member3=10", ""},
		{"12 to 24, too little room", members(1, 1, 1), dynamic, "member1=2 member2=4 member3=6", 24, "",
			"failed to scale up: Clusters available replicas 3 are not enough to schedule."},
		{"12 to 12", members(0, 0), dynamic, "member1=2 member2=10", 12, "member1=2 member2=10", ""},
		{"12 to 6, aggregated", members(1, 1, 1), aggregated, "member1=4 member2=8", 6, "member2=6", ""},
		{"12 to 8, aggregated", members(100, 100), aggregated, "member1=4 member2=8", 8, "member2=8", ""},
		{"12 to 24, aggregated 4:6:8", members(4, 6, 8), aggregated, "member1=4 member2=8", 24, "member1=7 member2=12 member3=5", ""},
		{"12 to 24, aggregated 6:6:20", members(6, 6, 20), aggregated, "member1=4 member2=8", 24, "member1=10 member2=14", ""},
		{"12 to 24, aggregated, too little room", members(1, 1, 1), aggregated, "member1=4 member2=8", 24, "",
			"failed to scale up: Clusters available replicas 3 are not enough to schedule."},
		{"12 to 24, aggregated, without member2", without(members(4, 0, 8, 12), 1), aggregated, "member1=4 member2=8", 24, "member1=7 member3=7 member4=10", ""},

		{"12 at first, 6:8:10", members(6, 8, 10), dynamic, "", 12, "member1=3 member2=4 member3=5", ""},
		{"12 at first, 8:8:10", members(8, 8, 10), dynamic, "", 12, "member1=4 member2=4 member3=4", ""},
		{"12 at first, too little room", members(3, 3, 3), dynamic, "", 12, "",
			"failed to scale up: Clusters available replicas 9 are not enough to schedule."},
		{"12 at first, aggregated 6:8:10", members(6, 8, 10), aggregated, "", 12, "member2=5 member3=7", ""},
		{"12 at first, aggregated 12:8:10", members(12, 8, 10), aggregated, "", 12, "member1=12", ""},
		{"12 at first, aggregated, too little room", members(3, 3, 3), aggregated, "", 12, "",
			"failed to scale up: Clusters available replicas 9 are not enough to schedule."},
		{"another cluster for one that left", members(3, 3), dynamic, "member1=6 member3=6", 12, "member1=9 member2=3", ""},

		{"12 at first, 18:12:6", members(18, 12, 6), dynamic, "", 12, "member1=6 member2=4 member3=2", ""},
		{"12 at first, 20:12:6", members(20, 12, 6), dynamic, "", 12, "member1=6 member2=4 member3=2", ""},
		{"12 at first, 6:12:6", members(6, 12, 6), dynamic, "", 12, "member1=3 member2=6 member3=3", ""},
		{"12 at first, aggregated 6:12:6", members(6, 12, 6), aggregated, "", 12, "member2=12", ""},
		{"12 at first, aggregated 6:6:6", members(6, 6, 6), aggregated, "", 12, "member1=6 member2=6", ""},
		{"10 at first, room for 3", members(3), dynamic, "", 10, "",
			"failed to scale up: Clusters available replicas 3 are not enough to schedule."},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := assign(bindingWith(test.replicas, test.by, test.had), test.selected)
			if diff := cmp.Diff(targets(test.want), sortTargets(got), emptyIsNil); diff != "" || message(err) != test.err {
				t.Error(err, diff)
			}
			var short *roomError
			if (err != nil) != errors.As(err, &short) {
				t.Errorf("%v is not the error of too little room", err)
			}
		})
	}
}

// A template without replicas, or without replicas that Karmada counts, goes to every selected cluster.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/common_test.go, TestAssignReplicas
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/assignment_test.go, Test_assignByDuplicatedStrategy
func TestAssign(t *testing.T) {
	config := bindingWith(0, nil, "")
	config.Template = &Template{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "web"}
	stopped, bare := bindingWith(0, equal, ""), bindingWith(0, equal, "member1=3")
	bare.Template.Workload = false
	for _, test := range []struct {
		name     string
		binding  *Binding
		selected []candidate
		want     string
		err      string
	}{
		{"one cluster", bindingWith(3, equal, ""), members(0), "member1=3", ""},
		{"no cluster", bindingWith(1, nil, ""), nil, "", "no clusters available to schedule"},
		{"duplicated", bindingWith(2, duplicated, ""), members(0, 0), "member1=2 member2=2", ""},
		{"duplicated by default", bindingWith(2, nil, ""), members(0, 0), "member1=2 member2=2", ""},
		{"an object without replicas", config, members(0, 0), "member1 member2", ""},
		{"a workload without replicas and requests", bare, members(0, 0), "member1 member2", ""},
		{"a workload without replicas, with requests or claims to nodes", stopped, members(0, 0), "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := assign(test.binding, test.selected)
			if diff := cmp.Diff(targets(test.want), got, emptyIsNil); diff != "" || message(err) != test.err {
				t.Error(err, diff)
			}
		})
	}
}
