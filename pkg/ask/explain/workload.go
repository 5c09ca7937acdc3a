package explain

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	resourcehelper "k8s.io/component-helpers/resource"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
)

// Changes to the workload itself: its rules, tolerations and replicas.

// soften returns the attempts that make each hard rule soft.
func (p *pendingPod) soften() []attempt {
	return p.withStrategies(p.softenCandidates(true))
}

// softenCandidates returns the changes that make each hard rule soft, or, with refusingOnly, only the rules that refuse the pod.
func (p *pendingPod) softenCandidates(refusingOnly bool) []candidate {
	if p.spec == nil {
		return nil
	}
	var all []candidate
	for _, r := range rule.List(p.spec) {
		if !r.Hard || refusingOnly && !p.refusedBy(r.Kind.Plugin()) || p.namesMachine(r) {
			continue
		}
		all = append(all, candidate{change: rule.Relax(p.spec.DeepCopy(), r), edit: func(spec *v1.PodSpec) { rule.Relax(spec, r) }})
	}
	return all
}

// namesMachine reports whether the rule asks for an architecture or an operating system that some node does not have. The pod's images run nowhere
// else, so that a softer rule does not help.
func (p *pendingPod) namesMachine(r rule.Rule) bool {
	return (r.Kind == rule.NodeSelector || r.Kind == rule.NodeAffinity) && slices.ContainsFunc([]string{v1.LabelArchStable, v1.LabelOSStable}, func(key string) bool {
		return strings.Contains(r.Selector, key) && slices.ContainsFunc(p.nodes, func(node *v1.Node) bool {
			return !strings.Contains(r.Selector, key+"="+node.Labels[key]) && !strings.Contains(r.Selector, key+" in ("+node.Labels[key]+")")
		})
	})
}

// tolerate returns the attempts that tolerate each taint that the workload seems to be meant to tolerate. It leaves out taints that
// say that a node is not well, or not ready yet, unless the workload is what removes the taint.
func (p *pendingPod) tolerate() []attempt {
	if p.spec == nil || !p.refusedBy("TaintToleration") {
		return nil
	}
	var taints []v1.Taint
	for _, node := range p.nodes {
		for _, taint := range node.Spec.Taints {
			known := slices.ContainsFunc(taints, func(other v1.Taint) bool { return taint.MatchTaint(&other) && taint.Value == other.Value })
			alone := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{taint}}}
			corrected := slices.ContainsFunc(p.spec.Tolerations, func(t v1.Toleration) bool { return t.Key == taint.Key })
			meant := stateOf(taint) == "" && !strings.HasPrefix(taint.Key, "node.kubernetes.io/") && p.seemsMeantFor(taint) || removesTaint(p.owner, taint)
			if !known && !corrected && cluster.Repels(alone, p.pod) && meant {
				taints = append(taints, taint)
			}
		}
	}
	var attempts []attempt
	for _, taint := range taints[:min(len(taints), maxPerKind)] {
		toleration := v1.Toleration{Key: taint.Key, Operator: v1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect}
		attempts = append(attempts, p.attemptOne(candidate{change: "tolerate " + taint.ToString(), edit: func(spec *v1.PodSpec) {
			spec.Tolerations = append(spec.Tolerations, toleration)
		}}))
	}
	return attempts
}

// correctTolerations returns the attempts that let the pod tolerate the value or the effect that a taint has, where it tolerates another of the same key.
func (p *pendingPod) correctTolerations() []attempt {
	if p.spec == nil || !p.refusedBy("TaintToleration") {
		return nil
	}
	return list.Map(p.tolerationsOf(p.nodes), p.attemptOne)
}

// tolerationsOf returns the changes that correct a toleration of the pod so that it tolerates a taint of one of the nodes, which has the toleration's key,
// or its new name, and another value or effect.
func (p *pendingPod) tolerationsOf(nodes []*v1.Node) []candidate {
	var all []candidate
	known := map[string]bool{}
	for _, node := range nodes {
		taint := cluster.Untolerated(node, p.pod)
		if taint == nil || known[taint.ToString()] || len(all) == maxPerKind {
			continue
		}
		known[taint.ToString()] = true
		for _, has := range p.spec.Tolerations {
			if has.Key != taint.Key && !cause.IsRenamed(has.Key, taint.Key) || strings.HasPrefix(has.Key, "node.kubernetes.io/") {
				continue
			}
			now := v1.Taint{Key: has.Key, Value: has.Value, Effect: has.Effect}
			all = append(all, candidate{change: fmt.Sprintf("tolerate %s (now %s)", taint.ToString(), now.ToString()), edit: func(spec *v1.PodSpec) {
				if at := slices.IndexFunc(spec.Tolerations, func(t v1.Toleration) bool { return equality.Semantic.DeepEqual(t, has) }); at >= 0 {
					spec.Tolerations[at] = v1.Toleration{Key: taint.Key, Operator: v1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect}
				}
			}})
		}
	}
	return all
}

// correctLabelAndToleration returns the attempts that let the pod ask for a label that nodes have and correct its toleration of these nodes' taint: where
// both are mistakes, neither change alone gives the pod the nodes that it is meant for.
func (p *pendingPod) correctLabelAndToleration() []attempt {
	if p.spec == nil || !p.refusedBy("TaintToleration") || len(p.matchingNodes()) > 0 {
		return nil
	}
	var pairs []candidate
	for _, want := range p.wantedLabels() {
		for _, label := range slices.Concat(p.askForKeys(want), p.askForValues(want)) {
			asking := &v1.Pod{Spec: *p.spec.DeepCopy()} // a pod of an old template may have no such selector
			label.edit(&asking.Spec)
			meant := list.Where(p.nodes, func(node *v1.Node) bool { return cluster.Attracts(node, asking) })
			for _, toleration := range p.tolerationsOf(meant) {
				pairs = append(pairs, label.combine(toleration))
			}
		}
	}
	return list.Map(pairs[:min(len(pairs), maxPerDomain)], p.attemptOne)
}

// onlyThereIs reports whether only nodes with the taint have some resource that the pod requests, as only tainted nodes have GPUs.
func (p *pendingPod) onlyThereIs(taint v1.Taint) bool {
	asks := resourcehelper.PodRequests(p.pod, resourcehelper.PodResourcesOptions{})
	for name, asked := range asks {
		having := list.Where(p.nodes, func(node *v1.Node) bool { return offers(node, name) })
		only := !slices.ContainsFunc(having, func(node *v1.Node) bool {
			return !slices.ContainsFunc(node.Spec.Taints, func(other v1.Taint) bool { return taint.MatchTaint(&other) && taint.Value == other.Value })
		})
		if v1helper.IsExtendedResourceName(name) && !asked.IsZero() && len(having) > 0 && only {
			return true
		}
	}
	return false
}

// seemsMeantFor reports whether something suggests that the pod is meant for nodes with the taint: its node selector or affinity names the
// taint's key, or leaves only such nodes; it requests an extended resource that only such nodes have; or another pod has a toleration of the
// key, either a pod of the same workload or, if this is a DaemonSet, whose pods are for all nodes, a pod of another DaemonSet.
func (p *pendingPod) seemsMeantFor(taint v1.Taint) bool {
	for _, r := range rule.List(p.spec) {
		if r.Hard && (r.Kind == rule.NodeSelector || r.Kind == rule.NodeAffinity) && strings.Contains(r.Selector, taint.Key) {
			return true
		}
	}
	attracting, tainted := 0, 0
	for _, node := range p.nodes {
		if !cluster.Attracts(node, p.pod) {
			continue
		}
		attracting++
		if slices.ContainsFunc(node.Spec.Taints, func(other v1.Taint) bool { return taint.MatchTaint(&other) && taint.Value == other.Value }) {
			tainted++
		}
	}
	if attracting > 0 && attracting == tainted {
		return true
	}
	if p.onlyThereIs(taint) {
		return true
	}
	names := func(tolerations []v1.Toleration) bool {
		return slices.ContainsFunc(tolerations, func(t v1.Toleration) bool { return t.Key == taint.Key })
	}
	for owner, of := range p.crewsBefore {
		if owner != p.owner && (owner.Kind != "DaemonSet" || p.owner.Kind != "DaemonSet") {
			continue
		}
		for _, pods := range []map[string]*v1.Pod{of.Placed, of.Waiting} {
			for _, pod := range pods {
				if names(pod.Spec.Tolerations) {
					return true
				}
			}
		}
	}
	return false
}

func (p *pendingPod) fewerReplicas() []attempt {
	if p.object == nil || p.fromCustomResource {
		return nil
	}
	replicas, _ := cluster.Replicas(p.object)
	running, waiting := len(p.crewsBefore[p.owner].Placed), len(p.crewsBefore[p.owner].Waiting)
	// A StatefulSet has not even created the pods after the waiting one.
	most := max(waiting, int(replicas)-running)
	if p.member != nil {
		most = int(replicas) - 1 // Karmada removes replicas from all clusters, even from clusters where all run
	}
	return p.fewer(most)
}

// fewer finds the fewest replicas less that help, up to a number.
func (w *stuckWorkload) fewer(most int) []attempt {
	replicas, scales := cluster.Replicas(w.object)
	most = min(most, int(replicas)-1)
	if !scales || most < 1 {
		return nil
	}
	fewer := w.attemptMost("fewer replicas", int64(most), 0, func(fewer int64) candidate {
		return w.boundReplicas(replicas, replicas-int32(fewer))
	})
	fewer.gone = true
	return []attempt{fewer}
}

// maxPairs limits how many pairs of changes are tried.
const maxPairs = 40

// pairAttempts returns the attempts that make two changes at once: a rule that is refined or softened, together with another rollout strategy, a
// node, or another rule.
func (p *pendingPod) pairAttempts() []attempt {
	rules := slices.Concat(p.refinements(), p.softenCandidates(false))
	var others []candidate
	if p.member == nil {
		others = slices.Concat(p.uncordonCandidates(), p.addNodeCandidates())
		if len(p.crewsBefore[p.owner].Placed) > 0 {
			others = slices.Concat(p.strategyCandidates(), others)
		}
	}
	var attempts []attempt
	for i := range rules {
		for j := range others {
			attempts = append(attempts, p.attemptOne(rules[i].combine(others[j])))
		}
		for j := range rules[:i] {
			attempts = append(attempts, p.attemptOne(rules[j].combine(rules[i])))
		}
	}
	return attempts[:min(len(attempts), maxPairs)]
}
