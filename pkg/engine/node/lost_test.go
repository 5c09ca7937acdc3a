package node

import (
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// Four of eight nodes down are no disruption, but four of six are: excluded nodes do not count for their zone.
func TestExcludedNodesDoNotCount(t *testing.T) {
	s := nodesOf(map[string]int{"a": 8, "b": 1})
	if got, _ := tainted(t, loseNodes(t, s, "a", 4)); got != "a-1 0, a-2 10, a-3 20, a-4 30" {
		t.Errorf("four of eight: %s", got)
	}
	for _, node := range s.Nodes[6:8] {
		node.Labels[excludeDisruption] = ""
	}
	if got, _ := tainted(t, loseNodes(t, s, "a", 4)); got != "a-1 0" {
		t.Errorf("four of six: %s", got)
	}
}

// A slow zone does not delay another: zone a taints a node every 100 s, and zone b every 10 s.
func TestZonesGoOnEachAtTheirRate(t *testing.T) {
	s := loseNodes(t, nodesOf(map[string]int{"a": 51, "b": 6}), "a", 29)
	if got, _ := tainted(t, loseNodes(t, s, "b", 3)); got != slow(29)+", b-1 0, b-2 10, b-3 20" {
		t.Errorf("tainted %s", got)
	}
}

// When several nodes of a zone go down together, one of them is tainted at once. It may be any of them.
func TestOneNodeOfAZoneIsTaintedAtATime(t *testing.T) {
	for seed := range uint64(20) {
		s := new(Controllers).Reconcile(loseNodes(t, nodesOf(map[string]int{"a": 9, "b": 1}), "a", 4), rand.New(rand.NewPCG(seed, 0)))
		count := 0
		for _, node := range s.Nodes {
			if isTainted(node, v1.TaintEffectNoExecute) {
				count++
			}
		}
		if count != 1 {
			t.Errorf("seed %d: %d nodes are tainted, want 1", seed, count)
		}
	}
}

// When a node is back, its pod is ready again, but not a pod that was deleted meanwhile.
func TestATerminatingPodIsNotReadyAgain(t *testing.T) {
	s := nodesOf(map[string]int{"a": 2})
	for _, name := range []string{"stays", "ends"} {
		s = s.With(cluster.BindPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}, "a-1", s.Now.Time))
	}
	s = loseNodes(t, s, "a", 1)
	s = admission.Terminate(s, "", s.Pods[1])
	s, err := Restore(s, "a-1")
	if err != nil {
		t.Fatal(err)
	}
	if !podutil.IsPodReady(s.Pods[0]) || podutil.IsPodReady(s.Pods[1]) {
		t.Errorf("ready: the pod that stays %v, the one that ends %v; want true and false", podutil.IsPodReady(s.Pods[0]), podutil.IsPodReady(s.Pods[1]))
	}
}

// If two pods end after 5 and 9 s, the clock advances to the first end, regardless of their order.
func TestTheNextEndIsTheFirst(t *testing.T) {
	for _, seconds := range [][]int{{5, 9}, {9, 5}} {
		s := nodesOf(map[string]int{"a": 1})
		for i, after := range seconds {
			pod := cluster.BindPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i)), Namespace: "default"}}, "a-1", s.Now.Time)
			end := metav1.NewTime(s.Now.Add(time.Duration(after) * time.Second))
			pod.DeletionTimestamp = &end
			s = s.With(pod)
		}
		if at := new(Controllers).Next(s); at.Sub(s.Now.Time) != 5*time.Second {
			t.Errorf("ends after %v s: the clock goes on by %v, want 5 s", seconds, at.Sub(s.Now.Time))
		}
	}
}
