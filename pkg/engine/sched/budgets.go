package sched

import (
	"cmp"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/memo"
)

// budgetIndex finds the disruption budgets that may forbid an eviction. Upstream parses the selectors of all budgets for each possible victim
// of each dry run, only to skip most of them.
type budgetIndex struct {
	budgets   []*policyv1.PodDisruptionBudget // of the state
	selectors *cluster.Selectors              // of the valid budgets
	valid     []int                           // the indexes of the valid budgets in budgets
	guarded   byNode[[]guardedPod]            // the pods of each node that budgets select, by budget
}

// guardedPod is the priority of a pod, and the index of a budget that selects the pod.
type guardedPod struct {
	budget   int
	priority int32
}

// forbiddingOn is [budgetIndex.forbidding] for the pods on the node at a slot of the snapshot's list.
func (g *budgetIndex) forbiddingOn(slot int, all []fwk.NodeInfo, nodes *memo.Memo, state []*policyv1.PodDisruptionBudget, priority int32) []*policyv1.PodDisruptionBudget {
	g.readBudgets(state)
	if len(g.valid) == 0 {
		return nil
	}
	return g.forbidding(g.guarded.lookUp(slot, all, nodes, g.guardedPods), priority)
}

// guardedPods returns the pods of the node that budgets select, by budget.
func (g *budgetIndex) guardedPods(node fwk.NodeInfo) []guardedPod {
	var guarded []guardedPod
	for _, pod := range node.GetPods() {
		for _, i := range g.selectors.Matching(pod.GetPod()) {
			guarded = append(guarded, guardedPod{g.valid[i], corev1.PodPriority(pod.GetPod())})
		}
	}
	slices.SortFunc(guarded, func(a, b guardedPod) int { return cmp.Compare(a.budget, b.budget) })
	return guarded
}

// forbidding returns the budgets that do not allow to evict all of the pods with a lower priority. No other budget is ever violated by the
// victims on the pods' node.
func (g *budgetIndex) forbidding(pods []guardedPod, priority int32) []*policyv1.PodDisruptionBudget {
	var all []*policyv1.PodDisruptionBudget
	for len(pods) > 0 {
		victims, end := int32(0), 0
		for ; end < len(pods) && pods[end].budget == pods[0].budget; end++ {
			if pods[end].priority < priority {
				victims++
			}
		}
		if budget := g.budgets[pods[0].budget]; victims > max(0, budget.Status.DisruptionsAllowed) {
			all = append(all, budget)
		}
		pods = pods[end:]
	}
	return all
}

// readBudgets parses the selectors of the state's budgets, unless only the statuses have changed.
func (g *budgetIndex) readBudgets(state []*policyv1.PodDisruptionBudget) {
	if g.selectors != nil && cluster.SameSlice(g.budgets, state) {
		return
	}
	same := g.selectors != nil && slices.EqualFunc(g.budgets, state, func(was, is *policyv1.PodDisruptionBudget) bool {
		return was.Namespace == is.Namespace && was.Spec.Selector == is.Spec.Selector
	})
	if g.budgets = state; same {
		return
	}
	g.selectors, g.valid, g.guarded = &cluster.Selectors{}, nil, byNode[[]guardedPod]{}
	for i, budget := range state {
		if g.selectors.Add(budget.Namespace, budget.Spec.Selector) == nil { // upstream skips invalid selectors
			g.valid = append(g.valid, i)
		}
	}
}
