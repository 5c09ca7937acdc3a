//go:build ordered

package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadfinish "sigs.k8s.io/kueue/pkg/workload/finish"

	"github.com/faultline/faultline/deciders/kit/api"
)

// look returns the workloads that have quota, each with its pods that need none any more, and a hash of all else that decides whether another one gets some.
func (m *manager) look() (reserving []string, seen uint64) {
	for _, w := range api.List[kueue.Workload](m.api) {
		if workload.HasQuotaReservation(w) && !workloadfinish.IsFinished(w) {
			reserving = append(reserving, fmt.Sprint(workload.Key(w), w.Status.ReclaimablePods))
		}
	}
	hash := fnv.New64a()
	write := json.NewEncoder(hash)
	for _, queue := range api.List[kueue.ClusterQueue](m.api) {
		_ = write.Encode([]any{queue.Name, queue.Spec})
	}
	for _, queue := range api.List[kueue.LocalQueue](m.api) {
		_ = write.Encode([]any{queue.Namespace, queue.Name, queue.Spec})
	}
	for _, cohort := range api.List[kueue.Cohort](m.api) {
		_ = write.Encode([]any{cohort.Name, cohort.Spec})
	}
	for _, flavor := range api.List[kueue.ResourceFlavor](m.api) {
		_ = write.Encode([]any{flavor.Name, flavor.Spec})
	}
	for _, topology := range api.List[kueue.Topology](m.api) {
		_ = write.Encode([]any{topology.Name, topology.Spec})
	}
	for _, namespace := range api.List[corev1.Namespace](m.api) {
		_ = write.Encode([]any{namespace.Name, namespace.Labels})
	}
	if m.usesTopologies() {
		for _, node := range api.List[corev1.Node](m.api) {
			_ = write.Encode([]any{node.Name, node.Labels, node.Spec, node.Status.Allocatable, node.Status.Conditions})
		}
	}
	return reserving, hash.Sum64()
}

// nothingFreed reports whether what was tried without success is no better off than then.
func (m *manager) nothingFreed(remembered memory) bool {
	reserving, seen := m.look()
	return seen == remembered.Seen && sets.New(reserving...).HasAll(remembered.Reserving...)
}

// setReady lets the kubelet of a node without conditions answer, as it does in simulate.
func setReady(c *api.Client) {
	for _, node := range api.List[corev1.Node](c) {
		if !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }) {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"})
		}
	}
}
