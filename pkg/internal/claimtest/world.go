// Package claimtest makes small worlds from seeds, asks every question about them, and runs every claim of the answers.
package claimtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// World returns a scenario of 3 to 9 nodes and 5 to 40 pods as YAML. Each seed has a few of these shapes: nodes that are nearly full,
// taints, zonal volumes, budgets, DaemonSets, pods that are Pending or Terminating at the start, priorities, pods with anti-affinity,
// controllers that the input lacks, autoscalers of pods. Every seventh seed has a gang.
func World(seed uint64) string {
	w := &worldMaker{Rand: rand.New(rand.NewPCG(seed, 50))}
	w.addNodes()
	for i := range 2 + w.IntN(5) {
		w.addWorkload(i)
	}
	if w.chance(30) {
		w.appendObject(`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: {%scontainers: [{name: c, image: i, resources: {requests: {cpu: %dm}}}]}}}}`,
			w.either(50, "tolerations: [{operator: Exists}], ", ""), 100+100*w.IntN(4))
	}
	if w.chance(15) {
		w.addUnknownOwner()
	}
	if w.chance(15) {
		w.appendObject(`{apiVersion: v1, kind: Pod, metadata: {name: bare, labels: {app: bare}}, spec: {nodeName: %s, containers: [{name: c, image: i, resources: {requests: {cpu: 300m}}}]}}`, w.nodeNames[w.IntN(len(w.nodeNames))])
	}
	if w.chance(25) {
		w.steps = append(w.steps, fmt.Sprintf("- {name: cordoned, cordon: {names: [%s]}}", w.nodeNames[w.IntN(len(w.nodeNames))]))
	}
	if w.chance(15) { // the pods of the node become Terminating, and others Pending
		w.steps = append(w.steps, fmt.Sprintf("- {name: died, fail: {names: [%s], mode: unreachable}}", w.nodeNames[w.IntN(len(w.nodeNames))]))
	}
	gates := ""
	if seed%7 == 3 {
		gates = "scheduler: {featureGates: {GenericWorkload: true}}\n"
		w.addGang()
	}
	out := fmt.Sprintf(`apiVersion: faultline/v1alpha1
kind: Scenario
metadata: {name: seed-%d}
terminationSeconds: %d
%scluster:
- objects:
  - %s
workloads:
- objects:
  - %s
`, seed, w.IntN(3), gates, strings.Join(w.cluster, "\n  - "), strings.Join(w.objects, "\n  - "))
	if len(w.steps) > 0 {
		out += "steps:\n" + strings.Join(w.steps, "\n") + "\n"
	}
	return out
}

type worldMaker struct {
	*rand.Rand
	cluster, objects, steps []string
	nodeNames               []string // nodeNames of the nodes
	zones                   int
	priorities              bool
}

func (w *worldMaker) chance(percent int) bool { return w.IntN(100) < percent }

func (w *worldMaker) either(percent int, one, other string) string {
	if w.chance(percent) {
		return one
	}
	return other
}

func (w *worldMaker) appendObject(format string, args ...any) {
	w.objects = append(w.objects, fmt.Sprintf(format, args...))
}

func (w *worldMaker) addNodes() {
	w.zones = 1 + w.IntN(3)
	cores := 2 + w.IntN(5)
	for i := range 3 + w.IntN(7) {
		name := fmt.Sprintf("node-%d", i)
		w.nodeNames = append(w.nodeNames, name)
		taints := w.either(12, "spec: {taints: [{key: dedicated, value: batch, effect: NoSchedule}]}, ", "")
		cpu := cores
		if w.chance(20) {
			cpu *= 2
		}
		pool := w.either(70, "general", "other")
		w.cluster = append(w.cluster, fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %[1]s, topology.kubernetes.io/zone: zone-%[2]d, pool: %[3]s}}, %[4]sstatus: {allocatable: {cpu: "%[5]d", memory: %[6]dGi, pods: "%[7]d"}, conditions: [{type: Ready, status: "True"}]}}`,
			name, i%w.zones, pool, taints, cpu, 4+4*w.IntN(4), 4+w.IntN(30)))
	}
	w.cluster = append(w.cluster, `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: zonal}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}`)
	if w.priorities = w.chance(30); w.priorities {
		w.cluster = append(w.cluster, `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}`,
			`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 10}`)
	}
}

func (w *worldMaker) addWorkload(i int) {
	name := fmt.Sprintf("w%d", i)
	namespace := w.either(80, "default", "shop")
	replicas := 1 + w.IntN(6)
	kind := w.either(70, "Deployment", "StatefulSet")
	var spec []string
	if w.priorities && w.chance(60) {
		spec = append(spec, "priorityClassName: "+w.either(40, "high", "low"))
	}
	if w.chance(15) {
		spec = append(spec, "tolerations: [{key: dedicated, operator: Exists}]")
	}
	if w.chance(10) {
		spec = append(spec, "nodeSelector: {pool: "+w.either(60, "general", "other")+"}")
	}
	key := w.either(50, "topology.kubernetes.io/zone", "kubernetes.io/hostname")
	switch w.IntN(8) {
	case 0:
		spec = append(spec, fmt.Sprintf("topologySpreadConstraints: [{maxSkew: %d, topologyKey: %s, whenUnsatisfiable: %s, labelSelector: {matchLabels: {app: %s}}}]",
			1+w.IntN(2), key, w.either(60, "DoNotSchedule", "ScheduleAnyway"), name))
	case 1:
		spec = append(spec, fmt.Sprintf("affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: %s, labelSelector: {matchLabels: {app: %s}}}]}}", key, name))
	case 2:
		spec = append(spec, fmt.Sprintf("affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: %s, labelSelector: {matchLabels: {app: %s}}}}]}}", key, name))
	}
	spec = append(spec, fmt.Sprintf("terminationGracePeriodSeconds: %d", w.IntN(3)*w.IntN(20)),
		fmt.Sprintf("containers: [{name: c, image: i, resources: {requests: {cpu: %dm, memory: %dMi}}}]", 100+100*w.IntN(18), 128*(1+w.IntN(16))))
	more := ""
	if kind == "StatefulSet" {
		if w.chance(50) {
			more += ", volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], storageClassName: zonal, resources: {requests: {storage: 1Gi}}}}]"
		}
		if w.chance(40) {
			more += ", podManagementPolicy: Parallel"
		}
	}
	w.appendObject(`{apiVersion: apps/v1, kind: %s, metadata: {name: %s, namespace: %s}, spec: {replicas: %d, selector: {matchLabels: {app: %[2]s}}, template: {metadata: {labels: {app: %[2]s}}, spec: {%[5]s}}%[6]s}}`,
		kind, name, namespace, replicas, strings.Join(spec, ", "), more)
	if w.chance(35) {
		w.appendObject(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s, namespace: %s}, spec: {%s, selector: {matchLabels: {app: %[1]s}}}}`,
			name, namespace, w.either(50, fmt.Sprintf("maxUnavailable: %d", w.IntN(2)), fmt.Sprintf("minAvailable: %d", max(0, replicas-w.IntN(2)))))
	}
	if kind == "Deployment" && w.chance(10) {
		w.appendObject(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: %s, namespace: %s}, spec: {minReplicas: %d, maxReplicas: %d, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}}}`,
			name, namespace, 1+w.IntN(replicas), replicas+w.IntN(4))
	}
}

// addGang adds a pod group and a controller with its pods, which get nodes together, or none.
func (w *worldMaker) addGang() {
	replicas := 2 + w.IntN(4)
	kind := w.either(50, "ReplicaSet", w.either(50, "Deployment", "StatefulSet"))
	policy := w.either(80, fmt.Sprintf("gang: {minCount: %d}", 1+w.IntN(replicas)), "basic: {}")
	w.appendObject(`{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: gang}, spec: {schedulingPolicy: {%s}}}`, policy)
	priority, parallel := "", ""
	if w.priorities {
		priority = "priorityClassName: " + w.either(50, "high", "low") + ", "
	}
	if kind == "StatefulSet" {
		parallel = ", podManagementPolicy: Parallel"
	}
	w.appendObject(`{apiVersion: apps/v1, kind: %s, metadata: {name: gang}, spec: {replicas: %d, selector: {matchLabels: {app: gang}}, template: {metadata: {labels: {app: gang}}, spec: {schedulingGroup: {podGroupName: gang}, %scontainers: [{name: c, image: i, resources: {requests: {cpu: %dm}}}]}}%s}}`,
		kind, replicas, priority, 200+200*w.IntN(8), parallel)
}

// addUnknownOwner adds pods of a controller that the input lacks.
func (w *worldMaker) addUnknownOwner() {
	for i := range 1 + w.IntN(2) {
		w.cluster = append(w.cluster, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: own-%d, labels: {app: own}, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: own, uid: own, controller: true}], resourceVersion: "1"}, spec: {nodeName: %s, containers: [{name: c, image: i, resources: {requests: {cpu: 200m}}}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
			i, w.nodeNames[w.IntN(len(w.nodeNames))]))
	}
}
