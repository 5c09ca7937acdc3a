package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/cluster"
)

// near requires a pod of the app on the same node.
func near(app string) *v1.Affinity {
	return &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart(app, hostname)}}}
}

// A pod that requires the database on its node comes before the database, so no node fits. The database goes to the first worker, and the
// pod, which is retried when the queue is empty, goes there, too.
func TestARefusedPodIsTriedAgain(t *testing.T) {
	_, early := replicas("early", 1, near("db"))
	early[0].OwnerReferences = nil // a refusal of its own
	set, db := replicas("db", 1, nil)
	result := place(t, Ties{}, walkthrough(), set, []*v1.Pod{early[0], db[0]})
	if diff := cmp.Diff(map[string]string{"db-0": "w1", "early-0": "w1"}, outcome(result)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The refusal of a pod holds for the next pod of its ReplicaSet until something changes. Here the database is placed between the two, so
// the second pod is tried, and then the first.
func TestARefusalEndsWithTheNextPlacement(t *testing.T) {
	set, web := replicas("web", 2, near("db"))
	_, db := replicas("db", 1, nil)
	result := place(t, Ties{}, walkthrough(), set, []*v1.Pod{web[0], db[0], web[1]})
	if diff := cmp.Diff(map[string]string{"db-0": "w1", "web-0": "w1", "web-1": "w1"}, outcome(result)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var order []string
	for _, placed := range result.Placed {
		order = append(order, placed.Pod.Name)
	}
	if diff := cmp.Diff([]string{"db-0", "web-1", "web-0"}, order); diff != "" {
		t.Errorf("order of the placements (-want +got):\n%s", diff)
	}
}

// A pod of 9 CPUs fits on no worker of 8. A node of 16 joins, and the same engine places the same pod there: a refusal on one cluster does
// not hold for the next.
func TestARefusalDoesNotOutliveItsCluster(t *testing.T) {
	set, web := replicas("web", 1, nil)
	request(web[0], "9")
	small := walkthrough().With(set, web[0])
	large := node("large", nil)
	large.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("16"), v1.ResourcePods: resource.MustParse("110")}
	engine := newEngine(t, Ties{})
	for _, test := range []struct {
		state *cluster.State
		want  string
	}{{small, "pending "}, {small.With(large), "large"}} {
		result, err := engine.Place(t.Context(), test.state, web)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"web-0": test.want}, outcome(result)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
