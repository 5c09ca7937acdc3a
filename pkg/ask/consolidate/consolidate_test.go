package consolidate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/consolidate"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/internal/runtest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Four nodes of 4 cores, two in each zone, and four pods of the deployment, one on each.
const shop = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic:
    zones: [{name: a}, {name: b}]
    nodeGroups: [{name: worker, count: 2, cpu: 4, memory: 16Gi, pricePerHour: 0.5, labels: {pool: general}}]
- objects:
  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: zonal}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}
workloads:
- objects:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 4
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers: [{name: c, image: i, resources: {requests: {cpu: "CPU", memory: 1Gi}}}]
  BESIDES
`

func run(t *testing.T, cpu, besides string) *simulation.Result {
	t.Helper()
	text := strings.NewReplacer("CPU", cpu, "BESIDES", besides).Replace(shop)
	return runtest.Run(t, text)
}

func answer(t *testing.T, result *simulation.Result, opts consolidate.Options) *consolidate.Answer {
	t.Helper()
	w, err := simulation.NewCluster(result.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a, err := consolidate.Run(t.Context(), w, result, opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// summary is what the tests derive by hand.
func summary(a *consolidate.Answer) string {
	saved := 0.0
	if a.Saved != nil {
		saved = *a.Saved
	}
	var why []string
	for _, s := range a.Stays {
		why = append(why, string(s.Why))
	}
	slices.Sort(why)
	return fmt.Sprintf("%d of %d go, %d evicted, %.1f saved, stay: %s", len(a.Removed), a.Nodes, a.Evicted, saved, strings.Join(why, ", "))
}

func TestRun(t *testing.T) {
	budget := func(spec string) string {
		return fmt.Sprintf(`- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {%s, selector: {matchLabels: {app: web}}}}`, spec)
	}
	const bare = `- {apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {nodeName: a-worker-1, containers: [{name: c, image: i}]}}`
	const low = `- {apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {priority: -10, nodeName: a-worker-1, containers: [{name: c, image: i, resources: {requests: {cpu: 2500m}}}]}}`
	const volume = `- {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 1, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [b]}]}}]}}, containers: [{name: c, image: i}]}},
      volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], storageClassName: zonal, resources: {requests: {storage: 1Gi}}}}]}}`
	for _, test := range []struct {
		name, cpu, besides string
		opts               consolidate.Options
		want               string
	}{
		// One node has room for four pods of a core. The first two go with a pod each, and the third with two, since the scheduler fills the emptier
		// of two.
		{"room", "1", "", consolidate.Options{}, "3 of 4 go, 4 evicted, 1.5 saved, stay: "},
		// Two nodes have room for four pods of two cores.
		{"no room", "2", "", consolidate.Options{}, "2 of 4 go, 2 evicted, 1.0 saved, stay: room, room"},
		{"a budget", "1", budget("minAvailable: 4"), consolidate.Options{}, "0 of 4 go, 0 evicted, 0.0 saved, stay: budget, budget, budget, budget"},
		// A budget that lets one go at a time only takes time.
		{"a budget that lets go", "1", budget("maxUnavailable: 1"), consolidate.Options{}, "3 of 4 go, 4 evicted, 1.5 saved, stay: "},
		{"a pod", "1", bare, consolidate.Options{}, "3 of 4 go, 4 evicted, 1.5 saved, stay: pod"},
		{"a pod by force", "1", bare, consolidate.Options{Drain: scenario.Drain{Force: true}, Among: []string{"a-worker-1"}}, "1 of 4 go, 2 evicted, 0.5 saved, stay: "},
		// Two nodes go with a pod each, and the third would with three. Room for these is on the last node only in the place of the pod there, which has a
		// lower priority and no controller.
		{"a pod that nothing replaces", "1", low, consolidate.Options{}, "2 of 4 go, 2 evicted, 1.0 saved, stay: pod, preemption"},
		// The same pods as in the first case leave the same nodes, which stay, cordoned.
		{"free", "1", "", consolidate.Options{Free: true}, "3 of 4 go, 4 evicted, 0.0 saved, stay: rules"},
		// The pod of the first node goes to the second, which then has two.
		{"free in a group", "1", "", consolidate.Options{Free: true, Among: []string{"a-worker-1", "a-worker-2"}}, "2 of 2 go, 3 evicted, 0.0 saved, stay: "},
		{"kept", "1", "", consolidate.Options{Keep: []string{"a-worker-1", "b-worker-1"}}, "2 of 4 go, 2 evicted, 1.0 saved, stay: kept, kept"},
		// The pod of db prefers zone b, and is bound to it since it has a volume there, so that one node of b stays. It moves once, with the pod of
		// web on the first node of b.
		{"a volume", "1", volume, consolidate.Options{}, "3 of 4 go, 5 evicted, 1.5 saved, stay: "},
		{"a volume of one zone", "1", volume, consolidate.Options{Among: []string{"b-worker-1", "b-worker-2"}}, "1 of 4 go, 2 evicted, 0.5 saved, stay: volume"},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := run(t, test.cpu, test.besides)
			a := answer(t, result, test.opts)
			if diff := cmp.Diff(test.want, summary(a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again(t, result, a)
		})
	}
}

// again runs the scenario with the steps of the answer: every pod must be where it is in the answer, and none may wait.
func again(t *testing.T, result *simulation.Result, a *consolidate.Answer) {
	t.Helper()
	if len(a.Steps) == 0 {
		return
	}
	if last := runtest.CheckSteps(t, result, a.Steps, a.End); len(last.Pending) > 0 {
		t.Errorf("%d pods are Pending in the end", len(last.Pending))
	}
}

// Without a node in one of the zones the loss of the other strands all four pods. With pods of a core one node in each zone is enough; with two
// cores none can go, since half of the nodes must take all.
func TestSurvive(t *testing.T) {
	for cpu, want := range map[string]int{"1": 1, "2": 0} {
		result := run(t, cpu, "")
		a := answer(t, result, consolidate.Options{Survive: []string{"topology.kubernetes.io/zone"}, Mode: node.Unreachable})
		if len(a.Removed) < want || len(a.Removed) > 2*want || a.Stranded[0] != (consolidate.Stranded{Level: "topology.kubernetes.io/zone"}) {
			t.Errorf("with pods of %s cores %s, and %+v", cpu, summary(a), a.Stranded)
		}
		if !slices.ContainsFunc(a.Stays, func(s consolidate.Stay) bool {
			return s.Why == consolidate.ByFailure && strings.Contains(s.Message, "pods have no node, pod/web-")
		}) {
			t.Errorf("with pods of %s cores nothing stays because of a failure: %+v", cpu, a.Stays)
		}
		opts := blast.Options{Levels: a.Survive, Simultaneous: 1, Mode: node.Unreachable}
		analysis, err := blast.Lost(a.End, opts)
		if err == nil {
			err = blast.Recover(t.Context(), a.End, result.Scenario, analysis, opts, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, failure := range analysis.Levels[0].Failures {
			if n := len(failure.Recovery.Stranded); n > 0 {
				t.Errorf("with pods of %s cores the loss of %s strands %d pods", cpu, failure.Domains[0], n)
			}
		}
		again(t, result, a)
	}
}

// The zones a and b have a pod of web each. A third waits as long as zone c counts for its spread, so that the budget allows no eviction from a1, the
// least used node. When the node of zone c has gone, whose one pod fits elsewhere, the third runs, and a1 can go, too: its pod fits on a2.
func TestTriesAgainWhatStays(t *testing.T) {
	const text = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- objects:
  - {apiVersion: v1, kind: Node, metadata: {name: a1, labels: {topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: 8, memory: 8Gi, pods: 10}}}
  - {apiVersion: v1, kind: Node, metadata: {name: a2, labels: {topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: 8, memory: 8Gi, pods: 10}}}
  - {apiVersion: v1, kind: Node, metadata: {name: b, labels: {topology.kubernetes.io/zone: b}}, status: {allocatable: {cpu: 8, memory: 8Gi, pods: 10}}}
  - {apiVersion: v1, kind: Node, metadata: {name: c, labels: {topology.kubernetes.io/zone: c}}, spec: {taints: [{key: dedicated, value: batch, effect: NoSchedule}]}, status: {allocatable: {cpu: 2, memory: 8Gi, pods: 10}}}
workloads:
- objects:
  - {apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {nodeName: a2, containers: [{name: c, image: i, resources: {requests: {cpu: 5}}}]}}
  - {apiVersion: v1, kind: Pod, metadata: {name: batch, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: batch, uid: batch, controller: true}], labels: {app: batch}}, spec: {nodeName: c, containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}
  - {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: batch, uid: batch}, spec: {replicas: 1, selector: {matchLabels: {app: batch}}, template: {metadata: {labels: {app: batch}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}}}
  - {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 3
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]
          containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]
`
	result := runtest.Run(t, text)
	if n := len(result.Steps[0].Pending); n != 1 {
		t.Fatalf("%d pods are Pending, want the third of web", n)
	}
	a := answer(t, result, consolidate.Options{Among: []string{"a1", "a2", "c"}})
	var removed []string
	for _, r := range a.Removed {
		removed = append(removed, r.Node)
	}
	if diff := cmp.Diff([]string{"c", "a1"}, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if len(a.Stays) != 1 || a.Stays[0].Node != "a2" || a.Stays[0].Why != consolidate.ByPod {
		t.Errorf("stays %+v, want a2 for its bare pod", a.Stays)
	}
}
