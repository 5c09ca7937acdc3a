package plan_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/plan"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/internal/runtest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// world returns a scenario with 4-CPU nodes, that many in each of the zones a, b, …, and the objects.
func world(zones, perZone int, objects ...string) string {
	var names []string
	for i := range zones {
		names = append(names, fmt.Sprintf("{name: %c}", 'a'+i))
	}
	return fmt.Sprintf(`apiVersion: faultline/v1alpha1
kind: Scenario
cluster: [{synthetic: {zones: [%s], nodeGroups: [{name: worker, count: %d, cpu: 4, memory: 16Gi}]}}]
workloads:
- objects:
%s`, strings.Join(names, ", "), perZone, strings.Join(objects, ""))
}

func deployment(name string, replicas int, spec string) string {
	return fmt.Sprintf("  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {replicas: %d, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {%[3]s}}}}\n", name, replicas, spec)
}

func pod(name, spec string) string {
	return fmt.Sprintf("  - {apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {app: %[1]s}}, spec: {%s}}\n", name, spec)
}

// database is a StatefulSet of one pod whose volume is in zone a.
const database = `  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: "", csi: {driver: d, volumeHandle: h}, claimRef: {namespace: default, name: data-db-0}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}}
  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-0}, spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: pv, resources: {requests: {storage: 1Gi}}}}
  - {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 1, serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}], volumes: [{name: data, persistentVolumeClaim: {claimName: data-db-0}}]}}}}
`

// The message says what keeps the database Pending: its volume, and not which plugin refuses which nodes.
func TestLostVolume(t *testing.T) {
	answer, err := plan.Find(t.Context(), runtest.Run(t, world(2, 1, database)), plan.Options{Survive: []string{v1.LabelTopologyZone}, Mode: node.Deleted})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Left) != 1 || answer.Left[0].Message != "its volume pv is in a alone, and no patch moves it: the pod comes back with its nodes" {
		t.Errorf("left: %+v", answer.Left)
	}
}

func asks(cpu string) string {
	return "containers: [{name: c, image: c, resources: {requests: {cpu: " + cpu + "}}}]"
}

func spreadOver(key string) string {
	return ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/" + key + ", whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]"
}

// The answers are computed by hand: the nodes to add per zone, the patches, and the pods that stay stranded.
func TestFind(t *testing.T) {
	zone := v1.LabelTopologyZone
	daemon := "  - {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: {priorityClassName: system-node-critical, " + asks("1500m") + "}}}}\n"
	apart := ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}]}}"
	fewest := strings.Replace(spreadOver("zone"), "maxSkew: 1", "maxSkew: 1, minDomains: 3", 1)
	const (
		inZoneA       = ", nodeSelector: {topology.kubernetes.io/zone: a}"
		requiresZoneA = ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}"
		nearCache     = ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: cache}}}]}}"
	)
	for name, test := range map[string]struct {
		world   string
		survive string
		mode    node.FailureMode
		want    string
	}{
		"room for all": {world(2, 2, deployment("web", 2, asks("3"))), zone, node.Deleted, "at least 0:"},
		"two full zones: each loss needs a node in the other":    {world(2, 1, deployment("web", 2, asks("3"))), zone, node.Deleted, "at least 2: worker a 1, worker b 1"},
		"three full zones: of two new nodes one is outside each": {world(3, 1, deployment("web", 3, asks("3"))), zone, node.Deleted, "at least 2: worker a 1, worker b 1"},
		"the loss of zone a alone":                               {world(3, 1, deployment("web", 3, asks("3"))), zone + "=a", node.Deleted, "at least 1: worker b 1"},
		"any one node of three":                                  {world(3, 1, deployment("web", 3, asks("3"))), v1.LabelHostname, node.Deleted, "at least 1: worker a 1"},
		// A node has 4 CPU, of which the agent takes 1500m: one pod of 2 fits. Without the agent two would.
		"DaemonSets' pods come first": {world(2, 2, daemon, deployment("web", 4, asks("2"))), zone, node.Deleted, "at least 4: worker a 2, worker b 2"},
		// 2 pods in each of three zones. After the loss of zone a its domain counts with 0 pods, so b and c may have 1 each.
		"the failed zone counts as an empty one": {world(3, 2, deployment("web", 6, asks("1")+spreadOver("zone"))), zone + "=a", node.Unreachable, "at least 0: patch default/deployment/web: nodeTaintsPolicy: Honor in the spread over topology.kubernetes.io/zone"},
		// Deleted nodes leave no such domain.
		"a deleted zone counts for nothing": {world(3, 2, deployment("web", 6, asks("1")+spreadOver("zone"))), zone + "=a", node.Deleted, "at least 0:"},
		// One of 3 pods per zone, and no rollout puts a second one into a zone while an old pod is there: it has to stop one first.
		"three pods that no two zones take": {world(3, 1, deployment("web", 3, asks("1")+apart)), zone, node.Deleted,
			"at least 0: patch default/deployment/web: make the required anti-affinity over topology.kubernetes.io/zone preferred, and let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 1"},
		// 3 pods on 3 nodes of their own need a fourth node: no rule becomes soft if a node helps.
		"pods that nodes keep apart": {world(3, 1, deployment("web", 3, asks("1")+strings.ReplaceAll(apart, "topology.kubernetes.io/zone", "kubernetes.io/hostname"))), zone + "=a", node.Deleted, "at least 1: worker b 1"},
		// Two zones are fewer than three, so that each may have 1 pod. Honor changes nothing, since no node of zone a is there.
		"fewer zones than minDomains": {world(3, 1, deployment("web", 3, asks("1")+fewest)), zone + "=a", node.Deleted, "at least 0: patch default/deployment/web: no minDomains in the spread over topology.kubernetes.io/zone"},
		// Here zone a counts, as an empty one; without it there are two zones, which are fewer than three. Neither change frees the pod alone.
		"minDomains and an empty zone": {world(3, 1, deployment("web", 3, asks("1")+fewest)), zone + "=a", node.Unreachable,
			"at least 0: patch default/deployment/web: nodeTaintsPolicy: Honor in the spread over topology.kubernetes.io/zone, and no minDomains in the spread over topology.kubernetes.io/zone"},
		"a node selector names the lost zone":      {world(2, 1, deployment("web", 2, asks("1")+inZoneA)), zone, node.Deleted, "at least 0: patch default/deployment/web: make topology.kubernetes.io/zone in (a) a preferred node affinity"},
		"a required node affinity names it":        {world(2, 1, deployment("web", 2, asks("1")+requiresZoneA)), zone, node.Deleted, "at least 0: patch default/deployment/web: make topology.kubernetes.io/zone in (a) a preferred node affinity"},
		"pods that were only in the lost zone":     {world(2, 1, pod("cache", asks("1")+inZoneA), deployment("web", 2, asks("1")+nearCache)), zone, node.Deleted, "at least 0: patch default/deployment/web: make the required affinity over topology.kubernetes.io/zone preferred"},
		"pods that come back by a patch of theirs": {world(2, 1, deployment("cache", 1, asks("1")+inZoneA), deployment("web", 2, asks("1")+nearCache)), zone, node.Deleted, "at least 0: patch default/deployment/cache: make topology.kubernetes.io/zone in (a) a preferred node affinity"},
		"a node selector names a node of the lost zone": {world(2, 1, deployment("web", 1, asks("1")+", nodeSelector: {kubernetes.io/hostname: a-worker-1}")), zone, node.Deleted,
			"at least 0: patch default/deployment/web: make kubernetes.io/hostname in (a-worker-1) a preferred node affinity"},
		// Each node has room for one pod, so that no rollout can start one before it stops one.
		"a patch frees the pod, and it needs room": {world(3, 1, deployment("web", 3, asks("3")+spreadOver("zone"))), zone + "=a", node.Unreachable, "at least 0: worker b 1, patch default/deployment/web: nodeTaintsPolicy: Honor in the spread over topology.kubernetes.io/zone, and let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 1"},
		// 4 pods are Pending already, and come first: they take 4 new nodes, and the fifth is for the pod of zone a.
		"pods that wait today come first": {world(2, 1, deployment("web", 2, asks("3")), deployment("batch", 4, asks("3"))), zone + "=a", node.Deleted, "at least 1: worker b 5"},
		"a volume in the lost zone":       {world(2, 1, database), zone, node.Deleted, "at least 0: left default/statefulset/db 1 of a"},
	} {
		t.Run(name, func(t *testing.T) {
			base := runtest.Run(t, test.world)
			answer, err := plan.Find(t.Context(), base, plan.Options{Survive: []string{test.survive}, Mode: test.mode})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, describe(answer)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func describe(answer *plan.Answer) string {
	var parts []string
	for _, a := range answer.Add {
		parts = append(parts, fmt.Sprintf("%s %s %d", a.Group, a.Zone, a.Nodes))
	}
	for _, c := range answer.Changes {
		parts = append(parts, fmt.Sprintf("patch %s/%s: %s", c.Namespace, c.Workload, c.Change))
	}
	for _, l := range answer.Left {
		parts = append(parts, fmt.Sprintf("left %s/%s %d of %s", l.Namespace, l.Workload, l.Pods, l.Domain))
	}
	return strings.TrimSpace(fmt.Sprintf("at least %d: %s", answer.AtLeast, strings.Join(parts, ", ")))
}

// A run of the scenario with the plan's steps and then the loss of a zone proves the plan: as many pods of each Deployment run as before,
// less those that the plan reports as left. Without the plan, a loss strands as many pods as the plan says, and with fewer nodes than its
// lower bound some loss strands a pod.
func TestPlansHold(t *testing.T) {
	plans, lefts := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		mode := []node.FailureMode{node.Deleted, node.Unreachable}[seed%2]
		text := generated(r)
		base := runtest.Run(t, text)
		answer, err := plan.Find(t.Context(), base, plan.Options{Survive: []string{v1.LabelTopologyZone}, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		if answer.AtLeast > answer.CountNewNodes() && len(answer.Left) == 0 {
			t.Errorf("seed %d: %d nodes do, and at least %d are needed", seed, answer.CountNewNodes(), answer.AtLeast)
		}
		before := running(base.State())
		if answer.CountNewNodes() > 0 {
			plans++
		}
		for _, domain := range []string{"a", "b", "c"} {
			fails := scenario.Step{Name: "fails", Fail: &scenario.Fail{Nodes: scenario.Nodes{Selector: v1.LabelTopologyZone + "=" + domain}, Mode: string(mode)}}
			left := map[string]int{}
			for _, l := range answer.Left {
				if l.Domain == domain {
					left[l.Workload] = l.Pods
					lefts++
				}
			}
			short := countMissing(before, runToLastState(t, base.Scenario.AppendQuestion(append(answer.Steps, fails)...)))
			if diff := cmp.Diff(left, short); diff != "" {
				t.Errorf("seed %d, %s of zone %s after the plan (-said +run):\n%s\n%s\n%s", seed, mode, domain, diff, describe(answer), text)
			}
			now := 0
			for _, l := range answer.Losses {
				if l.Domain == domain {
					now = l.Stranded
				}
			}
			sum := 0
			for _, n := range countMissing(before, runToLastState(t, base.Scenario.AppendQuestion(fails))) {
				sum += n
			}
			if now != sum {
				t.Errorf("seed %d, %s: the loss of zone %s strands %d, the plan says %d, of\n%s", seed, mode, domain, sum, now, text)
			}
		}
	}
	if plans < 15 || lefts < 5 {
		t.Errorf("%d plans add nodes, %d pods are left: too few to test anything", plans, lefts)
	}
}

func runToLastState(t *testing.T, s *scenario.Scenario) *cluster.State {
	t.Helper()
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result.State()
}

// running counts the pods of each workload that have a node and are not being deleted.
func running(state *cluster.State) map[string]int {
	owner, n := state.Owners(), map[string]int{}
	for _, pod := range state.Pods {
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && owner(pod).Kind == "Deployment" {
			n[owner(pod).String()]++
		}
	}
	return n
}

// countMissing returns how many pods of each workload no longer run.
func countMissing(before map[string]int, state *cluster.State) map[string]int {
	now, fewer := running(state), map[string]int{}
	for owner, n := range before {
		if n > now[owner] {
			fewer[owner] = n - now[owner]
		}
	}
	return fewer
}

// generated returns a cluster of three zones with Deployments of all kinds, some of which have Pending pods already, and an agent on each
// node.
func generated(r *rand.Rand) string {
	objects := []string{
		"  - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}\n",
		"  - {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: {priorityClassName: system-node-critical, tolerations: [{operator: Exists}], " + asks("250m") + "}}}}\n",
	}
	for i := range 2 + r.IntN(4) {
		name := fmt.Sprintf("w%d", i)
		spec := asks([]string{"500m", "1", "1500m", "2", "3"}[r.IntN(5)])
		switch r.IntN(6) {
		case 0:
			spec += strings.ReplaceAll(spreadOver("zone"), "app: web", "app: "+name)
		case 1:
			spec += ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: " + name + "}}}]}}"
		case 2:
			spec += ", priorityClassName: high"
		case 3:
			spec += ", nodeSelector: {special: 'true'}, tolerations: [{key: special, operator: Exists}]"
		}
		objects = append(objects, deployment(name, 1+r.IntN(7), spec))
	}
	return strings.Replace(world(3, 1+r.IntN(2), objects...), "memory: 16Gi}]",
		fmt.Sprintf("memory: 16Gi}, {name: special, count: %d, cpu: 4, memory: 16Gi, labels: {special: 'true'}, taints: [{key: special, effect: NoSchedule}]}]", 1+r.IntN(2)), 1)
}
