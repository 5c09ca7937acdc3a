package blast_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
)

// No placement loses less to its worst failure than the even spread does: the test tries every placement of up to 7 pods in up to 4 zones.
func TestEvenIsTheBestPlacement(t *testing.T) {
	const labels = "a b c d"
	for zones := 1; zones <= 4; zones++ {
		for simultaneous := 1; simultaneous <= zones; simultaneous++ {
			for replicas := 1; replicas <= 7; replicas++ {
				least, even := replicas+1, 0
				for place := range placements(replicas, zones) {
					state := settled(t, nodes(labels[:2*zones-1]), map[string]string{"web": place}, app("Deployment", "web", replicas, ""))
					level := lost(t, state, blast.Options{Levels: []string{"zone"}, Simultaneous: simultaneous}).Levels[0]
					worst := 0
					for _, failure := range level.Failures {
						for _, loss := range failure.Workloads {
							worst, even = max(worst, loss.Lost), loss.Even
						}
					}
					least = min(least, worst)
					if replicas > 1 && (level.Excess != nil) != (worst > even) {
						t.Errorf("%s: excess %+v where %d of %d are lost and an even spread loses %d", place, level.Excess, worst, replicas, even)
					}
				}
				if least != even {
					t.Errorf("%d of %d zones, %d replicas: the best placement loses %d, the even spread %d", simultaneous, zones, replicas, least, even)
				}
			}
		}
	}
}

// placements returns all ways to put interchangeable pods on nodes n1, n2, …, in the form that settled takes.
func placements(pods, nodes int) func(yield func(string) bool) {
	var put func(pods, from int, place string, yield func(string) bool) bool
	put = func(pods, from int, place string, yield func(string) bool) bool {
		if pods == 0 {
			return yield(place)
		}
		for n := from; n <= nodes; n++ {
			if !put(pods-1, n, fmt.Sprintf("%s n%d", place, n), yield) {
				return false
			}
		}
		return true
	}
	return func(yield func(string) bool) { put(pods, 1, "", yield) }
}

// One replica is lost with any domain, which is no excess. A domain that the pods may not enter, or that they exclude, can hold none of
// them.
func TestExcess(t *testing.T) {
	all := nodes("a b c")
	all[2].Spec.Taints = []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}}
	all[0].Labels["disk"], all[1].Labels["disk"] = "ssd", "ssd"
	pinned := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: pinned}, spec: {replicas: 4, selector: {matchLabels: {app: pinned}},
  template: {metadata: {labels: {app: pinned}}, spec: {nodeSelector: {disk: ssd}, containers: [{name: c, image: c}]}}}}`
	tolerant := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: tolerant}, spec: {replicas: 3, selector: {matchLabels: {app: tolerant}},
  template: {metadata: {labels: {app: tolerant}}, spec: {tolerations: [{key: gpu, operator: Exists}], containers: [{name: c, image: c}]}}}}`
	state := settled(t, all, map[string]string{"one": "n1", "web": "n1 n1 n1 n2", "pinned": "n1 n1 n2 n2", "tolerant": "n1 n1 n2"},
		app("Deployment", "one", 1, ""), app("Deployment", "web", 4, ""), pinned, tolerant)
	analysis := lost(t, state, blast.Options{Levels: []string{"zone"}})
	if diff := cmp.Diff([]string{"deployment/one"}, analysis.OneReplica); diff != "" {
		t.Errorf("one replica (-want +got):\n%s", diff)
	}
	level := analysis.Levels[0]
	if want := (blast.Radius{Share: 1, Namespace: "default", Workload: "deployment/one", Domains: []string{"a"}, Lost: 1, Replicas: 1}); !cmp.Equal(want, level.Radius) {
		t.Errorf("radius %+v", level.Radius)
	}
	if want := (blast.Radius{Share: 0.75, Namespace: "default", Workload: "deployment/web", Domains: []string{"a"}, Lost: 3, Replicas: 4}); !cmp.Equal(want, level.Replicated) {
		t.Errorf("radius of two or more replicas %+v", level.Replicated)
	}
	// tolerant may go to c, too, and loses 2 of 3 instead of 1; web may not, and loses 3 of 4 instead of 2.
	if want := (blast.Excess{Share: 1. / 3, WorkloadRef: cluster.WorkloadRef{Namespace: "default", Workload: "deployment/tolerant"}, Domains: []string{"a"}, Lost: 2, Even: 1, Replicas: 3}); !cmp.Equal(&want, level.Excess) {
		t.Errorf("excess %+v", level.Excess)
	}
	evens := map[string]int{}
	for _, loss := range level.Failures[0].Workloads {
		evens[loss.Name] = loss.Even
	}
	if diff := cmp.Diff(map[string]int{"one": 1, "web": 2, "pinned": 2, "tolerant": 1}, evens); diff != "" {
		t.Errorf("even spreads (-want +got):\n%s", diff)
	}
}
