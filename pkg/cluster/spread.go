package cluster

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// SpreadIncludes reports whether the constraint counts the node for the pod, by its nodeAffinityPolicy and nodeTaintsPolicy. See
// matchNodeInclusionPolicies in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/podtopologyspread/common.go.
func SpreadIncludes(c *v1.TopologySpreadConstraint, node *v1.Node, pod *v1.Pod) bool {
	if ptr.Deref(c.NodeAffinityPolicy, v1.NodeInclusionPolicyHonor) == v1.NodeInclusionPolicyHonor && !Attracts(node, pod) {
		return false
	}
	return ptr.Deref(c.NodeTaintsPolicy, v1.NodeInclusionPolicyIgnore) == v1.NodeInclusionPolicyIgnore || !Repels(node, pod)
}

// CountsFor returns a function that reports whether a node's domain of the key counts for pods like this one, even if the domain has no
// pods. For a hard spread constraint over the key, the domain counts if the scheduler counts the node; otherwise, if the node does not
// repel such pods.
func CountsFor(pod *v1.Pod, key string) func(*v1.Node) bool {
	hard := slices.DeleteFunc(slices.Clone(pod.Spec.TopologySpreadConstraints), func(c v1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable != v1.DoNotSchedule })
	at := slices.IndexFunc(hard, func(c v1.TopologySpreadConstraint) bool { return c.TopologyKey == key })
	if at < 0 {
		return func(node *v1.Node) bool { return !Repels(node, pod) }
	}
	return func(node *v1.Node) bool {
		lacks := func(c v1.TopologySpreadConstraint) bool { _, labelled := node.Labels[c.TopologyKey]; return !labelled }
		return !slices.ContainsFunc(hard, lacks) && SpreadIncludes(&hard[at], node, pod)
	}
}
