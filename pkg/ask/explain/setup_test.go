package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The cluster has what the pods ask for under another name, not yet, or marked.
func TestFixesOfSetup(t *testing.T) {
	const (
		gp3   = "  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}\n"
		claim = "  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, annotations: {volume.kubernetes.io/selected-node: gone}}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, resources: {requests: {storage: 1Gi}}}}\n"
		kata  = "  - {apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata, scheduling: {nodeSelector: {runtime: kata}}}\n"
	)
	// Of the devices of n1, gpu-0 is well, and gpu-1 is tainted.
	devices := func(request string) string {
		return `  - {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == "d.example.com"'}}]}}
  - {apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: n1}, spec: {driver: d.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}, {name: gpu-1, taints: [{key: ecc, value: errors, effect: NoSchedule}]}]}}
  - {apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpus}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu` + request + "}}]}}}}\n"
	}
	claiming := workload("Deployment", 1, "cpu: 1", ", resourceClaims: [{name: g, resourceClaimTemplateName: gpus}]")
	const anew = ": name a new ResourceClaimTemplate gpus-2, like gpus but for this"
	for _, c := range []struct {
		name, cluster, workload string
		fixes                   []string
	}{
		{
			name: "no storage class at all", cluster: node("n1", "a", ""), workload: stateful(""),
			fixes: []string{
				"install a CSI driver that provisions volumes, with a StorageClass that is the default: 0 (0) n1",
				"create a local volume on node n1: of 10Gi for claim data-web-0: 0 (0) n1",
			},
		},
		{
			name: "a storage class that is not there, as is no other", cluster: node("n1", "a", ""), workload: stateful("storageClassName: gp2, "),
			fixes: []string{
				"install a CSI driver that provisions volumes, with a StorageClass gp2: 0 (0) n1",
				"create a local volume on node n1: of 10Gi for claim data-web-0: 0 (0) n1",
			},
		},
		{
			name: "a claim for a node that is gone", cluster: node("n1", "a", "") + gp3 + claim,
			workload: workload("Deployment", 1, "cpu: 1", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"),
			fixes:    []string{"remove the annotation volume.kubernetes.io/selected-node from claim data (now gone): 0 (0) n1"},
		},
		{
			name: "a RuntimeClass whose label no node has", cluster: node("n1", "a", "") + kata, workload: workload("Deployment", 1, "cpu: 1", ", runtimeClassName: kata"),
			fixes: []string{
				"label node n1 with runtime=kata: 0 (0) n1",
				"one more node like n1 with runtime=kata in topology.kubernetes.io/zone a: 0 (0) n1-new-1",
			},
		},
		{
			name:     "a node's name in place of its hostname",
			cluster:  "  - {apiVersion: v1, kind: Node, metadata: {name: n1.example.com, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}\n",
			workload: workload("Deployment", 1, "cpu: 1", ", nodeSelector: {kubernetes.io/hostname: n1.example.com}"),
			fixes: []string{
				"ask for nodes with kubernetes.io/hostname=n1 (now n1.example.com, the node's name): 0 (0) n1.example.com",
				"make the node selector kubernetes.io/hostname=n1.example.com preferred node affinity: 0 (0) n1.example.com",
			},
		},
		{
			name:     "a device plugin that shares GPUs",
			cluster:  "  - {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110, nvidia.com/gpu.shared: 4}}}\n",
			workload: "  - {apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}\n",
			fixes:    []string{"delete pod/web and create it with: ask for nvidia.com/gpu.shared in place of nvidia.com/gpu: 0 (0) n1"},
		},
		{
			// A page of 1Gi holds the 512Mi.
			name:     "huge pages of another size",
			cluster:  "  - {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110, hugepages-1Gi: 2Gi}, capacity: {hugepages-1Gi: 2Gi}}}\n",
			workload: "  - {apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {limits: {cpu: 1, memory: 1Gi, hugepages-2Mi: 512Mi}}}], volumes: [{name: h, emptyDir: {medium: HugePages-2Mi}}]}}\n",
			fixes: []string{
				"delete pod/web and create it with: ask for hugepages-1Gi in place of hugepages-2Mi: 0 (0) n1",
				"reserve 512Mi hugepages-2Mi on node n1 (now 0), and restart its kubelet: 0 (0) n1",
			},
		},
		{
			name:     "slices of a GPU in place of the GPU",
			cluster:  "  - {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110, nvidia.com/mig-1g.5gb: 7}}}\n",
			workload: workload("Deployment", 1, "nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1", ""),
			fixes: []string{
				"ask for nvidia.com/mig-1g.5gb in place of nvidia.com/gpu: 0 (0) n1",
				"have a device plugin report 1 nvidia.com/gpu on node n1 (now 0): 0 (0) n1",
			},
		},
		{
			name: "gates that the template has not", cluster: node("n1", "a", ""), workload: `  - {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, uid: r}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}}}
  - {apiVersion: v1, kind: Pod, metadata: {name: web-1, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: r, controller: true}]}, spec: {schedulingGates: [{name: gone.example.com/queue}], containers: [{name: c, image: c}]}}
`,
			fixes: []string{
				"remove the scheduling gates of the pod, as whoever set them does: 0 (0) n1",
				"delete the pod, if whoever set the gates is gone: the template has none: 0 (0) n1",
			},
		},
		{
			// The claim stays as long as the inspector runs. Then the StatefulSet creates it again.
			name: "a claim that is being deleted, and a pod that somebody started to look at it", cluster: node("n1", "a", "") + gp3 + `  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], storageClassName: gp3, csi: {driver: ebs.csi.aws.com, volumeHandle: h}, claimRef: {namespace: default, name: data-web-0}}}
  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-web-0, resourceVersion: "1", deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0, finalizers: [kubernetes.io/pvc-protection]}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, volumeName: pv, resources: {requests: {storage: 10Gi}}}}
  - {apiVersion: v1, kind: Pod, metadata: {name: inspector}, spec: {nodeName: n1, containers: [{name: c, image: c}], volumes: [{name: d, persistentVolumeClaim: {claimName: data-web-0}}]}}
`, workload: strings.Replace(stateful("storageClassName: gp3, "), "{name: web}", "{name: web, uid: s}", 1) + `  - {apiVersion: v1, kind: Pod, metadata: {name: web-0, labels: {app: web, apps.kubernetes.io/pod-index: "0", statefulset.kubernetes.io/pod-name: web-0}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: s, controller: true}]}, spec: {containers: [{name: c, image: c}], volumes: [{name: data, persistentVolumeClaim: {claimName: data-web-0}}]}, status: {phase: Pending}}
`,
			fixes: []string{"delete pod inspector, so that claim data-web-0 goes: its StatefulSet creates a new one: 0 (0) n1"},
		},
		{
			name: "all devices, of which one is tainted", cluster: node("n1", "a", "") + devices(", allocationMode: All"), workload: claiming,
			fixes: []string{
				"ask for 1 device (now all)" + anew + ": 0 (0) n1",
				"tolerate ecc=errors:NoSchedule of devices" + anew + ": 0 (0) n1",
			},
		},
		{
			name: "a pod group that nobody created", cluster: node("n1", "a", ""), workload: workload("Deployment", 2, "cpu: 1", ", schedulingGroup: {podGroupName: train}"),
			fixes: []string{"create PodGroup train in namespace default, with minCount 2 for the pods that name it: 0 (0) n1"},
		},
		{
			name: "more devices than a node has", cluster: node("n1", "a", "") + devices(", count: 3"), workload: claiming,
			fixes: []string{"ask for 1 device (now 3)" + anew + ": 0 (0) n1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			fixes, _ := listFixes(t, simulated(t, "scheduler: {featureGates: {GenericWorkload: true}}\ncluster:\n- objects:\n"+c.cluster+"workloads:\n- objects:\n"+c.workload), "workloads")
			if diff := cmp.Diff(c.fixes, fixes); diff != "" {
				t.Errorf("fixes (-want +got):\n%s", diff)
			}
		})
	}
}

// Data on a volume is lost by the first change alone, which therefore comes last. The pod of 2 CPU must go to n1, which has 4 - 3 = 1 CPU, or give up its
// volume.
func TestFixesKeepDataFirst(t *testing.T) {
	const zonal = `  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}
  - {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: gp3, csi: {driver: ebs.csi.aws.com, volumeHandle: h}, claimRef: {namespace: default, name: data-web-0},
     nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}}
  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-web-0}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, volumeName: pv, resources: {requests: {storage: 1Gi}}}}
  - {apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {nodeName: n1, containers: [{name: c, image: c, resources: {requests: {cpu: 3}}}]}}
`
	web := workload("StatefulSet", 1, "cpu: 2", "") + "      volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, resources: {requests: {storage: 1Gi}}}}]\n"
	result := simulated(t, "cluster:\n- objects:\n"+node("n1", "a", "")+node("n2", "b", "")+zonal+"workloads:\n- objects:\n"+web)
	fixes, _, err := Fixes(t.Context(), result, "workloads", result.Last().Pending[0].Pod, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fix := range fixes {
		got = append(got, fmt.Sprintf("%s: %t", fix.Change, fix.DataLost))
	}
	want := []string{
		"request at most 1 CPU (now 2), then delete pod web-0, which is not replaced otherwise: false",
		"one more node like n1 in topology.kubernetes.io/zone a: false",
		"delete pod web-0 and its claim data-web-0: the new claim gets a volume where the pod can run: true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fixes (-want +got):\n%s", diff)
	}
}
