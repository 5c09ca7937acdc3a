package controller

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

func replicaSet(replicas int) string { return workload("ReplicaSet", "web", replicas, "a", "") }

// One of four pods is Pending; it is deleted first. If a Deployment owns the ReplicaSet, the next is a pod that shares its node with
// another: the newer of the two on n1. Without an owner it is the newest pod.
func TestScaleDownOrder(t *testing.T) {
	for name, test := range map[string]struct {
		manifest func(replicas int) string
		seats    string
		want     []string // with three, two and one
	}{
		"of a Deployment":            {func(n int) string { return deployment("web", n, "a", "") }, "n1 n1 n2 -", []string{"n1 n1 n2", "n1 n2", "n1"}},
		"a ReplicaSet":               {replicaSet, "n1 n1 n2 -", []string{"n1 n1 n2", "n1 n1", "n1"}},
		"a ReplicationController":    {replicationController, "n1 n1 n2 -", []string{"n1 n1 n2", "n1 n1", "n1"}},
		"the newest shares its node": {replicaSet, "n2 n1 n1 -", []string{"n2 n1 n1", "n2 n1", "n2"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, nil)
			seats := strings.Fields(test.seats)
			w.place = func(_ *cluster.State, pod *v1.Pod) string {
				if len(seats) == 0 {
					return ""
				}
				seat := strings.TrimPrefix(seats[0], "-")
				seats = seats[1:]
				return seat
			}
			w.apply(test.manifest(4))
			for i, want := range test.want {
				w.apply(test.manifest(3 - i))
				w.waitOut()
				var on []string
				for _, pod := range w.state.Pods {
					on = append(on, pod.Spec.NodeName)
				}
				w.check(fmt.Sprint(3-i), strings.Join(on, " "), want)
			}
		})
	}
}

func TestScaleDownChoosesAmongEqualsBySeed(t *testing.T) {
	left := map[string]bool{}
	for seed := range uint64(20) {
		w := newWorld(t, 1, placeAnywhere)
		w.controllers.Rand = rand.New(rand.NewPCG(seed, 0))
		w.apply(replicaSet(3))
		w.apply(replicaSet(1))
		left[w.state.Pods[0].Name] = true
	}
	w := newWorld(t, 1, placeAnywhere)
	w.apply(replicaSet(3))
	oldest := w.state.Pods[0].Name
	w.apply(replicaSet(1))
	w.check("without a seed the oldest is left", w.state.Pods[0].Name, oldest)
	if len(left) != 3 {
		t.Errorf("20 seeds left %d of 3 pods: %v", len(left), left)
	}
}

func TestReplicaSetAdoptsAndReleases(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(`
apiVersion: v1
kind: Pod
metadata: {name: bare, labels: {app: web}}
spec: {containers: [{name: c, image: a}]}
`)
	w.apply(replicaSet(2))
	rs := w.state.ReplicaSets[0]
	if len(w.state.Pods) != 2 || w.state.Pods[0].Name != "bare" || !metav1.IsControlledBy(w.state.Pods[0], rs) {
		t.Errorf("want the bare pod adopted and one more made, have %v", w.pods())
	}
	w.check("status", fmt.Sprint(rs.Status.Replicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas, rs.Status.FullyLabeledReplicas), "2 2 2 2")

	relabelled := w.state.Pods[0].DeepCopy()
	relabelled.Labels = map[string]string{"app": "other"}
	w.state = w.state.With(relabelled)
	w.settle()
	if len(w.state.Pods) != 3 || len(w.state.Pods[0].OwnerReferences) != 0 {
		t.Errorf("want the relabelled pod released and replaced, have %v", w.pods())
	}
}

func TestPodsOfATemplateShareIt(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(replicaSet(2))
	a, b := w.state.Pods[0], w.state.Pods[1]
	if &a.Spec.Containers[0] != &b.Spec.Containers[0] {
		t.Error("two pods of a template hold two copies of its containers")
	}
	if a.Name == b.Name || a.UID == b.UID {
		t.Errorf("two pods are one: %s %s", a.Name, a.UID)
	}
}
