package controller

import (
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/input/admission"
)

const lvmDriver = `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: lvm.example.com}
spec: {storageCapacity: true}
`

func capacityOf(name, topology, sizes string) string {
	return `
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata: {name: ` + name + `, namespace: storage}
storageClassName: lvm
nodeTopology: ` + topology + `
` + sizes + "\n"
}

func (w *world) remainingCapacities() map[string]string {
	all := map[string]string{}
	for _, capacity := range w.state.CSIStorageCapacities {
		all[capacity.Name] = capacity.Capacity.String()
		if capacity.MaximumVolumeSize != nil {
			all[capacity.Name] += " max " + capacity.MaximumVolumeSize.String()
		}
	}
	return all
}

// selectNode annotates the claims with a node, as the scheduler does.
func (w *world) selectNode(name string, claims ...string) {
	for _, claim := range w.state.PersistentVolumeClaims {
		for _, wanted := range claims {
			if claim.Name == wanted {
				selected := claim.DeepCopy()
				metav1.SetMetaDataAnnotation(&selected.ObjectMeta, "volume.kubernetes.io/selected-node", name)
				w.state = w.state.With(selected)
			}
		}
	}
	w.settle()
}

// Two claims of 2Gi each on n1 leave 6Gi of its 10Gi. A maximum volume size that equalled the capacity, or would exceed it, shrinks with
// it. Capacities of other nodes and classes stay.
func TestCapacityShrinksAndComesBack(t *testing.T) {
	w := newWorld(t, 3, placeAnywhere)
	w.apply(strings.Join([]string{
		"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: lvm, annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}\n" +
			"provisioner: lvm.example.com\nvolumeBindingMode: WaitForFirstConsumer\n",
		lvmDriver,
		capacityOf("one", "{matchLabels: {kubernetes.io/hostname: n1}}", "capacity: 10Gi\nmaximumVolumeSize: 10Gi"),
		capacityOf("two", "{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n2]}]}", "capacity: 10Gi\nmaximumVolumeSize: 3Gi"),
		capacityOf("everywhere", "{}", "capacity: 10Gi\nmaximumVolumeSize: 9Gi"),
		strings.Replace(capacityOf("other", "{matchLabels: {kubernetes.io/hostname: n1}}", "capacity: 10Gi"), "Name: lvm", "Name: other", 1),
		claim("a", ""), claim("b", ""), claim("c", ""),
	}, "---"))
	w.check("nothing is provisioned yet", w.remainingCapacities(), map[string]string{"one": "10Gi max 10Gi", "two": "10Gi max 3Gi", "everywhere": "10Gi max 9Gi", "other": "10Gi"})
	w.selectNode("n1", "a", "b")
	w.check("two on n1", w.remainingCapacities(), map[string]string{"one": "6Gi max 6Gi", "two": "10Gi max 3Gi", "everywhere": "6Gi max 6Gi", "other": "10Gi"})
	w.check("the capacity's nodes reach the volume", affinityOf(w.state.PersistentVolumes[0]), "kubernetes.io/hostname=n1")
	w.selectNode("n2", "c")
	w.check("one on n2", w.remainingCapacities(), map[string]string{"one": "6Gi max 6Gi", "two": "8Gi max 3Gi", "everywhere": "4Gi max 4Gi", "other": "10Gi"})
	w.state = admission.Delete(w.state, w.state.PersistentVolumeClaims[0], w.state.PersistentVolumeClaims[1])
	w.settle()
	w.check("back on n1", w.remainingCapacities(), map[string]string{"one": "10Gi max 10Gi", "two": "8Gi max 3Gi", "everywhere": "8Gi max 8Gi", "other": "10Gi"})
}

// A capacity never falls below 0. If the class says which nodes reach its volumes, the capacity's topology does not matter.
func TestCapacityOfOtherTopology(t *testing.T) {
	w := newWorld(t, 2, placeAnywhere)
	w.apply(lvmDriver + "---" + capacityOf("one", "{matchLabels: {kubernetes.io/hostname: n1}}", "capacity: 1Gi") + "---" +
		capacityOf("zone", "{matchLabels: {topology.kubernetes.io/zone: z1}}", "capacity: 1Gi") + "---" + claim("data", ", storageClassName: lvm"))
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "lvm", Annotations: map[string]string{VolumeTopologyAnnotation: TopologyZone}}, Provisioner: "lvm.example.com"}
	capacities := NewCapacities(w.state, w.state.CSIStorageCapacities)
	pv, _ := capacities.Provision(w.state.PersistentVolumeClaims[0], class, w.state.Nodes[0])
	w.check("zone", affinityOf(pv), "topology.kubernetes.io/zone=z1")
	// Zone z1 has only n1, so the volume is in both capacities.
	w.check("left", []any{len(capacities.Changed()), capacities.Changed()[0].Capacity.String()}, []any{2, "0"})
}
