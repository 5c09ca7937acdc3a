package explain

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Changes of the state of a node that has a taint for it. A pod that tolerates such a taint runs on a node that is not well, or not ready yet: the
// state has to end, and whoever set the taint then removes it.

// stateOf returns how the state ends for which a node has the taint, with %s for the node; "" if the taint is for no state.
func stateOf(taint v1.Taint) string {
	switch taint.Key {
	case v1.TaintNodeDiskPressure:
		return "free disk space on %s, so that its kubelet ends the disk pressure"
	case v1.TaintNodeMemoryPressure:
		return "free memory on %s, so that its kubelet ends the memory pressure"
	case v1.TaintNodePIDPressure:
		return "end processes on %s, so that its kubelet ends the PID pressure"
	case v1.TaintNodeNotReady:
		return "let %s become ready, as its kubelet then says"
	case v1.TaintNodeNetworkUnavailable:
		return "let the network plugin configure %s, which removes the taint"
	case cloudproviderapi.TaintExternalCloudProvider:
		return "let the cloud controller manager initialise %s, which removes the taint"
	}
	if strings.HasSuffix(taint.Key, "not-ready") {
		return "let the agent start on %s that removes its taint " + taint.Key
	}
	return ""
}

// describeEnd says how the state of the node ends for which it has the taint. A node without a network plugin becomes ready once one is installed, as its
// kubelet says.
func describeEnd(taint v1.Taint, node *v1.Node) string {
	_, ready := nodeutil.GetNodeCondition(&node.Status, v1.NodeReady)
	if taint.Key == v1.TaintNodeNotReady && ready != nil && (strings.Contains(ready.Message, "cni plugin not initialized") || strings.Contains(ready.Message, "cni config uninitialized")) {
		return fmt.Sprintf("install a network plugin (CNI), without which node %s does not become ready", node.Name)
	}
	return fmt.Sprintf(stateOf(taint), "node "+node.Name)
}

// removesTaint reports whether a workload seems to be the one that removes the taint from nodes, by its name: a cloud controller manager initialises nodes, and
// the agent of cilium removes node.cilium.io/agent-not-ready.
func removesTaint(workload cluster.Ref, taint v1.Taint) bool {
	if taint.Key == cloudproviderapi.TaintExternalCloudProvider {
		return strings.Contains(workload.Name, "cloud-controller") || strings.Contains(workload.Name, "cloud-provider")
	}
	domain, _, _ := strings.Cut(taint.Key, "/")
	labels := strings.Split(domain, ".")
	return strings.HasSuffix(taint.Key, "not-ready") && !strings.HasPrefix(taint.Key, "node.kubernetes.io/") && len(labels) > 1 && strings.Contains(workload.Name, labels[len(labels)-2])
}

// waitingAgent says that the workload which removes the taint has no node itself, where one is Pending; "" if none is.
func (p *pendingPod) waitingAgent(taints []v1.Taint) string {
	for _, pending := range p.step.Pending {
		owner := p.ownerOf(pending.Pod)
		if slices.ContainsFunc(taints, func(taint v1.Taint) bool { return removesTaint(owner, taint) }) {
			return fmt.Sprintf("; %s, which does that, is Pending itself", owner.Qualified())
		}
	}
	return ""
}

// endNodeStates returns the attempts that end a state for which a node repels the pod.
func (p *pendingPod) endNodeStates() []attempt {
	if p.member != nil || !p.refusedBy("TaintToleration") {
		return nil
	}
	var all []candidate
	ends := func(taint v1.Taint) bool { return stateOf(taint) != "" && !removesTaint(p.owner, taint) }
	for _, node := range p.nodes {
		ended := list.Where(node.Spec.Taints, ends)
		if len(ended) == 0 || len(all) == maxPerDomain {
			continue
		}
		left := list.Without(node.Spec.Taints, ends)
		changes := list.Distinct(list.Map(ended, func(taint v1.Taint) string { return describeEnd(taint, node) }))
		is := map[string]any{"spec": map[string]any{"taints": left}}
		if len(node.Status.Conditions) > 0 {
			is["status"] = wellStatus(node)
		}
		all = append(all, candidate{change: words.And(changes) + p.waitingAgent(ended), byHand: true, steps: []scenario.Step{action.Merge(scenario.Target{Target: "node/" + node.Name}, is)}})
	}
	return p.attemptFirst(all)
}

// wellStatus returns the part of a node's status that says that the node is ready, without pressure, and on the network.
func wellStatus(node *v1.Node) map[string]any {
	well := list.Map(node.Status.Conditions, func(condition v1.NodeCondition) v1.NodeCondition {
		switch condition.Type {
		case v1.NodeReady:
			condition.Status = v1.ConditionTrue
		case v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, v1.NodeNetworkUnavailable:
			condition.Status = v1.ConditionFalse
		}
		return condition
	})
	return map[string]any{"conditions": well}
}

// removeTaints returns the attempt that removes the taints of a node, where every node repels the pod and none of its tolerations seems to be a mistake:
// nobody can place an ordinary pod then, as in a cluster whose only node is the control plane.
func (p *pendingPod) removeTaints() []attempt {
	repels := func(node *v1.Node) bool { return cluster.Repels(node, p.pod) }
	if p.spec == nil || p.member != nil || p.owner.Kind == "DaemonSet" || !p.refusedBy("TaintToleration") || len(p.tolerationsOf(p.nodes)) > 0 || slices.ContainsFunc(p.nodes, func(node *v1.Node) bool { return !repels(node) }) {
		return nil
	}
	var all []candidate
	for _, node := range p.roomiest(list.Where(p.nodes, cluster.KubeletResponds)) {
		isState := func(taint v1.Taint) bool {
			return stateOf(taint) != "" || strings.HasPrefix(taint.Key, "node.kubernetes.io/")
		}
		removed := list.Without(node.Spec.Taints, isState)
		if len(removed) == 0 {
			continue
		}
		names := list.Map(removed, func(taint v1.Taint) string { return taint.ToString() })
		all = append(all, candidate{change: fmt.Sprintf("remove %s %s from node %s", words.Pick(len(names), "the taint", "the taints"), words.And(names), node.Name),
			price: []string{"any pod may run there then"},
			steps: []scenario.Step{action.Merge(scenario.Target{Target: "node/" + node.Name}, map[string]any{"spec": map[string]any{"taints": list.Where(node.Spec.Taints, isState)}})}})
	}
	return p.attemptFirst(all)
}
