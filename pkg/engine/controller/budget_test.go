package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
)

func budget(name, spec string) string {
	return fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %s}
spec: {%s, selector: {matchLabels: {app: web}}}
`, name, spec)
}

func TestBudgetArithmetic(t *testing.T) {
	tests := []struct {
		name, spec                          string
		replicas, placed                    int
		expected, desired, healthy, allowed int32
	}{
		{"a number needs no scale", "minAvailable: 3", 5, 5, 5, 3, 5, 2},
		{"a percentage is of the scale, rounded up", "minAvailable: 50%", 5, 5, 5, 3, 5, 2},
		{"pending pods are not healthy", "minAvailable: 3", 5, 4, 5, 3, 4, 1},
		{"never less than none", "minAvailable: 9", 5, 5, 5, 9, 5, 0},
		{"maxUnavailable", "maxUnavailable: 1", 5, 5, 5, 4, 5, 1},
		{"maxUnavailable is spent by pending pods", "maxUnavailable: 1", 5, 4, 5, 4, 4, 0},
		{"a percentage of maxUnavailable rounds up", "maxUnavailable: 30%", 5, 5, 5, 3, 5, 2},
		{"maxUnavailable of all", "maxUnavailable: 100%", 5, 5, 5, 0, 5, 5},
	}
	kinds := map[string]string{"Deployment": "", "ReplicaSet": "", "StatefulSet": "  podManagementPolicy: Parallel\n"}
	for kind, more := range kinds {
		for _, test := range tests {
			t.Run(kind+" "+test.name, func(t *testing.T) {
				w := newWorld(t, test.placed, onePerNode)
				w.apply(workload(kind, "web", test.replicas, "a", more) + "---" + budget("web", test.spec))
				w.checkBudget(test.expected, test.desired, test.healthy, test.allowed)
			})
		}
	}
}

func (w *world) checkBudget(expected, desired, healthy, allowed int32) {
	w.t.Helper()
	s := w.state.PodDisruptionBudgets[0].Status
	w.check("expected, desired, healthy, allowed",
		[]int32{s.ExpectedPods, s.DesiredHealthy, s.CurrentHealthy, s.DisruptionsAllowed}, []int32{expected, desired, healthy, allowed})
}

func TestBudgetOfSeveralControllers(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(deployment("web", 3, "a", "") + "---" + statefulSet(2, "a", "") + `---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all}
spec: {maxUnavailable: 50%, selector: {matchExpressions: [{key: app, operator: In, values: [web, db]}]}}
`)
	w.checkBudget(5, 2, 5, 3) // 50% of 5 may be unavailable, rounded up to 3
}

func TestBudgetCountsTheScaleOfTheDeployment(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(deployment("web", 10, "a", rollingStrategy("3", "2")) + "---" + budget("web", "maxUnavailable: 30%"))
	w.checkBudget(10, 7, 10, 3)
	w.place = func(*cluster.State, *v1.Pod) string { return "" }
	w.apply(deployment("web", 10, "b", rollingStrategy("3", "2")))
	w.check("sizes", sizes(w.state), "8+5")
	w.checkBudget(10, 7, 8, 1) // neither 8 nor 13 are expected
}

func TestBudgetOfAKindWithoutScaleAllowsNothing(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(job("Job", "") + "---" + `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: sum}
spec: {maxUnavailable: 1, selector: {matchLabels: {job-name: sum}}}
`)
	status := w.state.PodDisruptionBudgets[0].Status
	w.check("allowed", status.DisruptionsAllowed, int32(0))
	w.check("reason", status.Conditions[0].Reason, policyv1.SyncFailedReason)
	w.check("message", status.Conditions[0].Message, "jobs.batch does not implement the scale subresource")
}

func TestEvict(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(deployment("web", 3, "a", "") + "---" + budget("web", "maxUnavailable: 1"))
	next, err := node.Evict(w.state, w.state.Pods[0])
	if err != nil {
		t.Fatal(err)
	}
	w.check("pods", len(next.Pods), 2)
	_, err = node.Evict(next, next.Pods[0])
	if !errors.Is(err, node.ErrBudget) {
		t.Errorf("second eviction before the first is made good: %v", err)
	}
	const want = "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 healthy pods and has 3 currently"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("have %v\nwant …%s", err, want)
	}
	w.state = next
	w.settle()
	if _, err := node.Evict(w.state, w.state.Pods[0]); err != nil {
		t.Errorf("after the first is made good: %v", err)
	}

	w.apply(budget("other", "minAvailable: 1"))
	if _, err := node.Evict(w.state, w.state.Pods[0]); !errors.Is(err, node.ErrManyBudgets) {
		t.Errorf("two budgets: %v", err)
	}
}

func TestEvictUnhealthyPod(t *testing.T) {
	tests := []struct {
		name, policy string
		healthy      int32
		allowed      bool
	}{
		{"budget met", "IfHealthyBudget", 2, true},
		{"budget not met", "IfHealthyBudget", 1, false},
		{"always", "AlwaysAllow", 1, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1, placeAnywhere)
			w.apply(deployment("web", 3, "a", "") + "---" + budget("web", "minAvailable: 2, unhealthyPodEvictionPolicy: "+test.policy))
			var objs []cluster.Object
			for _, pod := range w.state.Pods[test.healthy:] {
				objs = append(objs, cluster.WithCondition(pod, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: w.state.Now}))
			}
			w.state = w.state.With(objs...)
			w.settle()
			_, err := node.Evict(w.state, w.state.Pods[2])
			w.check("allowed", err == nil, test.allowed)
		})
	}
}

func TestEvictPendingPodNeedsNoBudget(t *testing.T) {
	w := newWorld(t, 1, func(*cluster.State, *v1.Pod) string { return "" })
	w.apply(deployment("web", 1, "a", "") + "---" + budget("web", "minAvailable: 1"))
	if _, err := node.Evict(w.state, w.state.Pods[0]); err != nil {
		t.Error(err)
	}
}
