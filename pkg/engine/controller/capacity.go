package controller

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// Capacities tracks the CSIStorageCapacity objects of a cluster while volumes are provisioned and deleted. It is a small model of
// https://github.com/kubernetes-csi/external-provisioner/blob/v6.3.0/pkg/capacity/capacity.go#L575, which asks the driver for the room that
// is left. Here a new volume takes its size from the room at once, and a deleted one gives it back.
type Capacities struct {
	state      *cluster.State
	given, now []*storagev1.CSIStorageCapacity
}

// NewCapacities returns the tracker of the capacities of a state.
func NewCapacities(state *cluster.State, capacities []*storagev1.CSIStorageCapacity) *Capacities {
	return &Capacities{state: state, given: capacities, now: slices.Clone(capacities)}
}

// Changed returns the capacities that have changed, in their new form.
func (c *Capacities) Changed() []*storagev1.CSIStorageCapacity {
	var changed []*storagev1.CSIStorageCapacity
	for i, capacity := range c.now {
		if capacity != c.given[i] {
			changed = append(changed, capacity)
		}
	}
	return changed
}

// Provision does what the function [Provision] does, and takes the volume's size from the published capacity. A driver publishes a capacity
// for the nodes that reach its volumes. If nothing else says which nodes reach the new volume, it is therefore those nodes.
func (c *Capacities) Provision(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, node *v1.Node) (*v1.PersistentVolume, *v1.PersistentVolumeClaim) {
	pv, bound := Provision(claim, class, node)
	if !c.publishesCapacity(class.Provisioner) {
		return pv, bound
	}
	if node != nil && !topologyKnown(class) {
		for _, capacity := range c.now {
			if capacity.StorageClassName == class.Name && coversNodes(capacity, node) {
				pv.Spec.NodeAffinity = segmentAffinity(capacity.NodeTopology)
				break
			}
		}
	}
	c.changeRoom(pv, -1)
	return pv, bound
}

// Delete gives back the room of a volume that its provisioner deletes.
func (c *Capacities) Delete(pv *v1.PersistentVolume) {
	if c.publishesCapacity(pv.Annotations[volume.AnnDynamicallyProvisioned]) {
		c.changeRoom(pv, 1)
	}
}

// HaveRoom reports whether the claim's volume fits into a capacity of its class on the node. See hasEnoughCapacity in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/volumebinding/binder.go.
func (c *Capacities) HaveRoom(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, node *v1.Node) bool {
	size, asked := claim.Spec.Resources.Requests[v1.ResourceStorage]
	if !asked || !c.publishesCapacity(class.Provisioner) {
		return true
	}
	return slices.ContainsFunc(c.now, func(capacity *storagev1.CSIStorageCapacity) bool {
		limit := cmp.Or(capacity.MaximumVolumeSize, capacity.Capacity)
		return capacity.StorageClassName == class.Name && limit != nil && limit.Value() >= size.Value() && coversNodes(capacity, node)
	})
}

// publishesCapacity reports whether the driver publishes its capacity.
func (c *Capacities) publishesCapacity(driver string) bool {
	return slices.ContainsFunc(c.state.CSIDrivers, func(d *storagev1.CSIDriver) bool {
		return d.Name == driver && ptr.Deref(d.Spec.StorageCapacity, false)
	})
}

// changeRoom adds the volume's size, times sign, to the capacities of the volume's class whose nodes include all nodes that reach the volume.
func (c *Capacities) changeRoom(pv *v1.PersistentVolume, sign int64) {
	var nodes []*v1.Node
	for _, node := range c.state.Nodes {
		if volume.CheckNodeAffinity(pv, node.Labels) == nil {
			nodes = append(nodes, node)
		}
	}
	size := pv.Spec.Capacity[v1.ResourceStorage]
	for i, capacity := range c.now {
		if len(nodes) == 0 || capacity.StorageClassName != pv.Spec.StorageClassName || capacity.Capacity == nil || !coversNodes(capacity, nodes...) {
			continue
		}
		room := resource.NewQuantity(max(0, capacity.Capacity.Value()+sign*size.Value()), resource.BinarySI)
		next := *capacity
		next.Capacity = room
		// No volume can be larger than the room. If the room was the limit, it stays the limit.
		if limit := capacity.MaximumVolumeSize; limit != nil && (limit.Cmp(*room) > 0 || limit.Cmp(*capacity.Capacity) == 0) {
			next.MaximumVolumeSize = room
		}
		c.now[i] = &next
	}
}

// coversNodes reports whether the capacity covers all the nodes, as the scheduler decides it.
func coversNodes(capacity *storagev1.CSIStorageCapacity, nodes ...*v1.Node) bool {
	if capacity.NodeTopology == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology)
	return err == nil && !slices.ContainsFunc(nodes, func(node *v1.Node) bool { return !selector.Matches(labels.Set(node.Labels)) })
}

// segmentAffinity returns the affinity that selects the nodes of a capacity; nil for all nodes.
func segmentAffinity(topology *metav1.LabelSelector) *v1.VolumeNodeAffinity {
	var requirements []v1.NodeSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(topology.MatchLabels)) {
		requirements = append(requirements, v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{topology.MatchLabels[key]}})
	}
	for _, expression := range topology.MatchExpressions { // the operators of both types have the same names
		requirements = append(requirements, v1.NodeSelectorRequirement{Key: expression.Key, Operator: v1.NodeSelectorOperator(expression.Operator), Values: expression.Values})
	}
	return requiredAffinity(requirements)
}
