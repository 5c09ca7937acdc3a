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

// addOperators adds pods whose controllers are custom resources, which kubectl dumps only by their own names, and static pods, which have no
// controller to dump.
func (c *dumpBuilder) addOperators() {
	c.addStrimzi()
	c.addCloudNativePG()
	c.addRollout()
	c.addWorkflow()
	c.addMirrorPods()
}

// addStrimzi adds the pods of a StrimziPodSet of three brokers, with a budget that the disruption controller cannot compute, since a
// StrimziPodSet has no scale.
func (c *dumpBuilder) addStrimzi() {
	set := c.newMeta("data", "events-kafka", nil)
	c.addNamedPods(set, "core.strimzi.io/v1beta2", "StrimziPodSet", 0, map[string]string{"strimzi.io/cluster": "events"})
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: c.newMeta("data", "events-kafka", nil), Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"strimzi.io/cluster": "events"}},
	}}
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 0, CurrentHealthy: 0, Conditions: []metav1.Condition{{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, ObservedGeneration: 1, LastTransitionTime: minutesAfterStart(200),
		Message: "strimzipodsets.core.strimzi.io does not implement the scale subresource",
	}}}
	c.appendObject("policy/v1", "PodDisruptionBudget", budget)
}

// addCloudNativePG adds the pods of a Cluster of CloudNativePG. It has a scale, so its budget allows one eviction.
func (c *dumpBuilder) addCloudNativePG() {
	of := c.newMeta("data", "orders", nil)
	c.addNamedPods(of, "postgresql.cnpg.io/v1", "Cluster", 1, map[string]string{"cnpg.io/cluster": "orders"})
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: c.newMeta("data", "orders", nil), Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"cnpg.io/cluster": "orders"}},
	}}
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, ExpectedPods: 3, DesiredHealthy: 2, CurrentHealthy: 3, DisruptionsAllowed: 1}
	c.appendObject("policy/v1", "PodDisruptionBudget", budget)
}

// addNamedPods adds three pods on different nodes, with their own names, which are numbered from first.
func (c *dumpBuilder) addNamedPods(of metav1.ObjectMeta, apiVersion, kind string, first int, labels map[string]string) {
	spec, avoid := podSpec("500m", "2Gi"), map[string]bool{}
	for i := range 3 {
		meta := c.newMeta(of.Namespace, fmt.Sprintf("%s-%d", of.Name, first+i), labels)
		meta.OwnerReferences = controllerRef(kind, apiVersion, of)
		node := c.randomNodeFor(spec, avoid)
		avoid[node] = true
		running := *spec.DeepCopy()
		running.Hostname = meta.Name
		c.addPod(meta, running, node)
	}
}

// addRollout adds a ReplicaSet that a Rollout of Argo controls.
func (c *dumpBuilder) addRollout() {
	of, spec := c.newMeta("shop", "checkout", nil), podSpec("250m", "256Mi")
	labels := map[string]string{"app": "checkout", "rollouts-pod-template-hash": "7d9f8"}
	set := &appsv1.ReplicaSet{ObjectMeta: c.newMeta("shop", "checkout-7d9f8", labels), Spec: appsv1.ReplicaSetSpec{
		Replicas: ptr.To[int32](4), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}
	set.OwnerReferences = controllerRef("Rollout", "argoproj.io/v1alpha1", of)
	c.appendObject("apps/v1", "ReplicaSet", set)
	for range 4 {
		meta := c.newMeta("shop", set.Name+"-"+c.randomSuffix(), labels)
		meta.GenerateName, meta.OwnerReferences = set.Name+"-", controllerRef("ReplicaSet", "apps/v1", set.ObjectMeta)
		c.addPod(meta, spec, c.randomNodeFor(spec, nil))
	}
}

// addWorkflow adds the pod of one step of a Workflow of Argo.
func (c *dumpBuilder) addWorkflow() {
	of, once := c.newMeta("ml", "etl-x7k2p", nil), podSpec("500m", "1Gi")
	once.RestartPolicy = v1.RestartPolicyNever
	meta := c.newMeta("ml", "etl-x7k2p-extract-1234567890", map[string]string{"workflows.argoproj.io/workflow": "etl-x7k2p"})
	meta.OwnerReferences = controllerRef("Workflow", "argoproj.io/v1alpha1", of)
	c.addPod(meta, once, c.randomNodeFor(once, nil))
}

// addMirrorPods adds the static pods of the control plane.
func (c *dumpBuilder) addMirrorPods() {
	for _, node := range c.nodes {
		if node.Labels["pool"] != controlPlanePool.name {
			continue
		}
		meta := c.newMeta("kube-system", "kube-scheduler-"+node.Name, map[string]string{"component": "kube-scheduler", "tier": "control-plane"})
		meta.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "1", "kubernetes.io/config.source": "file"}
		meta.OwnerReferences = controllerRef("Node", "v1", node.ObjectMeta)
		c.addPod(meta, podSpec("100m", "128Mi"), node.Name)
	}
}
