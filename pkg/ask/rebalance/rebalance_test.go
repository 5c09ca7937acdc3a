package rebalance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/rebalance"
	"github.com/faultline/faultline/pkg/internal/runtest"
	"github.com/faultline/faultline/pkg/simulation"
)

// All four pods are in zone a, since zone b was closed when they were placed.
const shopYAML = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic:
    zones: [{name: a}, {name: b}]
    nodeGroups: [{name: worker, count: 2, cpu: 4, memory: 16Gi}]
- objects:
  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: zonal}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}
steps:
- {name: closed, cordon: {names: [b-worker-1, b-worker-2]}}
- name: web
  apply:
    objects:
    - apiVersion: apps/v1
      kind: KIND
      metadata: {name: web}
      spec:
        replicas: 4
        selector: {matchLabels: {app: web}}
        FIELDS
        template:
          metadata: {labels: {app: web}}
          spec:
            RULES
            containers: [{name: c, image: i, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
    BUDGET
- {name: open, uncordon: {names: [b-worker-1, b-worker-2]}}
`

func runScenario(t *testing.T, kind, fields, rules, budget string) *simulation.Result {
	t.Helper()
	text := strings.NewReplacer("KIND", kind, "FIELDS", fields, "RULES", rules, "BUDGET", budget).Replace(shopYAML)
	return runtest.Run(t, text)
}

// summary returns the numbers that the tests derive by hand.
func summary(a *rebalance.Answer) string {
	text := fmt.Sprintf("%d to %d in %d moves", a.Before, a.After, len(a.Moves))
	for _, m := range a.Moves {
		text += fmt.Sprintf(", %s to %s", m.From[:1], m.To[:1])
	}
	if a.Fewest {
		text += ", the fewest"
	}
	if a.More {
		text += ", or more"
	}
	for _, s := range a.Stuck {
		text += fmt.Sprintf("; %d of %s: %s", s.Pods, s.Workload, s.Why)
	}
	return text
}

func TestRun(t *testing.T) {
	const soft = `topologySpreadConstraints: [{topologyKey: topology.kubernetes.io/zone, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]`
	const prefers = `affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}]}}`
	const toB = `affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [b]}]}}]}}`
	const budget = `- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 4, selector: {matchLabels: {app: web}}}}`
	const claims = `volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], storageClassName: zonal, resources: {requests: {storage: 1Gi}}}}]`
	for _, test := range []struct {
		name, kind, fields, rules, budget string
		goal                              rebalance.Goal
		moves                             int
		want                              string
	}{
		// Two of four pods are beyond an even spread. The scheduler spreads pods over zones by itself, so each next pod lands in b.
		{"skew", "Deployment", "", "", "", rebalance.Skew, 10, "2 to 0 in 2 moves, a to b, a to b, the fewest"},
		{"radius", "Deployment", "", "", "", rebalance.Radius, 10, "2 to 0 in 2 moves, a to b, a to b, the fewest"},
		{"one move", "Deployment", "", "", "", rebalance.Skew, 1, "2 to 1 in 1 moves, a to b, the fewest, or more"},
		// A domain may exceed another by one pod: three pods of (4, 0) are too many, one pod of (3, 1), and none of (2, 2).
		{"soft", "Deployment", "", soft, "", rebalance.Soft, 10, "3 to 0 in 2 moves, a to b, a to b"},
		// Each of two nodes has one pod too many; four nodes can have one pod each.
		{"soft anti-affinity", "Deployment", "", prefers, "", rebalance.Soft, 10, "2 to 0 in 2 moves, a to b, a to b"},
		{"soft node affinity", "Deployment", "", toB, "", rebalance.Soft, 3, "4 to 1 in 3 moves, a to b, a to b, a to b, or more"},
		{"no soft rule", "Deployment", "", "", "", rebalance.Soft, 10, "0 to 0 in 0 moves"},
		// Only zone a takes the pods, so the spread is as even as it can be.
		{"one zone", "Deployment", "", `nodeSelector: {topology.kubernetes.io/zone: a}`, "", rebalance.Skew, 10, "0 to 0 in 0 moves, the fewest"},
		{"a budget", "Deployment", "", "", budget, rebalance.Skew, 10,
			"2 to 2 in 0 moves, the fewest; 2 of deployment/web: Pod default/NAME: Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 4 healthy pods and has 4 currently"},
		// Volumes bind the pods to zone a.
		{"volumes", "StatefulSet", claims, "", "", rebalance.Skew, 10, "2 to 2 in 0 moves, the fewest; 2 of statefulset/web: the next pod lands on a-worker-1 again"},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := runScenario(t, test.kind, test.fields, test.rules, test.budget)
			w, err := simulation.NewCluster(result.Scenario)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			a, err := rebalance.Run(t.Context(), w, result, rebalance.Options{Goal: test.goal, Level: "topology.kubernetes.io/zone", Moves: test.moves})
			if err != nil {
				t.Fatal(err)
			}
			got := summary(a)
			for _, pod := range a.End.Pods {
				got = strings.ReplaceAll(got, "default/"+pod.Name+":", "default/NAME:")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(a.Steps) > 0 {
				runtest.CheckSteps(t, result, a.Steps, a.End)
			}
		})
	}
}

// The StatefulSet has three pods too many in zone a, the Deployment two. Volumes hold the pods of the StatefulSet, so the first deletion that is
// tried is one of the Deployment.
func TestPodsThatVolumesHoldAreTriedLast(t *testing.T) {
	const set = `- apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: db}
      spec:
        replicas: 6
        selector: {matchLabels: {app: db}}
        volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], storageClassName: zonal, resources: {requests: {storage: 1Gi}}}}]
        template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m, memory: 1Gi}}}]}}`
	result := runScenario(t, "Deployment", "", "", set)
	w, err := simulation.NewCluster(result.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a, err := rebalance.Run(t.Context(), w, result, rebalance.Options{Goal: rebalance.Skew, Level: "topology.kubernetes.io/zone", Moves: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a.Tried != 1 || len(a.Moves) != 1 {
		t.Errorf("tried %d deletions for %d moves, want 1 for 1: %+v", a.Tried, len(a.Moves), a.Moves)
	}
}
