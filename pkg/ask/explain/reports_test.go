package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

// Situations that people describe in public, each with the change that its answer names.
func TestFixesOfReports(t *testing.T) {
	const (
		gp3   = "  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}\n"
		byOne = "  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}\n"
	)
	sized := func(name, amounts string) string {
		return fmt.Sprintf("  - {apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s}}, status: {allocatable: {%s}, capacity: {%s}}}\n", name, name, amounts, amounts)
	}
	for _, c := range []struct {
		name, cluster, workload string
		fixes                   []string
	}{
		{
			name:     "only tainted nodes have GPUs",
			cluster:  node("n1", "a", "") + "  - {apiVersion: v1, kind: Node, metadata: {name: gpu, labels: {kubernetes.io/hostname: gpu}}, spec: {taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]},\n     status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110, nvidia.com/gpu: 1}}}\n",
			workload: "  - {apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}\n",
			fixes:    []string{"delete pod/web and create it with: tolerate nvidia.com/gpu=present:NoSchedule: 0 (0) gpu"},
		},
		{
			// A page has 2Mi, so that 256Mi of the 1Gi are 128 pages; the kubelet takes them from its memory.
			name:     "huge pages",
			cluster:  sized("n1", "cpu: 4, memory: 8Gi, pods: 110, hugepages-2Mi: 256Mi"),
			workload: "  - {apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {limits: {cpu: 1, memory: 1Gi, hugepages-2Mi: 1Gi}}}]}}\n",
			fixes: []string{
				"delete pod/web and create it with: request at most 256Mi hugepages-2Mi (now 1Gi): 0 (0) n1",
				"reserve 1Gi hugepages-2Mi on node n1 (now 256Mi), and restart its kubelet: 0 (0) n1",
			},
		},
		{
			name: "as many pods as a small machine takes", cluster: sized("n1", "cpu: 4, memory: 8Gi, pods: 2"), workload: workload("Deployment", 3, "cpu: 1", ""),
			fixes: []string{
				"let node n1 take 3 pods (now 2), by maxPods of its kubelet: 0 (0) n1",
				"one more node like n1: 0 (0) n1-new-1",
				"one replica fewer: 2: 0 (0)",
			},
		},
		{
			name: "no default class", cluster: node("n1", "a", "") + gp3, workload: stateful(""),
			fixes: []string{
				"make StorageClass gp3 the default: annotate it with storageclass.kubernetes.io/is-default-class=true: 0 (0) n1",
				"create a local volume on node n1: of 10Gi for claim data-web-0: 0 (0) n1",
			},
		},
		{
			name: "a class that is not there", cluster: node("n1", "a", "") + gp3, workload: stateful("storageClassName: gp2, "),
			fixes: []string{
				"create StorageClass gp2, like gp3 (provisioner ebs.csi.aws.com): 0 (0) n1",
				"create a local volume on node n1: of 10Gi for claim data-web-0: 0 (0) n1",
			},
		},
		{
			name: "no local volume is large enough", cluster: node("n1", "a", "") + byOne, workload: stateful("storageClassName: local, "),
			fixes: []string{"create a local volume on node n1: of 10Gi for claim data-web-0: 0 (0) n1"},
		},
		{
			name: "an empty value of the label", cluster: "  - {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1, node-role.kubernetes.io/worker: ''}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}\n",
			workload: workload("Deployment", 1, "cpu: 1", ", nodeSelector: {node-role.kubernetes.io/worker: 'true'}"),
			fixes: []string{
				"label node n1 with node-role.kubernetes.io/worker=true: 0 (0) n1",
				"ask for nodes with node-role.kubernetes.io/worker= (now true): 0 (0) n1",
				"make the node selector node-role.kubernetes.io/worker=true preferred node affinity: 0 (0) n1",
				"one more node like n1 with node-role.kubernetes.io/worker=true: 0 (0) n1-new-1",
			},
		},
		{
			// No softer rule helps: the image does not run on arm64.
			name: "another architecture", cluster: "  - {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1, kubernetes.io/arch: arm64}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}\n",
			workload: workload("Deployment", 1, "cpu: 1", ", nodeSelector: {kubernetes.io/arch: amd64}"),
			fixes:    []string{"one more node like n1 with kubernetes.io/arch=amd64: 0 (0) n1-new-1"},
		},
		{
			name: "a scheduler that is not there", cluster: node("n1", "a", ""), workload: workload("Deployment", 1, "cpu: 1", ", schedulerName: mine"),
			fixes: []string{"schedulerName: default-scheduler (now mine): 0 (0) n1"},
		},
		{
			name:     "the port of another exporter",
			cluster:  node("n1", "a", "") + "  - {apiVersion: v1, kind: Pod, metadata: {name: exporter}, spec: {nodeName: n1, hostNetwork: true, containers: [{name: c, image: c, ports: [{containerPort: 9100, hostPort: 9100}]}]}}\n",
			workload: "  - {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},\n     spec: {hostNetwork: true, containers: [{name: c, image: c, ports: [{containerPort: 9100, hostPort: 9100}]}]}}}}\n",
			fixes: []string{
				"host port 9101 (now 9100): 0 (0) n1",
			},
		},
		{
			// https://github.com/kubernetes/enhancements/tree/master/keps/sig-cluster-lifecycle/kubeadm/2067-rename-master-label-taint
			name:     "the label and the taint of the control plane before 1.24",
			cluster:  strings.Replace(node("cp", "a", "taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]"), "labels: {", `labels: {node-role.kubernetes.io/control-plane: "", `, 1) + node("n1", "a", ""),
			workload: workload("Deployment", 1, "cpu: 1", `, nodeSelector: {node-role.kubernetes.io/master: ""}, tolerations: [{key: node-role.kubernetes.io/master, operator: Exists, effect: NoSchedule}]`),
			fixes: []string{
				"ask for nodes with node-role.kubernetes.io/control-plane= (now node-role.kubernetes.io/master=), and tolerate node-role.kubernetes.io/control-plane:NoSchedule (now node-role.kubernetes.io/master:NoSchedule): 0 (0) cp",
				"make the node selector node-role.kubernetes.io/master= preferred node affinity: 0 (0) n1",
				"one more node like n1 with node-role.kubernetes.io/master= in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
			},
		},
		{
			// https://github.com/kubernetes-csi/csi-driver-smb/issues/821
			name: "a claim that names a released volume",
			cluster: node("n1", "a", "") + `  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: smb}, provisioner: smb.csi.k8s.io}
  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], storageClassName: smb, persistentVolumeReclaimPolicy: Retain, claimRef: {namespace: default, name: data, uid: old}, csi: {driver: smb.csi.k8s.io, volumeHandle: v}}}
  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, uid: new}, spec: {accessModes: [ReadWriteMany], storageClassName: smb, volumeName: pv, resources: {requests: {storage: 1Gi}}}}
`,
			workload: workload("Deployment", 1, "cpu: 1", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"),
			fixes: []string{
				"free volume pv, which is kept for claim data that is gone: remove its claimRef: 0 (0) n1",
				"delete claim data and create it again without volumeName (now pv): 0 (0) n1",
			},
		},
		{
			// https://github.com/kubernetes/cloud-provider-openstack/issues/2455
			name:     "the cloud controller manager on nodes that it has to initialise",
			cluster:  node("n1", "a", "taints: [{key: node.cloudprovider.kubernetes.io/uninitialized, value: 'true', effect: NoSchedule}]"),
			workload: strings.ReplaceAll(workload("Deployment", 1, "cpu: 1", ""), "web", "openstack-cloud-controller-manager"),
			fixes:    []string{"tolerate node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule: 0 (0) n1"},
		},
		{
			name:     "an autoscaler that sets the replicas",
			cluster:  node("n1", "a", "") + "  - {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 3}}\n",
			workload: workload("Deployment", 3, "cpu: 1500m", ""),
			fixes: []string{
				"request at most 500m CPU (now 1500m): 0 (0) n1",
				"one more node like n1 in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
				"maxReplicas: 2 (now 3) in horizontalpodautoscaler/web, which sets the replicas: 0 (0)",
			},
		},
		{
			name: "a resource in the plural", cluster: sized("n1", "cpu: 4, memory: 8Gi, pods: 110, nvidia.com/gpu: 1"),
			workload: "  - {apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {limits: {nvidia.com/gpus: 1}}}]}}\n",
			fixes:    []string{"delete pod/web and create it with: ask for nvidia.com/gpu in place of nvidia.com/gpus: 0 (0) n1"},
		},
		{
			name: "a toleration of another value", cluster: node("n1", "a", "taints: [{key: dedicated, value: ml, effect: NoSchedule}]"),
			workload: workload("Deployment", 1, "cpu: 1", ", tolerations: [{key: dedicated, operator: Equal, value: gpu, effect: NoSchedule}]"),
			fixes:    []string{"tolerate dedicated=ml:NoSchedule (now dedicated=gpu:NoSchedule): 0 (0) n1"},
		},
		{
			name: "a cluster whose only node is the control plane", cluster: node("cp", "a", "taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]"),
			workload: workload("Deployment", 1, "cpu: 1", ""),
			fixes: []string{
				"tolerate node-role.kubernetes.io/control-plane:NoSchedule: 0 (0) cp",
				"remove the taint node-role.kubernetes.io/control-plane:NoSchedule from node cp: 0 (0) cp",
			},
		},
		{
			// The first pod of such a workload needs no other if its affinity selects the pod itself.
			name: "an affinity to its own pods, of another tier", cluster: node("n1", "a", ""),
			workload: strings.Replace(workload("Deployment", 2, "cpu: 1", ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web, tier: backend}}}]}}"),
				"labels: {app: web}", "labels: {app: web, tier: back}", 1),
			fixes: []string{
				"select tier=back, as the pod itself has, in the required affinity over topology.kubernetes.io/zone (now app=web,tier=backend): 0 (0) n1",
				"make the required affinity over topology.kubernetes.io/zone preferred: 0 (0) n1",
			},
		},
		{
			name: "a node without a network", cluster: strings.Replace(node("n1", "a", "taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}, {key: node.kubernetes.io/network-unavailable, effect: NoSchedule}]"),
				"status: {", "status: {conditions: [{type: Ready, status: 'False', message: no network}], ", 1),
			workload: workload("Deployment", 1, "cpu: 1", ""),
			fixes:    []string{"let node n1 become ready, as its kubelet then says and let the network plugin configure node n1, which removes the taint: 0 (0) n1"},
		},
		{
			name:     "a volume that is kept for a claim which is gone",
			cluster:  node("n1", "a", "") + byOne + "  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], storageClassName: local, nfs: {server: s, path: /}, claimRef: {namespace: default, name: old, uid: u-1}}}\n",
			workload: stateful("storageClassName: local, "),
			fixes: []string{
				"free volume pv, which is kept for claim old that is gone: remove its claimRef: 0 (0) n1",
				"create a local volume on node n1: of 10Gi for claim data-web-0: 0 (0) n1",
			},
		},
		{
			name: "a volume of less room, of another access mode and of a class, and a claim of none",
			cluster: node("n1", "a", "") + "  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: manual, nfs: {server: s, path: /}}}\n" +
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteMany], storageClassName: '', resources: {requests: {storage: 10Gi}}}}\n",
			workload: workload("Deployment", 1, "cpu: 1", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"),
			fixes: []string{
				"delete claim data and create it again with a size of 5Gi (now 10Gi), the access modes ReadWriteOnce (now ReadWriteMany) and storageClassName manual (now none), as volume pv has: 0 (0) n1",
				"create a local volume on node n1: of 10Gi for claim data: 0 (0) n1",
			},
		},
		{
			name: "a volume for a claim of another namespace, and one that lacks an access mode",
			cluster: node("n1", "a", "") + "  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: theirs}, spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteMany], nfs: {server: s, path: /}, claimRef: {namespace: prod, name: data}}}\n" +
				"  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: single}, spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], nfs: {server: s, path: /}}}\n" +
				"  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteMany], storageClassName: '', resources: {requests: {storage: 10Gi}}}}\n",
			workload: workload("Deployment", 1, "cpu: 1", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"),
			fixes: []string{
				"let the claimRef of volume theirs name claim data (now data of namespace prod, which does not exist): 0 (0) n1",
				"give volume single the access modes ReadWriteOnce and ReadWriteMany (now ReadWriteOnce), as claim data asks: 0 (0) n1",
				"delete claim data and create it again with the access modes ReadWriteOnce (now ReadWriteMany), as volume single has: 0 (0) n1",
				"create a local volume on node n1: of 10Gi for claim data: 0 (0) n1",
			},
		},
		{
			name: "two volumes in two zones", cluster: node("n1", "a", "") + node("n2", "b", "") + gp3 + zonal("pv-1", "a", "data") + zonal("pv-2", "b", "logs"),
			workload: workload("Deployment", 1, "cpu: 1", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}, {name: l, persistentVolumeClaim: {claimName: logs}}]"),
			fixes: []string{
				"delete claim data and create it again: the new one gets a volume where the pod's other volumes are: 0 (0) n2",
				"delete claim logs and create it again: the new one gets a volume where the pod's other volumes are: 0 (0) n1",
			},
		},
		{
			name: "a claim whose volume is gone", cluster: node("n1", "a", "") + gp3 + strings.Replace(pvc("data"), "storageClassName", "volumeName: pv, storageClassName", 1),
			workload: workload("Deployment", 1, "cpu: 1", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"),
			fixes:    []string{"delete claim data and create it again: its volume pv does not exist: 0 (0) n1"},
		},
		{
			name:     "a claim that is being deleted",
			cluster:  node("n1", "a", "") + gp3 + strings.Replace(pvc("data"), "name: data", "name: data, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [example.com/backup]", 1),
			workload: workload("Deployment", 1, "cpu: 1", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"),
			fixes:    []string{"remove the finalizer example.com/backup of claim data, which then is gone, and create it again: 0 (0) n1"},
		},
		{
			name: "devices of another model", cluster: node("n1", "a", "") + "  - {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == \"d.example.com\"'}}]}}\n" +
				"  - {apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: n1}, spec: {driver: d.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0, attributes: {model: {string: a100}}}]}}\n" +
				"  - {apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: big}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, selectors: [{cel: {expression: \"device.attributes['d.example.com'].model == 'h100'\"}}]}}]}}}}\n",
			workload: workload("Deployment", 1, "cpu: 1", ", resourceClaims: [{name: g, resourceClaimTemplateName: big}]"),
			fixes: []string{
				"select devices by model a100 (now h100): name a new ResourceClaimTemplate big-2, like big but for this: 0 (0) n1",
				"select any device of class gpu, without the selectors: name a new ResourceClaimTemplate big-2, like big but for this: 0 (0) n1",
			},
		},
		{
			name: "the only class never preempts",
			cluster: node("n1", "a", "") + "  - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: polite}, value: 1000, preemptionPolicy: Never}\n" +
				"  - {apiVersion: v1, kind: Pod, metadata: {name: other, namespace: default}, spec: {nodeName: n1, containers: [{name: c, image: c, resources: {requests: {cpu: 4}}}]}}\n",
			workload: "  - {apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {priorityClassName: polite, containers: [{name: c, image: c, resources: {requests: {cpu: 4}}}]}}\n",
			fixes: []string{
				"one more node like n1 in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
				"delete pod/web and create it with: create PriorityClass polite-preempting like polite (1000) with preemptionPolicy PreemptLowerPriority (now Never), and give it to the pods: 0 (0) n1",
			},
		},
		{
			name: "a volume without the class and one without the label of the claim",
			cluster: node("n1", "a", "") + byOne + "  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: unclassed, labels: {tier: silver}}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], nfs: {server: s, path: /}}}\n" +
				"  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: unlabelled}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: local, nfs: {server: s, path: /}}}\n" +
				strings.Replace(strings.Replace(pvc("data"), "gp3", "local", 1), "resources:", "selector: {matchLabels: {tier: silver}}, resources:", 1),
			workload: workload("Deployment", 1, "cpu: 1", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"),
			fixes: []string{
				"label volume unlabelled with tier=silver, by which claim data selects: 0 (0) n1",
				"give volume unclassed the storageClassName local of claim data (now none): 0 (0) n1",
				"create a local volume on node n1: of 1Gi for claim data: 0 (0) n1",
			},
		},
		{
			name: "a node's storage that is too small",
			cluster: node("n1", "a", "") + "  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: lvm}, provisioner: topolvm.io, volumeBindingMode: WaitForFirstConsumer}\n" +
				"  - {apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: topolvm.io}, spec: {storageCapacity: true}}\n" +
				"  - {apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: n1, namespace: kube-system}, storageClassName: lvm, capacity: 5Gi, nodeTopology: {matchLabels: {kubernetes.io/hostname: n1}}}\n",
			workload: stateful("storageClassName: lvm, "),
			fixes:    []string{"give the storage of class lvm on node n1 room for 10Gi (now 5Gi), as its CSIStorageCapacity then says: 0 (0) n1"},
		},
		{
			name: "a number that no node reaches", cluster: strings.Replace(node("n1", "a", ""), "labels: {", "labels: {gpu-memory: '16', ", 1),
			workload: workload("Deployment", 1, "cpu: 1", ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: gpu-memory, operator: Gt, values: ['40']}]}]}}}"),
			fixes: []string{
				"ask for nodes with gpu-memory>15 (now >40): the nearest value there is 16: 0 (0) n1",
				"make the required node affinity to gpu-memory>40 preferred: 0 (0) n1",
				"one more node like n1 with gpu-memory=41 in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
			},
		},
		{
			name:     "a misspelt label of nodes whose taint the pod tolerates with another value",
			cluster:  strings.Replace(node("n1", "a", "taints: [{key: dedicated, value: ml-team, effect: NoSchedule}]"), "labels: {", "labels: {pool: gpu, ", 1),
			workload: workload("Deployment", 1, "cpu: 1", ", nodeSelector: {pool: gpus}, tolerations: [{key: dedicated, value: ml, effect: NoSchedule}]"),
			fixes: []string{
				"ask for nodes with pool=gpu (now gpus), and tolerate dedicated=ml-team:NoSchedule (now dedicated=ml:NoSchedule): 0 (0) n1",
			},
		},
		{
			name: "two zones that must both be met", cluster: node("n1", "a", "") + node("n2", "b", ""),
			workload: workload("Deployment", 1, "cpu: 1", ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}, {key: topology.kubernetes.io/zone, operator: In, values: [b]}]}]}}}"),
			fixes: []string{
				"ask for nodes with topology.kubernetes.io/zone a or b in one expression (now two, which must both be met): 0 (0) n1",
				"ask for nodes with topology.kubernetes.io/zone=b (now a): 0 (0) n2",
				"ask for nodes with topology.kubernetes.io/zone=a (now b): 0 (0) n1",
				"make the required node affinity to topology.kubernetes.io/zone in (a),topology.kubernetes.io/zone in (b) preferred: 0 (0) n1",
			},
		},
		{
			name: "another key of the label", cluster: strings.Replace(node("n1", "a", ""), "labels: {", "labels: {disktype: ssd, ", 1),
			workload: workload("Deployment", 1, "cpu: 1", ", nodeSelector: {disk-type: ssd}"),
			fixes: []string{
				"ask for nodes with disktype=ssd (now disk-type=ssd): 0 (0) n1",
				"label node n1 with disk-type=ssd: 0 (0) n1",
				"make the node selector disk-type=ssd preferred node affinity: 0 (0) n1",
				"one more node like n1 with disk-type=ssd in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
			},
		},
		{
			name: "a cloud controller that has not come yet", cluster: node("n1", "a", "taints: [{key: node.cloudprovider.kubernetes.io/uninitialized, value: 'true', effect: NoSchedule}]"),
			workload: workload("Deployment", 1, "cpu: 1", ""),
			fixes:    []string{"let the cloud controller manager initialise node n1, which removes the taint: 0 (0) n1"},
		},
		{
			name: "a disk that is full", cluster: node("n1", "a", "taints: [{key: node.kubernetes.io/disk-pressure, effect: NoSchedule}]"),
			workload: workload("Deployment", 1, "cpu: 1", ""),
			fixes:    []string{"free disk space on node n1, so that its kubelet ends the disk pressure: 0 (0) n1"},
		},
		{
			name: "a claim that is not there", cluster: node("n1", "a", "") + gp3,
			workload: workload("Deployment", 1, "cpu: 1", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"),
			fixes:    []string{"create claim data in namespace default, of class gp3: 0 (0) n1"},
		},
		{
			name: "more volumes than an empty node attaches",
			cluster: node("n1", "a", "") + gp3 + "  - {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: ebs.csi.aws.com, nodeID: n1, topologyKeys: [], allocatable: {count: 1}}]}}\n" +
				pvc("one") + pvc("two"),
			workload: workload("Deployment", 1, "cpu: 1", ", volumes: [{name: a, persistentVolumeClaim: {claimName: one}}, {name: b, persistentVolumeClaim: {claimName: two}}]"),
			fixes:    []string{"let ebs.csi.aws.com attach 2 volumes on a node like n1 (now 1), by another type of machine or the driver's own limit: 0 (0) n1"},
		},
		{
			name:    "a namespace without the label",
			cluster: node("n1", "a", "") + "  - {apiVersion: v1, kind: Namespace, metadata: {name: data}}\n  - {apiVersion: v1, kind: Pod, metadata: {name: redis, namespace: data, labels: {app: redis}}, spec: {nodeName: n1, containers: [{name: c, image: c}]}}\n",
			workload: workload("Deployment", 1, "cpu: 1", `, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: redis}},
          namespaceSelector: {matchLabels: {tier: data}}}]}}`),
			fixes: []string{
				"label namespace data with tier=data, by which the required affinity over kubernetes.io/hostname finds it: 0 (0) n1",
				"make the required affinity over kubernetes.io/hostname preferred: 0 (0) n1",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			result := simulated(t, "cluster:\n- objects:\n"+c.cluster+"workloads:\n- objects:\n"+c.workload)
			fixes, _ := listFixes(t, result, "workloads")
			if diff := cmp.Diff(c.fixes, fixes); diff != "" {
				t.Errorf("fixes (-want +got):\n%s", diff)
			}
		})
	}
}

// A volume keeps a pod in zone a, where another pod has the room that it would also find in zone b.
func TestMoveOthers(t *testing.T) {
	other := strings.ReplaceAll(workload("Deployment", 1, "cpu: 3", ", affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}}]}}"), "web", "other")
	app := strings.ReplaceAll(workload("Deployment", 1, "cpu: 2", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"), "\n  ", "\n    ")
	result := simulated(t, "cluster:\n- objects:\n"+node("n1", "a", "")+node("n2", "b", "")+`  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: gp3, csi: {driver: d, volumeHandle: h}, claimRef: {namespace: default, name: data},
     nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}}
  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, volumeName: pv, resources: {requests: {storage: 1Gi}}}}
workloads:
- objects:
`+other+"steps:\n- name: app\n  apply:\n    objects:\n  "+app)
	fixes, _ := listFixes(t, result, "app")
	var moves []string
	for _, fix := range fixes {
		if strings.HasPrefix(fix, "delete pod other") && strings.HasSuffix(fix, "on n1, whose replacement finds another node: 0 (0) n1") {
			moves = append(moves, fix)
		}
	}
	if len(moves) != 1 {
		t.Errorf("got %q; want one of them to delete the pod of other on n1", fixes)
	}
}

// zonal returns a volume of class gp3 in a zone, bound to a claim, and that claim.
func zonal(name, zone, claim string) string {
	return fmt.Sprintf("  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: gp3, csi: {driver: ebs.csi.aws.com, volumeHandle: %s}, claimRef: {namespace: default, name: %s}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [%s]}]}]}}}}\n", name, name, claim, zone) +
		strings.Replace(pvc(claim), "storageClassName", "volumeName: "+name+", storageClassName", 1)
}

// pvc returns a claim of class gp3.
func pvc(name string) string {
	return fmt.Sprintf("  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, resources: {requests: {storage: 1Gi}}}}\n", name)
}

// stateful returns a StatefulSet web of one pod with a claim of 10Gi, with further fields of the claim's spec.
func stateful(claim string) string {
	return `  - apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: web}
    spec:
      serviceName: web
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}
      volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], ` + claim + `resources: {requests: {storage: 10Gi}}}}]
`
}

// A pod has its node and does not run.
func TestHaltedPods(t *testing.T) {
	for _, c := range []struct {
		name, kind, scenario string
		halted               string
		fixes                []string
	}{
		{
			// The nodes have room for one pod each, so that the new pod goes to the other one, and its volume stays where the old pod is.
			name: "a volume of one node", kind: "Deployment",
			scenario: "cluster:\n- objects:\n" + node("n1", "a", "") + node("n2", "a", "") + `  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk}, provisioner: disk.csi.azure.com, volumeBindingMode: WaitForFirstConsumer}
  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: disk, resources: {requests: {storage: 1Gi}}}}
workloads:
- objects:
` + workload("Deployment", 1, "cpu: 3", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]") + "steps:\n- {name: release, rollout: {target: deploy/web, restart: true}}\n",
			halted: "it has not started, and waits for its volume, attached to n1",
			fixes:  []string{"let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable 1: 0 (0)"},
		},
		{
			// Each node has room for one pod, and a volume of ReadWriteOnce is on one node.
			name: "a volume of one node for two replicas", kind: "Deployment",
			scenario: "cluster:\n- objects:\n" + node("n1", "a", "") + node("n2", "a", "") + `  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk}, provisioner: disk.csi.azure.com, volumeBindingMode: WaitForFirstConsumer}
  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: disk, resources: {requests: {storage: 1Gi}}}}
workloads:
- objects:
` + workload("Deployment", 2, "cpu: 3", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"),
			halted: "it has not started, and waits for its volume, attached to n1",
			fixes:  []string{"one replica fewer: 1: 0 (0)"},
		},
		{
			// https://github.com/kubernetes/kubernetes/issues/83632
			name: "a node by name, and a claim that waits for the scheduler", kind: "Deployment",
			scenario: "cluster:\n- objects:\n" + node("n1", "a", "") + node("n2", "a", "") + `  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk}, provisioner: disk.csi.azure.com, volumeBindingMode: WaitForFirstConsumer}
  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: disk, resources: {requests: {storage: 1Gi}}}}
workloads:
- objects:
` + workload("Deployment", 1, "cpu: 1", ", nodeName: n2, volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"),
			halted: "it does not start: claim data has no volume before the scheduler selects a node for the pod (WaitForFirstConsumer), and spec.nodeName passes the scheduler by",
			fixes: []string{
				"nodeSelector kubernetes.io/hostname: n2 in place of nodeName: 0 (0)",
				"annotate claim data with volume.kubernetes.io/selected-node=n2, as the scheduler does: 0 (0)",
			},
		},
		{
			name: "a node that does not answer", kind: "StatefulSet",
			scenario: "cluster:\n- objects:\n" + node("n1", "a", "") + node("n2", "a", "") + "workloads:\n- objects:\n" + workload("StatefulSet", 2, "cpu: 1", "") + "steps:\n- {name: lost, fail: {names: [n2], mode: unreachable}}\n",
			halted:   "it is Terminating: the kubelet of n2 does not answer, so that nobody confirms its end, and statefulset/web makes no other web-1 as long as it is there",
			fixes: []string{
				"taint node n2 with node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, once it is certain that the machine is off: 0 (0)",
				"delete node n2, once it is certain that it does not come back: 0 (0)",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, pods, _, err := Pods(t.Context(), loaded(t, c.scenario), Question{Ref: cluster.Ref{Kind: c.kind, Name: "web"}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var halted string
			var fixes []string
			for _, pod := range pods {
				if pod.Halted == "" {
					continue
				}
				halted = pod.Halted
				for _, fix := range pod.Fixes {
					fixes = append(fixes, fmt.Sprintf("%s: %d (%d)", fix.Change, fix.Pending, fix.OfWorkload))
				}
			}
			if diff := cmp.Diff(c.halted, halted); diff != "" {
				t.Errorf("halted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.fixes, fixes); diff != "" {
				t.Errorf("fixes (-want +got):\n%s", diff)
			}
		})
	}
}
