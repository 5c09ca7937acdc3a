package peak_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/ask/peak"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/internal/claimtest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

const zone = "topology.kubernetes.io/zone"

// nodes returns a scenario of that many nodes of 4 CPU in each of the zones a, b and c, with further fields of the nodes.
func nodes(perZone int, further string) string {
	text := "apiVersion: faultline/v1alpha1\nkind: Scenario\nmetadata: {name: w}\ncluster:\n- objects:\n"
	for _, z := range []string{"a", "b", "c"} {
		for i := range perZone {
			text += fmt.Sprintf("  - {apiVersion: v1, kind: Node, metadata: {name: %[1]s%[2]d, creationTimestamp: '2024-01-01T00:00:00Z', labels: {kubernetes.io/hostname: %[1]s%[2]d, node-pool: general, topology.kubernetes.io/zone: %[1]s}}, status: {allocatable: {cpu: 4, memory: 64Gi, pods: 110%[3]s}}}\n", z, i+1, further)
		}
	}
	return text + "workloads:\n- objects:\n"
}

// workload returns a Deployment whose pods request 1 CPU, and an autoscaler unless most is 0.
func workload(name string, replicas, most int, spec string) string {
	text := fmt.Sprintf("  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {replicas: %d, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {%[3]scontainers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}\n", name, replicas, spec)
	if most > 0 {
		text += fmt.Sprintf("  - {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: %s}, spec: {minReplicas: 1, maxReplicas: %d, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}}}\n", name, most)
	}
	return text
}

// csiNodes returns a class of volumes, of which two can be attached to each of the nodes.
func csiNodes(nodes ...string) string {
	text := "  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: csi.example.com, volumeBindingMode: WaitForFirstConsumer}\n"
	for _, n := range nodes {
		text += fmt.Sprintf("  - {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: %s}, spec: {drivers: [{name: csi.example.com, nodeID: %[1]s, allocatable: {count: 2}}]}}\n", n)
	}
	return text
}

// withVolumes returns a StatefulSet whose pods request 1 CPU and a volume of the class, with an autoscaler.
func withVolumes(name string, replicas, most int) string {
	return strings.NewReplacer("kind: Deployment", "kind: StatefulSet", fmt.Sprintf("spec: {replicas: %d,", replicas),
		fmt.Sprintf("spec: {volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}], serviceName: s, replicas: %d,", replicas)).
		Replace(workload(name, replicas, most, ""))
}

// cronJob returns a CronJob whose Jobs have this many pods of 1 CPU.
func cronJob(name, schedule string, pods int) string {
	return fmt.Sprintf("  - {apiVersion: batch/v1, kind: CronJob, metadata: {name: %s}, spec: {schedule: '%s', jobTemplate: {spec: {parallelism: %d, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}}}\n", name, schedule, pods)
}

func ask(t *testing.T, text string, opts peak.Options) (*peak.Answer, *scenario.Scenario, *simulation.Result) {
	t.Helper()
	s, err := claimtest.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	base, err := simulation.Run(t.Context(), capacity.Base(s, ""), simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opts.Mode = node.Unreachable
	answer, err := peak.Find(t.Context(), base, opts)
	if err != nil {
		t.Fatal(err)
	}
	return answer, s, base
}

// brief returns the answer in lines.
func brief(a *peak.Answer) string {
	lines := []string{fmt.Sprintf("%d of %d short, %d at most", a.Short, a.Pods, a.Most())}
	if a.Safe != nil {
		lines = append(lines, fmt.Sprintf("safe %v", a.Safe.Share))
	}
	for _, c := range a.Ceilings {
		lines = append(lines, fmt.Sprintf("%s: %s: %d", c.Kind, c.What, c.Pods))
	}
	for _, s := range a.Starved {
		line := fmt.Sprintf("%s %d, %d, lost %d", s.Workload, s.Short, s.AfterLoss, s.Lost)
		for _, by := range s.By {
			line += fmt.Sprintf(", %s %d (preempts: %v)", by.Workload, by.Pods, s.Preempts)
		}
		lines = append(lines, line)
	}
	for _, g := range a.Groups {
		lines = append(lines, fmt.Sprintf("group %s %d, %d, %d of %d, needed %d", g.Name, g.Now, g.Peak, g.AfterLoss, g.Max, g.Needed))
	}
	for _, r := range a.Remedies {
		beaten := ""
		if r.Beaten {
			beaten = ", beaten"
		}
		lines = append(lines, fmt.Sprintf("%s: %s: %d, %d%s", r.Kind, r.What, r.Short, r.AfterLoss, beaten))
	}
	return strings.Join(lines, "\n")
}

// Each ceiling binds in a world that is worked out by hand, and every claim about it holds.
func TestCeilings(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		opts             peak.Options
	}{
		// Three nodes of 4 CPU take 12 pods of 1. The way is from 3 to 15, so 9 more is 75 %; at 76 % there are 13.
		{name: "no groups", text: nodes(1, "") + workload("web", 3, 15, ""), want: `3 of 15 short, 3 at most
safe 0.75
nodes: cpu: 3
deployment/web 3, 0, lost 0
nodes: 1 more node (1 general a): 0, 0
larger: nodes of twice the size in place of 1 general a: 0, 0
lower: 75 % of the growth of 1 HorizontalPodAutoscaler: 0, 0
buffer: a CapacityBuffer for 15 further pods of deployment/web, for which an autoscaler adds 2 nodes: 0, 0, beaten
balloon: 15 balloon pods of the size of those of deployment/web, for which an autoscaler adds 2 nodes: 0, 0, beaten`},
		// If a zone of three is lost, two nodes take 8 of 9 pods. Of two more nodes in two zones, each loss leaves one.
		{name: "a loss", text: nodes(1, "") + workload("web", 3, 9, ""), opts: peak.Options{Survive: []string{zone}}, want: `0 of 9 short, 1 at most
safe 0.83
nodes: cpu: 1
deployment/web 0, 1, lost 0
nodes: 2 more nodes (1 general a and 1 general b): 0, 0
larger: nodes of twice the size in place of 1 general a and 1 general b: 0, 0
buffer: a CapacityBuffer for 14 further pods of deployment/web, for which an autoscaler adds 2 nodes: 0, 0
balloon: 14 balloon pods of the size of those of deployment/web, for which an autoscaler adds 2 nodes: 0, 0
lower: 83 % of the growth of 1 HorizontalPodAutoscaler: 0, 0`},
		// The group may have 4 nodes, which take 16 of 18 pods; 5 nodes take 20.
		{name: "a group's maximum", text: nodes(1, "") + workload("web", 3, 18, "") + "autoscaler: {nodeGroups: [{name: general, from: node-pool=general, max: 4}]}\n", want: `2 of 18 short, 2 at most
safe 0.86
groupMaximum: the maximum of general of 4: 2
deployment/web 2, 0, lost 0
group general 3, 4, 0 of 4, needed 5
raise: a higher maximum of general from 4 to 5: 0, 0
lower: 86 % of the growth of 1 HorizontalPodAutoscaler: 0, 0
larger: nodes of twice the size in general: 0, 0, beaten`},
		{name: "the number of all nodes", text: nodes(1, "") + workload("web", 3, 18, "") + "autoscaler: {nodeGroups: [{name: general, from: node-pool=general, max: 9}], flags: {max-nodes-total: \"4\"}}\n", want: `2 of 18 short, 2 at most
safe 0.86
nodesTotal: max-nodes-total 4 of the autoscaler: 2
deployment/web 2, 0, lost 0
group general 3, 4, 0 of 9, needed 5
raise: no max-nodes-total: 0, 0
lower: 86 % of the growth of 1 HorizontalPodAutoscaler: 0, 0
larger: nodes of twice the size in general: 0, 0, beaten`},
		// The quota allows 5 pods of 8; no node helps.
		{name: "a quota", text: nodes(1, "") + workload("web", 3, 8, "") + "  - {apiVersion: v1, kind: ResourceQuota, metadata: {name: compute}, spec: {hard: {pods: 5}}}\n", want: `3 of 8 short, 3 at most
safe 0.4
quota: ResourceQuota default/compute: 3
deployment/web 3, 0, lost 0
lower: 40 % of the growth of 1 HorizontalPodAutoscaler: 0, 0`},
		// Each node takes 3 pods, so three nodes take 9 of 10.
		{name: "pods per node", text: strings.ReplaceAll(nodes(1, ""), "pods: 110", "pods: 3") + workload("web", 3, 10, ""), want: `1 of 10 short, 1 at most
safe 0.85
podsPerNode: the number of pods that a node takes: 1
deployment/web 1, 0, lost 0
nodes: 1 more node (1 general a): 0, 0
larger: nodes of twice the size in place of 1 general a: 0, 0
buffer: a CapacityBuffer for 8 further pods of deployment/web, for which an autoscaler adds 1 node: 0, 0
balloon: 8 balloon pods of the size of those of deployment/web, for which an autoscaler adds 1 node: 0, 0
lower: 85 % of the growth of 1 HorizontalPodAutoscaler: 0, 0`},
		// Each pod takes an address of its node, and a node has three, so three nodes take 9 of 10.
		{name: "addresses", text: nodes(1, ", example.com/address: 3") + strings.Replace(workload("web", 3, 10, ""), "requests: {cpu: 1}", "requests: {cpu: 1}, limits: {example.com/address: 1}", 1), want: `1 of 10 short, 1 at most
safe 0.85
nodes: example.com/address: 1
deployment/web 1, 0, lost 0
nodes: 1 more node (1 general a): 0, 0
buffer: a CapacityBuffer for 8 further pods of deployment/web, for which an autoscaler adds 1 node: 0, 0
balloon: 8 balloon pods of the size of those of deployment/web, for which an autoscaler adds 1 node: 0, 0
lower: 85 % of the growth of 1 HorizontalPodAutoscaler: 0, 0`},
		// Two volumes of the driver can be attached to a node, so three nodes take 6 of 9 pods, each with a volume. The seventh is Pending, and its
		// StatefulSet has not made the others. A new node takes two, like the others, so two more are needed. Balloons have no volumes: 9 of them,
		// on the 9 CPU that are free, ask for no node, and 18 for three.
		{name: "volumes per node", text: strings.Replace(nodes(1, ""), "workloads:\n", csiNodes("a1", "b1", "c1")+"workloads:\n", 1) + withVolumes("db", 3, 9), want: `3 of 9 short, 3 at most
safe 0.5
volumesPerNode: the number of volumes of csi.example.com that a node takes: 3
statefulset/db 3, 0, lost 0
nodes: 2 more nodes (1 general a and 1 general b): 0, 0
buffer: a CapacityBuffer for 9 further pods of statefulset/db, for which an autoscaler adds 2 nodes: 0, 0
lower: 50 % of the growth of 1 HorizontalPodAutoscaler: 0, 0
balloon: 18 balloon pods of the size of those of statefulset/db, for which an autoscaler adds 3 nodes: 0, 0, beaten`},
		// The pods may be only in zone a, whose node takes 4 of 6.
		{name: "a zone", text: nodes(1, "") + workload("web", 2, 6, "nodeSelector: {topology.kubernetes.io/zone: a}, "), want: `2 of 6 short, 2 at most
safe 0.5
nodes: cpu: 2
deployment/web 2, 0, lost 0
nodes: 1 more node (1 general a): 0, 0
larger: nodes of twice the size in place of 1 general a: 0, 0
buffer: a CapacityBuffer for 6 further pods of deployment/web, for which an autoscaler adds 1 node: 0, 0
balloon: 6 balloon pods of the size of those of deployment/web, for which an autoscaler adds 1 node: 0, 0
lower: 50 % of the growth of 1 HorizontalPodAutoscaler: 0, 0`},
		// A node takes one pod of 3 CPU, and one of twice the size takes two: 3 of 7 have a node, and with three larger nodes 6.
		{name: "nodes that are too small", text: nodes(1, "") + strings.Replace(workload("web", 3, 7, ""), "cpu: 1", "cpu: 3", 1), want: `4 of 7 short, 4 at most
safe 0
nodes: cpu: 4
deployment/web 4, 0, lost 0
nodes: 4 more nodes (2 general a, 1 general b and 1 general c): 0, 0
larger: nodes of twice the size in place of 1 general a, 1 general b and 1 general c: 1, 0
buffer: a CapacityBuffer for 8 further pods of deployment/web, for which an autoscaler adds 8 nodes: 0, 0, beaten
balloon: 8 balloon pods of the size of those of deployment/web, for which an autoscaler adds 8 nodes: 0, 0, beaten`},
		// The CronJob of 03:00 has 3 pods, and the one of 04:00 has 2: 12 places for 10 pods of web and 3.
		{name: "CronJobs", text: nodes(1, "") + workload("web", 3, 10, "") + cronJob("three", "0 3 * * *", 3) + cronJob("two", "0 4 * * *", 2), opts: peak.Options{Peak: scenario.Peak{CronJobs: []string{"busiest"}}}, want: `1 of 13 short, 1 at most
safe 0.85
nodes: cpu: 1
cronjob/three 1, 0, lost 0
nodes: 1 more node (1 general a): 0, 0
larger: nodes of twice the size in place of 1 general a: 0, 0
lower: 85 % of the growth of 1 HorizontalPodAutoscaler: 0, 0`},
		{name: "all CronJobs", text: nodes(1, "") + workload("web", 3, 10, "") + cronJob("three", "0 3 * * *", 3) + cronJob("two", "0 4 * * *", 2), opts: peak.Options{Peak: scenario.Peak{CronJobs: []string{"all"}}}, want: `3 of 15 short, 3 at most
safe 0.57
nodes: cpu: 3
cronjob/two 2, 0, lost 0
cronjob/three 1, 0, lost 0
nodes: 1 more node (1 general a): 0, 0
larger: nodes of twice the size in place of 1 general a: 0, 0
lower: 57 % of the growth of 1 HorizontalPodAutoscaler: 0, 0`},
		// The rule allows one pod for each zone, so three of 5.
		{name: "a rule over zones", text: nodes(2, "") + workload("web", 1, 5, "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "+zone+", labelSelector: {matchLabels: {app: web}}}]}}, "), want: `2 of 5 short, 2 at most
safe 0.5
rule: anti-affinity over topology.kubernetes.io/zone: 2
deployment/web 2, 0, lost 0
rule: for deployment/web: make the required anti-affinity over topology.kubernetes.io/zone preferred: 0, 0
lower: 50 % of the growth of 1 HorizontalPodAutoscaler: 0, 0, beaten`},
		// 12 places. The 6 new pods of web have a higher priority and preempt the 3 of batch that are in the way: 3 + 6 + 6 are 15. With a
		// priority above, batch keeps its pods, and web lacks 3.
		{name: "priorities", text: nodes(1, "") + "  - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}\n" +
			workload("batch", 6, 0, "") + workload("web", 3, 9, "priorityClassName: high, "), want: `3 of 15 short, 3 at most
safe 0.5
nodes: cpu: 3
deployment/batch 3, 0, lost 3, deployment/web 3 (preempts: true)
nodes: 1 more node (1 general a): 0, 0
larger: nodes of twice the size in place of 1 general a: 0, 0
lower: 50 % of the growth of 1 HorizontalPodAutoscaler: 0, 0
priority: priority class survives-peak for deployment/batch: 3, 0`},
		// A StatefulSet makes one pod after the other: the first one that waits is Pending, and the others do not exist.
		{name: "a StatefulSet", text: nodes(1, "") + strings.NewReplacer("kind: Deployment", "kind: StatefulSet", "spec: {replicas: 3,", "spec: {serviceName: s, replicas: 3,").Replace(workload("db", 3, 15, "")), want: `3 of 15 short, 3 at most
safe 0.75
nodes: cpu: 3
statefulset/db 3, 0, lost 0
nodes: 1 more node (1 general a): 0, 0
larger: nodes of twice the size in place of 1 general a: 0, 0
buffer: a CapacityBuffer for 15 further pods of statefulset/db, for which an autoscaler adds 1 node: 0, 0
lower: 75 % of the growth of 1 HorizontalPodAutoscaler: 0, 0
balloon: 15 balloon pods of the size of those of statefulset/db, for which an autoscaler adds 2 nodes: 0, 0, beaten`},
		{name: "a share of the way", text: nodes(1, "") + workload("web", 3, 15, ""), opts: peak.Options{Peak: scenario.Peak{Share: share(0.5)}}, want: "0 of 9 short, 0 at most\nsafe 0.75"},
		// 12 places for 8 and 6 pods. The maximum of web can be lowered to 7, and the other has none.
		{name: "given replicas", text: nodes(1, "") + workload("web", 3, 15, "") + workload("other", 1, 0, ""), opts: peak.Options{Peak: scenario.Peak{Replicas: map[string]int32{"deployment/web": 8, "default/deployment/other": 6}}}, want: `2 of 14 short, 2 at most
safe 0.8
nodes: cpu: 2
deployment/other 2, 0, lost 0
nodes: 1 more node (1 general a): 0, 0
larger: nodes of twice the size in place of 1 general a: 0, 0
lower: 80 % of the growth of 1 HorizontalPodAutoscaler: 1, 0
buffer: a CapacityBuffer for 14 further pods of deployment/other, for which an autoscaler adds 2 nodes: 0, 0, beaten
balloon: 14 balloon pods of the size of those of deployment/other, for which an autoscaler adds 2 nodes: 0, 0, beaten`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer, s, _ := ask(t, tt.text, tt.opts)
			if diff := cmp.Diff(tt.want, brief(answer)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			proved, err := expect.Prove(t.Context(), s, answer.Claims(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range proved {
				if !p.Holds {
					t.Errorf("%s does not hold: %s", p.Says, p.Failed)
				}
			}
		})
	}
}

func share(of float64) *float64 { return &of }

// The autoscalers that scale nothing are named with the reason.
func TestIdle(t *testing.T) {
	text := nodes(1, "") + workload("idle", 0, 5, "") + workload("twice", 1, 2, "") +
		"  - {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: again}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: twice}}}\n" +
		"  - {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: gone}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: gone}}}\n" +
		"  - {apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: asleep}, spec: {scaleTargetRef: {name: asleep}, maxReplicaCount: 4}}\n" + workload("asleep", 0, 0, "")
	answer, _, _ := ask(t, text, peak.Options{})
	var got []string
	for _, w := range answer.Workloads {
		got = append(got, fmt.Sprintf("%s %d to %d", w.Workload, w.Now, w.Max))
	}
	for _, i := range answer.Idle {
		got = append(got, i.Name+": "+i.Why)
	}
	want := []string{"deployment/twice 1 to 2", "deployment/asleep 0 to 4", "idle: deployment/idle has 0 replicas, which switches it off", "again: deployment/twice has another autoscaler, too", "gone: the input has no deployment/gone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// In generated worlds, the peak leaves as many pods without a node as a run whose steps scale the same workloads in one moment.
func TestAsRun(t *testing.T) {
	grew, short := 0, 0
	for seed := uint64(1); seed <= 40; seed++ {
		text := claimtest.World(seed)
		answer, s, base := ask(t, text, peak.Options{})
		step := scenario.Step{Name: "peak", Peak: &scenario.Peak{}}
		result, err := simulation.Run(t.Context(), s.AppendStep(step), simulation.Options{})
		if err != nil {
			t.Fatal(err)
		}
		newly := 0
		for _, s := range cluster.Shortfalls(base.State().PodsByWorkload(), result.State()) {
			newly += len(s.Pending)
		}
		if got := answer.Short - answer.NotCreated; got != newly {
			t.Errorf("seed %d: %d pods are Pending, and a run has %d\n%s", seed, got, newly, text)
		}
		if len(answer.Workloads) > 0 {
			grew++
		}
		if newly > 0 {
			short++
		}
	}
	if grew < 5 || short < 3 {
		t.Errorf("only %d worlds grow, and %d of them lack room", grew, short)
	}
}
