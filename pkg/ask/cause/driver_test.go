package cause_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/internal/runtest"
	"github.com/faultline/faultline/pkg/list"
)

// Of three nodes, n1 lists the driver of the class, n2 another one, and n3 has no CSINode.
func TestMissingDrivers(t *testing.T) {
	const pod = "apiVersion: v1, kind: Pod, metadata: {name: "
	claim := func(name string) string {
		return "    - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name + "}, spec: {storageClassName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n" +
			"    - {" + pod + name + "}, spec: {nodeSelector: {kubernetes.io/hostname: " + name + "}, containers: [{name: c, image: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: " + name + "}}]}}\n"
	}
	result := runtest.Run(t, `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- objects:
  - {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}
  - {apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}
  - {apiVersion: v1, kind: Node, metadata: {name: n3, labels: {kubernetes.io/hostname: n3}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}
  - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk}, provisioner: disk.example.com, volumeBindingMode: WaitForFirstConsumer}
  - {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: disk.example.com, nodeID: n1}]}}
  - {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n2}, spec: {drivers: [{name: other.example.com, nodeID: n2}]}}
steps:
- name: pods
  apply:
    objects:
    - {`+pod+`plain}, spec: {containers: [{name: c, image: c}]}}
    - {`+pod+`inline}, spec: {nodeSelector: {kubernetes.io/hostname: n3}, containers: [{name: c, image: c}], volumes: [{name: v, csi: {driver: other.example.com}}]}}
`+claim("n1")+claim("n2")+claim("n3"))
	step := result.Steps[0]
	got := cause.MissingDrivers(step.State, list.Map(step.Placed, func(p placement.Placement) *v1.Pod { return p.Pod }))
	want := []string{
		"default/inline would not start on n3: the CSINode there does not list driver other.example.com, which its volume needs; kube-scheduler does not look, and here it runs.",
		"default/n2 and default/n3 would not start on n2 and n3: the CSINode there does not list driver disk.example.com, which their volume needs; kube-scheduler does not look, and here they run.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
