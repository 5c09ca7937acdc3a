package dumptest

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// operators adds pods whose controllers are custom resources, which kubectl dumps only by their own names, and static pods, which have no
// controller to dump.
func (c *dump) operators() {
	c.strimzi()
	c.cnpg()
	c.rollout()
	c.workflow()
	c.mirrors()
}

// strimzi adds the pods of a StrimziPodSet of three brokers, with a budget that the disruption controller cannot compute, since a
// StrimziPodSet has no scale.
func (c *dump) strimzi() {
	set := c.meta("data", "events-kafka", nil)
	c.named(set, "core.strimzi.io/v1beta2", "StrimziPodSet", 0, map[string]string{"strimzi.io/cluster": "events"})
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: c.meta("data", "events-kafka", nil), Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"strimzi.io/cluster": "events"}},
	}}
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 0, CurrentHealthy: 0, Conditions: []metav1.Condition{{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, ObservedGeneration: 1, LastTransitionTime: age(200),
		Message: "strimzipodsets.core.strimzi.io does not implement the scale subresource",
	}}}
	c.add("policy/v1", "PodDisruptionBudget", budget)
}

// cnpg adds the pods of a Cluster of CloudNativePG. It has a scale, so its budget allows one eviction.
func (c *dump) cnpg() {
	of := c.meta("data", "orders", nil)
	c.named(of, "postgresql.cnpg.io/v1", "Cluster", 1, map[string]string{"cnpg.io/cluster": "orders"})
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: c.meta("data", "orders", nil), Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"cnpg.io/cluster": "orders"}},
	}}
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, ExpectedPods: 3, DesiredHealthy: 2, CurrentHealthy: 3, DisruptionsAllowed: 1}
	c.add("policy/v1", "PodDisruptionBudget", budget)
}

// named adds three pods on different nodes, with their own names, which are numbered from first.
func (c *dump) named(of metav1.ObjectMeta, apiVersion, kind string, first int, labels map[string]string) {
	spec, avoid := template("500m", "2Gi"), map[string]bool{}
	for i := range 3 {
		meta := c.meta(of.Namespace, fmt.Sprintf("%s-%d", of.Name, first+i), labels)
		meta.OwnerReferences = owned(kind, apiVersion, of)
		node := c.somewhere(spec, avoid)
		avoid[node] = true
		running := *spec.DeepCopy()
		running.Hostname = meta.Name
		c.pod(meta, running, node)
	}
}

// rollout adds a ReplicaSet that a Rollout of Argo controls.
func (c *dump) rollout() {
	of, spec := c.meta("shop", "checkout", nil), template("250m", "256Mi")
	labels := map[string]string{"app": "checkout", "rollouts-pod-template-hash": "7d9f8"}
	set := &appsv1.ReplicaSet{ObjectMeta: c.meta("shop", "checkout-7d9f8", labels), Spec: appsv1.ReplicaSetSpec{
		Replicas: ptr.To[int32](4), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}
	set.OwnerReferences = owned("Rollout", "argoproj.io/v1alpha1", of)
	c.add("apps/v1", "ReplicaSet", set)
	for range 4 {
		meta := c.meta("shop", set.Name+"-"+c.suffix(), labels)
		meta.GenerateName, meta.OwnerReferences = set.Name+"-", owned("ReplicaSet", "apps/v1", set.ObjectMeta)
		c.pod(meta, spec, c.somewhere(spec, nil))
	}
}

// workflow adds the pod of one step of a Workflow of Argo.
func (c *dump) workflow() {
	of, once := c.meta("ml", "etl-x7k2p", nil), template("500m", "1Gi")
	once.RestartPolicy = v1.RestartPolicyNever
	meta := c.meta("ml", "etl-x7k2p-extract-1234567890", map[string]string{"workflows.argoproj.io/workflow": "etl-x7k2p"})
	meta.OwnerReferences = owned("Workflow", "argoproj.io/v1alpha1", of)
	c.pod(meta, once, c.somewhere(once, nil))
}

// mirrors adds the static pods of the control plane.
func (c *dump) mirrors() {
	for _, node := range c.nodes {
		if node.Labels["pool"] != controlPlane.name {
			continue
		}
		meta := c.meta("kube-system", "kube-scheduler-"+node.Name, map[string]string{"component": "kube-scheduler", "tier": "control-plane"})
		meta.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "1", "kubernetes.io/config.source": "file"}
		meta.OwnerReferences = owned("Node", "v1", node.ObjectMeta)
		c.pod(meta, template("100m", "128Mi"), node.Name)
	}
}
