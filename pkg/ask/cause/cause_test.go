package cause_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/runtest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
)

// world returns a cluster of w-1 and w-2 with 4 CPU and 8Gi, and db-1 with 8 CPU and the taint dedicated=db, in zones a, b and c; then the
// objects.
func world(objects ...string) string {
	const node = `  - {apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %[1]s, topology.kubernetes.io/zone: %s, disk: %s}}, spec: {%s}, status: {allocatable: {cpu: %s, memory: 8Gi, pods: %d}}}
`
	return "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- objects:\n" +
		fmt.Sprintf(node, "w-1", "a", "hdd", "", "4", 110) + fmt.Sprintf(node, "w-2", "b", "ssd", "", "4", 3) +
		fmt.Sprintf(node, "db-1", "c", "ssd", "taints: [{key: dedicated, value: db, effect: NoSchedule}]", "8", 110) +
		"workloads:\n- objects:\n" + strings.Join(objects, "")
}

// pod returns a bare pod whose label is its name before the dash, on a node unless that is empty.
func pod(name, node, cpu, spec string) string {
	app, _, _ := strings.Cut(name, "-")
	on := ""
	if node != "" {
		on = "nodeName: " + node + ", "
	}
	return fmt.Sprintf("  - {apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {app: %s}}, spec: {%scontainers: [{name: c, image: c, resources: {requests: {cpu: %s}}}]%s}}\n", name, app, on, cpu, spec)
}

// TestCauses compares sentences with what a reader computes from the world by hand.
func TestCauses(t *testing.T) {
	const dedicated = "TaintToleration 1: untolerated taint dedicated=db:NoSchedule on db-1"
	spread := `, topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: new}}%s}]`
	anti := `, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: %s, labelSelector: {matchLabels: {app: %s}}}]}}`
	const high = "  - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}\n"
	for name, test := range map[string]struct {
		objects []string
		want    []string
	}{
		"short of CPU: w-1 has 4 - 1 - 1 = 2 free, w-2 4 - 3 = 1": {
			[]string{pod("a-1", "w-1", "1", ""), pod("a-2", "w-1", "1", ""), pod("b-1", "w-2", "3", ""), pod("new", "", "2500m", "")},
			[]string{"NodeResourcesFit 2: asks 2500m cpu; the most that is free is 2 on w-1 (4 allocatable, 2 requested by 2 pods)", dedicated},
		},
		"too many pods on w-2, which takes 3, and no CPU on w-1": {
			[]string{pod("a-1", "w-1", "4", ""), pod("b-1", "w-2", "1", ""), pod("b-2", "w-2", "1", ""), pod("b-3", "w-2", "1", ""), pod("new", "", "1", "")},
			[]string{"NodeResourcesFit 1: asks 1 cpu; the most that is free is 0 on w-1 (4 allocatable, 4 requested by 1 pod)",
				"NodeResourcesFit 1: w-2 takes 3 pods, and has 3", dedicated},
		},
		"a sidecar and a container ask 2 + 3 = 5 CPU, more than any node that it may use has": {
			[]string{pod("new", "", "3", ", initContainers: [{name: proxy, image: p, restartPolicy: Always, resources: {requests: {cpu: 2}}}]")},
			[]string{"NodeResourcesFit 2: asks 5 cpu (sidecar proxy 2, container c 3), more than w-1 has in all; the most that is free is 4 on w-1 (4 allocatable, 0 requested by 0 pods)", dedicated},
		},
		"most is free in the zone that the volume is not in": {
			[]string{"  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: gp3, csi: {driver: d, volumeHandle: h}, claimRef: {namespace: default, name: data},\n" +
				"     nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}}\n",
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, volumeName: pv, resources: {requests: {storage: 1Gi}}}}\n",
				pod("a-1", "w-1", "3", ""), pod("b-1", "w-2", "2500m", ""), pod("new", "", "2", ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]")},
			[]string{"NodeResourcesFit 2: asks 2 cpu; the most that is free where nothing else refuses it is 1 on w-1 (4 allocatable, 3 requested by 1 pod)", dedicated,
				"VolumeBinding 1, behind others: claim data is bound to volume pv, which only nodes with topology.kubernetes.io/zone=a reach: w-1 (full, Insufficient cpu)"},
		},
		"a request by default": {
			[]string{"  - {apiVersion: v1, kind: LimitRange, metadata: {name: limits}, spec: {limits: [{type: Container, defaultRequest: {cpu: 5}}]}}\n",
				"  - {apiVersion: v1, kind: Pod, metadata: {name: new}, spec: {containers: [{name: c, image: c}]}}\n"},
			[]string{"NodeResourcesFit 2: asks 5 cpu (container c 5 by LimitRange limits), more than w-1 has in all; the most that is free is 4 on w-1 (4 allocatable, 0 requested by 0 pods)", dedicated},
		},
		"a limit and no request": {
			[]string{"  - {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: new}, spec: {replicas: 1, selector: {matchLabels: {app: new}}, template: {metadata: {labels: {app: new}}, spec: {containers: [{name: c, image: c, resources: {limits: {cpu: 5}}}]}}}}\n"},
			[]string{"NodeResourcesFit 2: asks 5 cpu (container c 5, its limit, as it has no request), more than w-1 has in all; the most that is free is 4 on w-1 (4 allocatable, 0 requested by 0 pods)", dedicated},
		},
		"as much as a node has, which keeps 90m for itself": {
			[]string{"  - {apiVersion: v1, kind: Node, metadata: {name: big-1, labels: {disk: nvme}}, status: {capacity: {cpu: 8}, allocatable: {cpu: 7910m, memory: 8Gi, pods: 110}}}\n", pod("new", "", "8", ", nodeSelector: {disk: nvme}")},
			[]string{"NodeAffinity 2: wants disk=nvme; w-1 comes nearest and lacks disk=nvme (it has disk=hdd)",
				"NodeResourcesFit 1: asks 8 cpu, and of the 8 of big-1 only 7910m are for pods; the most that is free is 7910m on big-1 (7910m allocatable, 0 requested by 0 pods)", dedicated},
		},
		"a label with another key": {
			[]string{pod("new", "", "1", ", nodeSelector: {Disk: ssd}")},
			[]string{"NodeAffinity 2: wants Disk=ssd; no node has Disk=ssd (nodes have the label disk); w-1 comes nearest and lacks Disk=ssd", dedicated},
		},
		"an init container asks for most": {
			[]string{pod("new", "", "3", ", initContainers: [{name: migrate, image: p, resources: {requests: {cpu: 6}}}]")},
			[]string{"NodeResourcesFit 2: asks 6 cpu (init container migrate 6), more than w-1 has in all; the most that is free is 4 on w-1 (4 allocatable, 0 requested by 0 pods)", dedicated},
		},
		"zone c has the fewest and its one node is tainted": {
			[]string{pod("new-1", "w-1", "1", ""), pod("new-2", "w-2", "1", ""), pod("new-3", "", "1", fmt.Sprintf(spread, ""))},
			[]string{"PodTopologySpread 2: the spread over topology.kubernetes.io/zone counts a 1, b 1 and c 0; c has the fewest (0), so no zone may have more than 1 (maxSkew 1); " +
				"it takes no pod (db-1: untolerated taint dedicated=db:NoSchedule) and counts, since nodeTaintsPolicy is Ignore", dedicated},
		},
		"two zones where minDomains wants three": {
			[]string{pod("new-1", "w-1", "1", ""), pod("new-2", "w-2", "1", ""), pod("new-3", "", "1", fmt.Sprintf(spread, ", minDomains: 3, nodeTaintsPolicy: Honor"))},
			[]string{"PodTopologySpread 2: the spread over topology.kubernetes.io/zone counts a 1 and b 1; minDomains wants 3 zones and there are 2, so the fewest counts as 0, " +
				"and no zone may have more than 1 (maxSkew)", dedicated},
		},
		"its own anti-affinity": {
			[]string{pod("x-1", "w-1", "1", ""), pod("x-2", "w-2", "1", ""), pod("new", "", "1", fmt.Sprintf(anti, "kubernetes.io/hostname", "x"))},
			[]string{"InterPodAffinity 2: its required anti-affinity over kubernetes.io/hostname keeps it from pods with app=x in namespace default: default/x-1 on w-1 and default/x-2 on w-2", dedicated},
		},
		// Preemption can take x-1 from db-1 only for a pod that gets db-1.
		"a pod of a lower priority on another node of the domain": {
			[]string{high, pod("a-1", "w-1", "4", ", priority: 100"), pod("x-1", "db-1", "1", ""), pod("new", "", "1", ", priorityClassName: high"+fmt.Sprintf(anti, "disk", "x"))},
			[]string{"InterPodAffinity 1: its required anti-affinity over disk keeps it from pods with app=x in namespace default: default/x-1 on db-1 in ssd",
				"NodeResourcesFit 1: asks 1 cpu; the most that is free is 0 on w-1 (4 allocatable, 4 requested by 1 pod)", dedicated,
				"DefaultPreemption 0: nobody makes room for its priority 100: w-2 would take it without default/x-1 on db-1, of a lower priority, but preemption takes pods only from the node that the pod gets"},
		},
		"a spread counts a pod of another workload": {
			[]string{pod("b-1", "w-2", "4", ""), strings.Replace(pod("x-1", "w-1", "1", ""), "app: x", "app: x, tier: shop", 1),
				"  - {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: new}, spec: {replicas: 1, selector: {matchLabels: {app: new}}, template: {metadata: {labels: {app: new, tier: shop}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]" +
					strings.Replace(fmt.Sprintf(spread, ""), "app: new", "tier: shop", 1) + "}}}}\n"},
			[]string{"NodeResourcesFit 1: asks 1 cpu; the most that is free is 0 on w-2 (4 allocatable, 4 requested by 1 pod)",
				"PodTopologySpread 1: the spread over topology.kubernetes.io/zone counts a 1, b 0 and c 0, among them pods of others: 1 of pod/x-1 in a; b and c have the fewest (0), so no zone may have more than 1 (maxSkew 1); " +
					"they take no pod (w-2: full, Insufficient cpu; db-1: untolerated taint dedicated=db:NoSchedule) and count, since nodeTaintsPolicy is Ignore", dedicated},
		},
		"a device plugin that does not tolerate a taint": {
			[]string{"  - {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: nvidia-device-plugin}, spec: {selector: {matchLabels: {app: plugin}}, template: {metadata: {labels: {app: plugin}}, spec: {containers: [{name: c, image: c}]}}}}\n",
				"  - {apiVersion: v1, kind: Pod, metadata: {name: new}, spec: {tolerations: [{key: dedicated, operator: Exists}], containers: [{name: c, image: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}\n"},
			[]string{"NodeResourcesFit 3: asks 1 nvidia.com/gpu; no node that could take it has any; daemonset/nvidia-device-plugin, which reports it, does not run on db-1, whose taint dedicated=db:NoSchedule it does not tolerate"},
		},
		"the anti-affinity of others": {
			[]string{pod("x-1", "w-1", "1", fmt.Sprintf(anti, "topology.kubernetes.io/zone", "new")), pod("x-2", "w-2", "1", fmt.Sprintf(anti, "topology.kubernetes.io/zone", "new")), pod("new", "", "1", "")},
			[]string{"InterPodAffinity 2: the required anti-affinity over topology.kubernetes.io/zone of other pods keeps pods with app=new in namespace default away: default/x-1 on w-1 in a and default/x-2 on w-2 in b", dedicated},
		},
		"an affinity to pods that there are not": {
			[]string{pod("new", "", "1", `, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: cache}}}]}}`)},
			[]string{"InterPodAffinity 2: its required affinity over topology.kubernetes.io/zone wants a pod with app=cache in namespace default, and none runs", dedicated},
		},
		"an affinity to pods of another namespace": {
			[]string{"  - {apiVersion: v1, kind: Namespace, metadata: {name: caches}}\n", strings.Replace(pod("cache-1", "w-1", "1", ""), "metadata: {", "metadata: {namespace: caches, ", 1),
				pod("new", "", "1", `, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: cache}}}]}}`)},
			[]string{"InterPodAffinity 2: its required affinity over kubernetes.io/hostname wants a pod with app=cache in namespace default, and none runs; " +
				"there are some in other namespaces, in which it does not look: caches/cache-1 on w-1", dedicated},
		},
		"a toleration of another value": {
			[]string{pod("a-1", "w-1", "4", ""), pod("new", "", "1", ", nodeSelector: {kubernetes.io/hostname: w-1}, tolerations: [{key: dedicated, value: dbs, effect: NoSchedule}]")},
			[]string{"NodeAffinity 1: wants kubernetes.io/hostname=w-1; w-2 comes nearest and lacks kubernetes.io/hostname=w-1 (it has kubernetes.io/hostname=w-2)",
				"NodeResourcesFit 1: asks 1 cpu; the most that is free is 0 on w-1 (4 allocatable, 4 requested by 1 pod)", dedicated + ", and it tolerates only dedicated=dbs:NoSchedule"},
		},
		"a claim of 2Gi, one volume of 1Gi, and one on the tainted node": {
			[]string{"  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}\n",
				localVolume("small", "1Gi", "w-1"), localVolume("large", "5Gi", "db-1"),
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 2Gi}}}}\n",
				pod("new", "", "1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]")},
			[]string{"VolumeBinding 2: claim data (2Gi, storage class local) is not bound, and the class has no provisioner; 2 volumes of the class are free: " +
				"small has 1Gi and large is on db-1 (untolerated taint dedicated=db:NoSchedule)", dedicated},
		},
		"a value that no node has, and the nearest node": {
			[]string{pod("new", "", "1", `, nodeSelector: {disk: nvme, topology.kubernetes.io/zone: a}`)},
			[]string{"NodeAffinity 2: wants disk=nvme and topology.kubernetes.io/zone=a; no node has disk=nvme (the values there are: hdd and ssd); w-1 comes nearest and lacks only disk=nvme (it has disk=hdd)", dedicated},
		},
		"a host port": {
			[]string{pod("x-1", "w-1", "1", ", hostNetwork: true") /* no port */, strings.Replace(pod("x-2", "w-2", "1", ""), "name: c, image: c", "name: c, image: c, ports: [{containerPort: 80, hostPort: 8080}]", 1),
				strings.Replace(pod("x-3", "w-1", "1", ""), "name: c, image: c", "name: c, image: c, ports: [{containerPort: 80, hostPort: 8080}]", 1),
				strings.Replace(pod("new", "", "1", ""), "name: c, image: c", "name: c, image: c, ports: [{containerPort: 80, hostPort: 8080}]", 1)},
			[]string{"NodePorts 2: host port 8080/TCP is held by default/x-3 on w-1 and default/x-2 on w-2", dedicated},
		},
		"a volume that only the tainted node reaches": {
			[]string{
				"  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], claimRef: {namespace: default, name: data}, csi: {driver: d.example.com, volumeHandle: h}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [c]}]}]}}}}\n",
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: '', volumeName: pv, resources: {requests: {storage: 1Gi}}}}\n",
				pod("new", "", "1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]")},
			[]string{"VolumeBinding 2: claim data is bound to volume pv, which only nodes with topology.kubernetes.io/zone=c reach: db-1 (untolerated taint dedicated=db:NoSchedule)", dedicated},
		},
		"pods of a lower priority, without which w-1 has 4 of the 5 CPU that are asked for": {
			[]string{pod("a-1", "w-1", "1", ""), pod("a-2", "w-2", "1", ", priority: 100"), high, pod("new", "", "5", ", priorityClassName: high, nodeSelector: {kubernetes.io/hostname: w-1}")},
			[]string{"NodeAffinity 1: wants kubernetes.io/hostname=w-1; w-2 comes nearest and lacks kubernetes.io/hostname=w-1 (it has kubernetes.io/hostname=w-2)",
				"NodeResourcesFit 1: asks 5 cpu, more than w-1 has in all; the most that is free is 3 on w-1 (4 allocatable, 1 requested by 1 pod)", dedicated,
				"DefaultPreemption 0: nobody makes room for its priority 100: 2 of 3 refused nodes have no pod of a lower one; w-1 would not take it even without its pods of a lower one (full, Insufficient cpu; at most 4 of 5 cpu would be free)"},
		},
		"a pod of a lower priority that the affinity wants": {
			[]string{pod("cache-1", "w-1", "3", ""), high, pod("new", "", "2", ", priorityClassName: high, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: cache}}}]}}")},
			[]string{"InterPodAffinity 1: its required affinity over kubernetes.io/hostname wants a pod with app=cache in namespace default, and those run elsewhere: default/cache-1 on w-1",
				"NodeResourcesFit 1: asks 2 cpu; the most that is free is 1 on w-1 (4 allocatable, 3 requested by 1 pod)", dedicated,
				"DefaultPreemption 0: nobody makes room for its priority 100: 2 of 3 refused nodes have no pod of a lower one; w-1 would not take it even without its pods of a lower one " +
					"(InterPodAffinity, node(s) didn't match pod affinity rules; its required affinity wants default/cache-1, which would be gone)"},
		},
		"a preemptionPolicy of Never": {
			[]string{pod("a-1", "w-1", "4", ""), strings.Replace(high, "value:", "preemptionPolicy: Never, value:", 1), pod("new", "", "1", ", priorityClassName: high, nodeSelector: {kubernetes.io/hostname: w-1}")},
			[]string{"NodeAffinity 1: wants kubernetes.io/hostname=w-1; w-2 comes nearest and lacks kubernetes.io/hostname=w-1 (it has kubernetes.io/hostname=w-2)",
				"NodeResourcesFit 1: asks 1 cpu; the most that is free is 0 on w-1 (4 allocatable, 4 requested by 1 pod)", dedicated,
				"DefaultPreemption 0: nobody makes room for its priority 100: its preemptionPolicy is Never, by PriorityClass high; 2 of 3 refused nodes have no pod of a lower one"},
		},
		"a resource in the plural, which no node has": {
			[]string{"  - {apiVersion: v1, kind: Node, metadata: {name: gpu-1, labels: {disk: nvme}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110, nvidia.com/gpu: 2}}}\n",
				strings.Replace(pod("new", "", "1", ", nodeSelector: {disk: nvme}"), "requests: {", "limits: {nvidia.com/gpus: 1}, requests: {nvidia.com/gpus: 1, ", 1)},
			[]string{"NodeAffinity 2: wants disk=nvme; w-1 comes nearest and lacks disk=nvme (it has disk=hdd)",
				"NodeResourcesFit 1: asks 1 nvidia.com/gpus; no node that could take it has any, but there is nvidia.com/gpu", dedicated},
		},
		"a resource that goes on where the other ends, and two of the same vendor": {
			[]string{"  - {apiVersion: v1, kind: Node, metadata: {name: gpu-1, labels: {disk: nvme}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110, nvidia.com/gpu.shared: 2, nvidia.com/mig-1g.5gb: 1}}}\n",
				strings.Replace(pod("new", "", "1", ", nodeSelector: {disk: nvme}"), "requests: {", "limits: {nvidia.com/gpu: 1, nvidia.com/mig-2g.10gb: 1}, requests: {nvidia.com/gpu: 1, nvidia.com/mig-2g.10gb: 1, ", 1)},
			[]string{"NodeAffinity 2: wants disk=nvme; w-1 comes nearest and lacks disk=nvme (it has disk=hdd)",
				"NodeResourcesFit 1: asks 1 nvidia.com/gpu; no node that could take it has any, but there is nvidia.com/gpu.shared",
				"NodeResourcesFit 1: asks 1 nvidia.com/mig-2g.10gb; no node that could take it has any, but there is nvidia.com/gpu.shared and nvidia.com/mig-1g.5gb", dedicated},
		},
		"a RuntimeClass that wants a label": {
			[]string{"  - {apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata, scheduling: {nodeSelector: {runtime: kata}}}\n", pod("new", "", "1", ", runtimeClassName: kata, nodeSelector: {disk: hdd}")},
			[]string{"NodeAffinity 2: wants disk=hdd and runtime=kata (RuntimeClass kata wants runtime=kata); no node has runtime=kata; w-1 comes nearest and lacks only runtime=kata", dedicated},
		},
		"a claim for a node that is gone": {
			[]string{"  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3}, provisioner: d.example.com, volumeBindingMode: WaitForFirstConsumer}\n",
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, annotations: {volume.kubernetes.io/selected-node: w-9}}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, resources: {requests: {storage: 2Gi}}}}\n",
				pod("new", "", "1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]")},
			[]string{"VolumeBinding 2: claim data (2Gi, storage class gp3) is not bound, and by its annotation volume.kubernetes.io/selected-node its volume is for node w-9 alone, which does not exist", dedicated},
		},
		"an affinity that misses the labels of the pod itself": {
			[]string{pod("new", "", "1", `, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: new, tier: back}}}]}}`)},
			[]string{"InterPodAffinity 2: its required affinity over topology.kubernetes.io/zone wants a pod with app=new,tier=back in namespace default, and none runs, nor is the pod itself one: it has no tier", dedicated},
		},
		"zone b has the fewest, and the pod does not select its node": {
			[]string{pod("new-1", "w-1", "1", ""), pod("new-2", "", "1", ", nodeSelector: {disk: hdd}"+fmt.Sprintf(spread, ", nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor"))},
			[]string{"NodeAffinity 1: wants disk=hdd; w-2 comes nearest and lacks disk=hdd (it has disk=ssd)",
				"PodTopologySpread 1: the spread over topology.kubernetes.io/zone counts a 1 and b 0; b has the fewest (0), so no zone may have more than 1 (maxSkew 1); " +
					"it takes no pod (w-2: no match for the pod's node selector or affinity) and counts, since nodeAffinityPolicy is Ignore", dedicated},
		},
		"a volume that is kept for a claim which is gone, and one that is too small": {
			[]string{"  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}\n",
				strings.Replace(localVolume("kept", "2Gi", "w-1"), "storageClassName", "claimRef: {namespace: default, name: old, uid: u-1}, storageClassName", 1),
				strings.Replace(localVolume("kept-small", "1Gi", "w-1"), "storageClassName", "claimRef: {namespace: default, name: older, uid: u-2}, storageClassName", 1),
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 2Gi}}}}\n",
				pod("new", "", "1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]")},
			[]string{"VolumeBinding 2: claim data (2Gi, storage class local) is not bound, and the class has no provisioner; 0 volumes of the class are free; " +
				"kept is kept for claim old, which is gone", dedicated},
		},
		"a volume for a claim of another namespace, and one of another access mode": {
			[]string{"  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: theirs}, spec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteMany], claimRef: {namespace: prod, name: data}, nfs: {server: s, path: /}}}\n",
				"  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: single}, spec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], nfs: {server: s, path: /}}}\n",
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteMany], storageClassName: '', resources: {requests: {storage: 2Gi}}}}\n",
				pod("new", "", "1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]")},
			[]string{"VolumeBinding 0: claim data (2Gi, no storage class) is not bound; 1 volume of the class is free: single is ReadWriteOnce, and the claim asks for ReadWriteMany; " +
				"theirs is kept for claim data of namespace prod, which does not exist"},
		},
		"two volumes of which no node reaches both": {
			[]string{strings.Replace(localVolume("pv-1", "2Gi", "w-1"), "storageClassName", "claimRef: {namespace: default, name: data}, storageClassName", 1),
				strings.Replace(localVolume("pv-2", "2Gi", "w-2"), "storageClassName", "claimRef: {namespace: default, name: logs}, storageClassName", 1),
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: local, volumeName: pv-1, resources: {requests: {storage: 2Gi}}}}\n",
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: logs}, spec: {accessModes: [ReadWriteOnce], storageClassName: local, volumeName: pv-2, resources: {requests: {storage: 2Gi}}}}\n",
				pod("new", "", "1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}, {name: l, persistentVolumeClaim: {claimName: logs}}]")},
			[]string{"VolumeBinding 1: claim data is bound to volume pv-1, which only nodes with kubernetes.io/hostname=w-1 reach: w-1 (it does not reach the volume of claim logs)",
				"VolumeBinding 1: claim logs is bound to volume pv-2, which only nodes with kubernetes.io/hostname=w-2 reach: w-2 (it does not reach the volume of claim data)", dedicated},
		},
		"free volumes of other labels and of another class": {
			[]string{"  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}\n",
				strings.Replace(localVolume("gold", "2Gi", "w-1"), "metadata: {", "metadata: {labels: {tier: gold}, ", 1),
				strings.Replace(strings.Replace(localVolume("old", "2Gi", "w-1"), "storageClassName: local, ", "", 1), "metadata: {", "metadata: {labels: {tier: silver}, ", 1),
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: local, selector: {matchLabels: {tier: silver}}, resources: {requests: {storage: 2Gi}}}}\n",
				pod("new", "", "1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]")},
			[]string{"VolumeBinding 2: claim data (2Gi, storage class local) is not bound, and the class has no provisioner; 1 volume of the class is free: " +
				"gold has tier=gold, and the claim selects tier=silver; old would do, but has no class", dedicated},
		},
		"a node that is not ready": {
			[]string{"  - {apiVersion: v1, kind: Node, metadata: {name: new-1, labels: {disk: nvme}}, spec: {taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]}, status: {conditions: [{type: Ready, status: 'False', message: cni plugin not initialized}], allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}\n",
				pod("new", "", "1", ", nodeSelector: {disk: nvme}")},
			[]string{"NodeAffinity 2: wants disk=nvme; w-1 comes nearest and lacks disk=nvme (it has disk=hdd)",
				"TaintToleration 2: untolerated taint dedicated=db:NoSchedule on db-1; not ready (taint node.kubernetes.io/not-ready:NoSchedule) on new-1 (cni plugin not initialized)"},
		},
		"every GPU in use: w-2 has one, and w-1 none": {
			[]string{"  - {apiVersion: v1, kind: Node, metadata: {name: w-3, labels: {kubernetes.io/hostname: w-3}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110, nvidia.com/gpu: 1}}}\n",
				strings.Replace(pod("infer", "w-3", "1", ""), "requests: {cpu: 1}", "limits: {cpu: 1, nvidia.com/gpu: 1}", 1),
				strings.Replace(pod("new", "", "1", ""), "requests: {cpu: 1}", "limits: {cpu: 1, nvidia.com/gpu: 1}", 1)},
			[]string{"NodeResourcesFit 3: asks 1 nvidia.com/gpu; the most that is free is 0 on w-3 (1 allocatable, 1 requested by default/infer); 2 nodes have no nvidia.com/gpu", dedicated},
		},
		"two zones at once": {
			[]string{pod("new", "", "1", ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [hdd]}, {key: disk, operator: In, values: [ssd]}]}]}}}")},
			[]string{"NodeAffinity 2: wants disk=hdd and disk=ssd; no node can have two values of disk: the expressions of a term must all be met, and terms are alternatives; w-1 comes nearest and lacks only disk=ssd (it has disk=hdd)", dedicated},
		},
		"a label of the value \"\", which nodes do not have": {
			[]string{pod("new", "", "1", `, nodeSelector: {node-role.kubernetes.io/infra: ""}`)},
			[]string{"NodeAffinity 2: wants node-role.kubernetes.io/infra=; no node has node-role.kubernetes.io/infra=; w-1 comes nearest and lacks node-role.kubernetes.io/infra=", dedicated},
		},
		"two gates": {
			[]string{pod("new", "", "1", ", schedulingGates: [{name: example.com/quota}, {name: example.com/paid}]")},
			[]string{"SchedulingGates 0: example.com/quota and example.com/paid keep the scheduler from trying the pod, until whoever set the gates removes them"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, causesOfPending(t, world(test.objects...))); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

// causesOfPending runs the scenario and describes the causes of its only Pending pod.
func causesOfPending(t *testing.T, scenario string) []string {
	t.Helper()
	result := runtest.Run(t, scenario)
	found, err := cause.ExplainRun(t.Context(), result)
	if err != nil {
		t.Fatal(err)
	}
	step := result.Last()
	if len(step.Pending) != 1 {
		t.Fatalf("%d pods are Pending, one is expected", len(step.Pending))
	}
	return list.Map(found[len(found)-1][cluster.NameOf(step.Pending[0].Pod)], func(c cause.Cause) string {
		behind := ""
		if c.Behind {
			behind = ", behind others"
		}
		return fmt.Sprintf("%s %d%s: %s", c.Plugin, c.Nodes, behind, c.Sentence)
	})
}

// TestGroupWaits has groups of two pods on 4 + 4 CPU, since db-1 is tainted.
func TestGroupWaits(t *testing.T) {
	const group = "  - {apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: train}, spec: {schedulingPolicy: {gang: {minCount: %d}}}}\n"
	in := ", schedulingGroup: {podGroupName: train}"
	for name, test := range map[string]struct {
		objects []string
		want    map[string]string
	}{
		"one fits, and the other asks for more than a node has": {
			[]string{fmt.Sprintf(group, 2), pod("a", "", "3", in), pod("b", "", "5", in)},
			map[string]string{"a": "PodGroup default/train wants nodes for 2 pods at once; a would fit, b does not fit", "b": "PodGroup default/train wants nodes for 2 pods at once; a would fit, b does not fit"},
		},
		"nobody created the group": {
			[]string{pod("a", "", "1", in), pod("b", "", "1", in)},
			map[string]string{"a": "PodGroup default/train, which the pod names, does not exist, and the scheduler does not try the pod before", "b": "PodGroup default/train, which the pod names, does not exist, and the scheduler does not try the pod before"},
		},
		"a third is missing": {
			[]string{fmt.Sprintf(group, 3), pod("a", "", "1", in), pod("b", "", "1", in)},
			map[string]string{"a": "PodGroup default/train wants nodes for 3 pods at once; 2 pods are there", "b": "PodGroup default/train wants nodes for 3 pods at once; 2 pods are there"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := causesOfGroups(t, test.objects...)
			got := map[string]string{}
			for pod, causes := range found[len(found)-1] {
				got[pod.Name] = causes[0].Sentence
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

// causesOfGroups runs a world with pod groups, and finds the causes in it.
func causesOfGroups(t *testing.T, objects ...string) (*simulation.Result, []map[types.NamespacedName][]cause.Cause) {
	t.Helper()
	result := runtest.Run(t, strings.Replace(world(objects...), "cluster:", "scheduler: {featureGates: {GenericWorkload: true}}\ncluster:", 1))
	found, err := cause.ExplainRun(t.Context(), result)
	if err != nil {
		t.Fatal(err)
	}
	return result, found
}

// TestResizeCause has pods of 4 and 5 CPU on a node of 12. Then the first pod asks for 8, and 12 - 5 < 8: it keeps 4, and 8 + 5 = 13 count.
// Once the other pod has shrunk to 3, the first gets its 8, and 12 - 8 - 3 = 1 is left.
func TestResizeCause(t *testing.T) {
	const patch = "- name: %[1]s\n  patch: {target: pod/%[1]s, type: strategic, patch: {spec: {containers: [{name: c, resources: {requests: {cpu: %[2]q}}}]}}}\n"
	one := "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- objects:\n" +
		"  - {apiVersion: v1, kind: Node, metadata: {name: w-1}, status: {allocatable: {cpu: 12, memory: 8Gi, pods: 110}}}\n" +
		"workloads:\n- objects:\n" + pod("big", "w-1", "4", "") + pod("peer", "w-1", "5", "") + pod("small", "", "4", "") + "steps:\n"
	result := runtest.Run(t, one+fmt.Sprintf(patch, "big", "8")+fmt.Sprintf(patch, "peer", "3"))
	found, err := cause.ExplainRun(t.Context(), result)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range result.Steps {
		for _, p := range result.Steps[i].Pending {
			got = append(got, found[i][cluster.NameOf(p.Pod)][0].Sentence)
		}
		got = append(got, result.Steps[i].Notes...)
	}
	want := []string{
		"asks 4 cpu; the most that is free is 3 on w-1 (12 allocatable, 9 requested by 2 pods)",
		"asks 4 cpu; the most that is free is -1 on w-1 (12 allocatable, 13 requested by 2 pods); default/big counts with 8, the larger of the 8 that it wants and the 4 that it has, " +
			"as its resize is Deferred (Node didn't have enough resource: cpu, requested: 8000, used: 5000, capacity: 12000)",
		"Pod default/big keeps the resources that it has, as its resize is Deferred: Node didn't have enough resource: cpu, requested: 8000, used: 5000, capacity: 12000. " +
			"The scheduler counts the larger of what it has and what it wants.",
		"asks 4 cpu; the most that is free is 1 on w-1 (12 allocatable, 11 requested by 2 pods)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// localVolume is a volume of class local on a node.
func localVolume(name, size, node string) string {
	return fmt.Sprintf("  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {capacity: {storage: %s}, accessModes: [ReadWriteOnce], storageClassName: local, local: {path: /d}, "+
		"nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}}}}\n", name, size, node)
}
