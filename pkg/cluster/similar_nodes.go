package cluster

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The differences that the Cluster Autoscaler tolerates between nodes of similar groups: maxMemoryDifference in the memory of machines, and
// maxDifference in the resources that pods can use. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/processors/nodegroupset/compare_nodegroups.go.
const (
	maxMemoryDifference = 0.015
	maxDifference       = 0.05
)

// SimilarSize reports whether the nodes are about equally large, as the Cluster Autoscaler compares them: machines of one type may report
// memories that differ by some KiB.
func SimilarSize(a, b *v1.Node) bool {
	capacity := func(name v1.ResourceName, p, q resource.Quantity) bool {
		return p.Cmp(q) == 0 || name == v1.ResourceMemory && withinShare(maxMemoryDifference, p, q)
	}
	return sameAmounts(a.Status.Capacity, b.Status.Capacity, capacity) && SimilarResources(a.Status.Allocatable, b.Status.Allocatable)
}

// SimilarResources reports whether both lists have the same resources, and about as much of each.
func SimilarResources(a, b v1.ResourceList) bool {
	return sameAmounts(a, b, func(_ v1.ResourceName, p, q resource.Quantity) bool { return withinShare(maxDifference, p, q) })
}

// sameAmounts reports whether both lists have the same resources, and amounts of each that equal accepts.
func sameAmounts(a, b v1.ResourceList, equal func(v1.ResourceName, resource.Quantity, resource.Quantity) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for name, quantity := range a {
		if other, has := b[name]; !has || !equal(name, quantity, other) {
			return false
		}
	}
	return true
}

// withinShare reports whether the quantities differ by no more than a share of the larger one: with 0.05, 95 and 100 do not differ too much.
func withinShare(share float64, p, q resource.Quantity) bool {
	larger, smaller := float64(p.MilliValue()), float64(q.MilliValue())
	if larger < smaller {
		larger, smaller = smaller, larger
	}
	return larger-smaller <= larger*share
}
