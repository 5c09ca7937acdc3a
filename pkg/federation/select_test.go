package federation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func names(all []candidate) string {
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// candidateIn returns a candidate in a region.
func candidateIn(region, name string, score, available int64) candidate {
	c := candidate{Cluster: cluster(name), score: score, available: available}
	c.Spec.Region = region
	return c
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/util_test.go, Test_sortClusters
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/group_clusters_test.go, Test_GroupClustersWithScore
func TestSortCandidates(t *testing.T) {
	for _, test := range []struct {
		name string
		all  []candidate
		want string
	}{
		{"by score", []candidate{candidateIn("", "b", 2, 0), candidateIn("", "a", 1, 0)}, "b a"},
		{"then by what is available", []candidate{candidateIn("", "a", 1, 5), candidateIn("", "b", 1, 10)}, "b a"},
		{"then by name", []candidate{candidateIn("", "b", 1, 5), candidateIn("", "a", 1, 5)}, "a b"},
		{"four", []candidate{candidateIn("", "member1", 20, 100), candidateIn("", "member2", 40, 100), candidateIn("", "member3", 30, 100), candidateIn("", "member4", 60, 100)}, "member4 member2 member3 member1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if sortCandidates(test.all); names(test.all) != test.want {
				t.Errorf("got %s, want %s", names(test.all), test.want)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/select_clusters_test.go
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/common_test.go, TestSelectClusters
func TestSelectClusters(t *testing.T) {
	byCluster := func(lo, hi int) []SpreadConstraint {
		return []SpreadConstraint{{SpreadByField: SpreadByCluster, MinGroups: lo, MaxGroups: hi}}
	}
	divided := &ReplicaScheduling{ReplicaSchedulingType: Divided}
	for _, test := range []struct {
		name     string
		spread   []SpreadConstraint
		by       *ReplicaScheduling
		replicas int32
		want     string
		err      string
	}{
		{"no constraint", nil, nil, 100, "member4 member2 member3 member1", ""},
		{"the best", byCluster(1, 1), nil, 100, "member4", ""},
		{"the two best", byCluster(1, 2), nil, 100, "member4 member2", ""},
		{"the two best, whatever their room, if duplicated", byCluster(1, 2), duplicated, 120, "member4 member2", ""},
		{"all, if divided by static weights", byCluster(1, 2), weighted(2), 120, "member4 member2 member3 member1", ""},
		{"all, if divided by equal weights", byCluster(1, 2), equal, 120, "member4 member2 member3 member1", ""},
		{"the two best with enough room", byCluster(1, 2), divided, 120, "member4 member3", ""},
		// member3 replaces member2, which has too little room beside member4, and then itself replaces member4.
		{"what was replaced replaces another", byCluster(1, 2), divided, 140, "member2 member3", ""},
		{"too little room", byCluster(1, 2), divided, 200, "", "no enough resource when selecting 2 clusters"},
		{"too few clusters", byCluster(7, 7), nil, 30, "", "the number of feasible clusters is less than spreadConstraint.MinGroups"},

		// Without maxGroups no cluster is selected, and there is no error.
		{"no maxGroups, duplicated", byCluster(1, 0), duplicated, 1, "", ""},
		{"no maxGroups, divided", byCluster(1, 0), dynamic, 1, "", "no enough resource when selecting 0 clusters"},
		{"zone", []SpreadConstraint{{SpreadByField: SpreadByZone, MinGroups: 1, MaxGroups: 1}}, nil, 1, "", "just support cluster and region spread constraint"},
		{"provider", []SpreadConstraint{{SpreadByField: SpreadByProvider, MinGroups: 1, MaxGroups: 1}}, nil, 1, "", "just support cluster and region spread constraint"},
		{"label", []SpreadConstraint{{SpreadByLabel: "net", MinGroups: 1, MaxGroups: 1}}, nil, 1, "", "just support cluster and region spread constraint"},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := []candidate{candidateIn("R2", "member4", 60, 50), candidateIn("R1", "member2", 40, 60), candidateIn("R1", "member3", 30, 80), candidateIn("R1", "member1", 20, 40)}
			b := bindingWith(test.replicas, test.by, "")
			b.Placement.SpreadConstraints = test.spread
			got, err := selectClusters(b, all)
			if names(got) != test.want || message(err) != test.err {
				t.Errorf("got %q, %v, want %q, %s", names(got), err, test.want, test.err)
			}
		})
	}
}

// Karmada's test sets a weight for each region. Here the weights are computed: one replica is divided, and every cluster has room for it,
// so the clusters' scores decide.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/select_clusters_by_region_test.go
func TestSelectByRegion(t *testing.T) {
	two := []candidate{
		candidateIn("R1", "member1", 100, 40), candidateIn("R1", "member2", 80, 40),
		candidateIn("R2", "member3", 80, 40), candidateIn("R2", "member4", 80, 40), candidateIn("R2", "member5", 60, 40),
	}
	const fewRegions, fewClusters = "the number of feasible region is less than spreadConstraint.MinGroups",
		"the number of clusters is less than the cluster spreadConstraint.MinGroups"
	for _, test := range []struct {
		name              string
		all               []candidate
		regions, clusters [2]int
		want              string
		err               string
	}{
		{"the region with the larger weight", two, [2]int{1, 1}, [2]int{2, 2}, "member1 member2", ""},
		{"the region with enough clusters", two, [2]int{1, 1}, [2]int{3, 3}, "member3 member4 member5", ""},
		{"regions with enough clusters", []candidate{
			candidateIn("R1", "member1", 90, 40),
			candidateIn("R3", "member5", 80, 40),
			candidateIn("R2", "member2", 70, 40), candidateIn("R2", "member3", 60, 40),
			candidateIn("R3", "member6", 50, 60),
			candidateIn("R4", "member7", 50, 50), candidateIn("R4", "member8", 40, 50),
			candidateIn("R2", "member4", 30, 40),
			candidateIn("R4", "member9", 10, 50), candidateIn("R4", "member10", 0, 50),
		}, [2]int{2, 2}, [2]int{4, 5}, "member1 member2 member3 member4", ""},
		{"more regions than minGroups", []candidate{
			candidateIn("R4", "member7", 70, 100), candidateIn("R1", "member1", 70, 40),
			candidateIn("R3", "member5", 60, 40), candidateIn("R3", "member6", 50, 60), candidateIn("R5", "member8", 50, 50),
			candidateIn("R2", "member2", 40, 40), candidateIn("R2", "member3", 40, 40), candidateIn("R2", "member4", 40, 40),
		}, [2]int{1, 3}, [2]int{6, 8}, "member1 member5 member2 member6 member3 member4", ""},
		{"too few regions", two, [2]int{3, 3}, [2]int{3, 3}, "", fewRegions},
		{"too few clusters", two, [2]int{1, 1}, [2]int{4, 4}, "", fewClusters},
		{"no other region", two[:2], [2]int{1, 1}, [2]int{3, 4}, "", fewClusters},
		{"no maxGroups of regions", two, [2]int{1, 0}, [2]int{1, 2}, "", fewClusters},
		{"no maxGroups of clusters: one of each region", two, [2]int{2, 2}, [2]int{1, 0}, "member1 member3", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := bindingWith(1, dynamic, "")
			b.Placement.SpreadConstraints = []SpreadConstraint{
				{SpreadByField: SpreadByCluster, MinGroups: test.clusters[0], MaxGroups: test.clusters[1]},
				{SpreadByField: SpreadByRegion, MinGroups: test.regions[0], MaxGroups: test.regions[1]},
			}
			got, err := selectClusters(b, test.all)
			if names(got) != test.want || message(err) != test.err {
				t.Errorf("got %q, %v, want %q, %s", names(got), err, test.want, test.err)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/select_groups_test.go
func TestBest(t *testing.T) {
	for _, test := range []struct {
		name        string
		regions     []region // in the order of upstream: name, clusters, weight
		least, most int
		clusters    int
		want        []string
	}{
		{"no region", nil, 2, 3, 1, nil},
		{"too few regions", []region{{"R1", 1, 80}}, 2, 3, 1, nil},
		{"too few clusters", []region{{"R1", 1, 80}, {"R2", 2, 30}}, 2, 3, 4, nil},
		{"one region", []region{{"R1", 1, 80}}, 1, 3, 1, []string{"R1"}},
		{"one choice", []region{{"R1", 1, 80}, {"R3", 1, 80}, {"R2", 1, 60}, {"R5", 2, 60}, {"R4", 5, 50}, {"R6", 3, 50}}, 1, 3, 10, []string{"R5", "R4", "R6"}},
		{"fewer regions", []region{{"R1", 1, 80}, {"R2", 4, 40}, {"R3", 1, 30}, {"R4", 3, 30}, {"R5", 3, 20}, {"R6", 5, 10}}, 2, 6, 5, []string{"R1", "R2"}},
		{"the largest weight", []region{{"R1", 1, 60}, {"R2", 1, 50}, {"R3", 1, 40}, {"R4", 3, 30}, {"R5", 3, 20}, {"R6", 3, 10}}, 1, 3, 6, []string{"R1", "R4", "R5"}},
		{"the first that was found", []region{{"R1", 1, 60}, {"R2", 2, 50}, {"R3", 3, 40}, {"R4", 4, 30}}, 1, 2, 5, []string{"R1", "R4"}},
		{"the most clusters", []region{{"R4", 1, 60}, {"R3", 3, 50}, {"R1", 3, 40}, {"R2", 4, 30}}, 1, 2, 5, []string{"R3", "R1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, r := range bestRegions(test.regions, SpreadConstraint{MinGroups: test.least, MaxGroups: test.most}, test.clusters) {
				got = append(got, r.name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The weights by hand: duplicated, 1000 for each cluster with room for all, and their mean score; divided, 1000 for each replica of the share
// (100/2 = 50) that finds room, and the mean score of the first clusters that hold it, at least two; or of all if they do not.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/core/spreadconstraint/group_clusters_test.go
func TestWeight(t *testing.T) {
	kept := []int64{100, 100, 100, 100, 100}
	two := []int64{100, 100, 0, 0, 0}
	none := []int64{0, 0, 0, 0, 0}
	static := &ReplicaScheduling{ReplicaSchedulingType: Divided, ReplicaDivisionPreference: Weighted, WeightPreference: &WeightPreference{}}
	for i, test := range []struct {
		by                *ReplicaScheduling
		replicas          int32
		scores, available []int64
		want              int64
	}{
		{duplicated, 20, two, []int64{30, 30, 30, 30, 30}, 5040},
		{duplicated, 20, kept, []int64{30, 30, 30, 10, 10}, 3100},
		{duplicated, 20, two, []int64{30, 30, 30, 10, 10}, 3066},
		{aggregated, 100, two, []int64{30, 30, 30, 10, 10}, 50100},
		{aggregated, 100, kept, []int64{10, 10, 10, 5, 5}, 40100},
		{dynamic, 100, two, []int64{10, 10, 10, 10, 5}, 45040},
		{static, 100, two, []int64{10, 10, 10, 5, 5}, 40040},
		{aggregated, 100, none, []int64{100, 100, 100, 100, 100}, 50000},
		{aggregated, 100, kept, []int64{50, 50, 50, 50, 50}, 50100},
		{duplicated, 10, nil, nil, 0},
		{duplicated, 10, []int64{50, 50}, []int64{5, 5}, 0},
	} {
		var of []candidate
		for i := range test.scores {
			of = append(of, candidateIn("", fmt.Sprint("member", i+1), test.scores[i], test.available[i]))
		}
		if got := rateRegion(bindingWith(test.replicas, test.by, ""), of, 2, 0); got != test.want {
			t.Errorf("row %d: got %d, want %d", i+1, got, test.want)
		}
	}
}
