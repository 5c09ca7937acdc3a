package federation

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/estimator/client/general_test.go, TestMaxAvailableReplicasGeneral,
// TestMaxAvailableReplicas, TestGetAllowedPodNumber and TestGetMaximumReplicasBasedOnClusterSummary
func TestGeneral(t *testing.T) {
	some := &ResourceSummary{
		Allocatable: resources("pods", "100", "cpu", "4", "memory", "8Gi"),
		Allocated:   resources("pods", "20", "cpu", "1", "memory", "2Gi"),
	}
	for _, test := range []struct {
		name     string
		summary  *ResourceSummary
		requests []string
		want     int32
	}{
		{"no summary", nil, nil, 0},
		{"no summary, requests", nil, []string{"cpu", "1"}, 0},
		{"no pods left", &ResourceSummary{Allocatable: resources("pods", "10"), Allocated: resources("pods", "10")}, nil, 0},
		{"no requests", &ResourceSummary{Allocatable: resources("pods", "10")}, nil, 10},
		{"requests", some, []string{"cpu", "500m", "memory", "1Gi"}, 6},
		{"memory is short", some, []string{"cpu", "500m", "memory", "2Gi"}, 3},
		{"CPU is short", some, []string{"cpu", "1500m", "memory", "1Gi"}, 2},
		{"pods are short", some, []string{"cpu", "10m", "memory", "1Mi"}, 80},
		{"a request for nothing", some, []string{"cpu", "500m", "memory", "0"}, 6},
		{"pods that wait count, too", &ResourceSummary{
			Allocatable: resources("pods", "100"), Allocated: resources("pods", "40"), Allocating: resources("pods", "10"),
		}, nil, 50},
		{"no pods at all", &ResourceSummary{Allocated: resources("pods", "10")}, nil, 0},
		{"more pods than fit", &ResourceSummary{
			Allocatable: resources("pods", "100"), Allocated: resources("pods", "90"), Allocating: resources("pods", "20"),
		}, nil, 0},
		{"too little memory", &ResourceSummary{
			Allocatable: resources("pods", "10", "cpu", "4", "memory", "2Gi"), Allocated: resources("cpu", "1", "memory", "1.5Gi"),
		}, []string{"cpu", "500m", "memory", "1Gi"}, 0},
		{"a resource that the cluster does not have", some, []string{"nvidia.com/gpu", "1"}, 0},
		{"more than a number holds", &ResourceSummary{Allocatable: resources("pods", "1E")}, nil, math.MaxInt32},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, c := bindingWith(1, nil, ""), cluster("member1")
			b.Template.Requests, c.Status.ResourceSummary = resources(test.requests...), test.summary
			if got := GeneralEstimate(b, c); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// A target of the binding scores 100, and its replicas there count as available.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/scheduler/framework/plugins/clusterlocality/cluster_locality_test.go
func TestCandidates(t *testing.T) {
	type result struct {
		Name      string
		Score     int64
		Room      int32
		Available int64
	}
	estimate := func(_ *Binding, c *Cluster) int32 {
		if c.Name == "member3" {
			return math.MaxInt32
		}
		return 5
	}
	for _, test := range []struct {
		name     string
		replicas int32
		had      string
		want     []result
	}{
		{"no clusters", 8, "", []result{{"member3", 0, 8, 8}, {"member1", 0, 5, 5}, {"member2", 0, 5, 5}}},
		{"one of them, and another", 8, "member2=3 other=4", []result{{"member2", 100, 5, 8}, {"member3", 0, 8, 8}, {"member1", 0, 5, 5}}},
		{"another", 8, "other=8", []result{{"member3", 0, 8, 8}, {"member1", 0, 5, 5}, {"member2", 0, 5, 5}}},
		{"nothing to place", 0, "", []result{{"member1", 0, 0, 0}, {"member2", 0, 0, 0}, {"member3", 0, 0, 0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &Scheduler{Estimate: estimate}
			var got []result
			for _, c := range s.candidates(bindingWith(test.replicas, dynamic, test.had), clusters("member1", "member2", "member3")) {
				got = append(got, result{c.Name, c.score, c.room, c.available})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
