package sched

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
)

// budgetIndex finds the disruption budgets that select a pod. Upstream parses the selectors of all budgets for each possible victim of each dry
// run, only to skip most of them.
type budgetIndex struct {
	budgets   []*policyv1.PodDisruptionBudget // of the state
	selectors *cluster.Selectors              // of the valid budgets
	valid     []int                           // the indexes of the valid budgets in budgets
}

// budgetsOf returns the budgets that select one of the pods, in their order. They must be budgets of the state.
func (g *budgetIndex) budgetsOf(budgets, state []*policyv1.PodDisruptionBudget, pods []fwk.PodInfo) []*policyv1.PodDisruptionBudget {
	if len(pods) == 0 {
		return nil
	}
	g.readBudgets(state)
	guarding := map[*policyv1.PodDisruptionBudget]bool{}
	for _, pod := range pods {
		for _, i := range g.selectors.Matching(pod.GetPod()) {
			guarding[g.budgets[g.valid[i]]] = true
		}
	}
	if len(guarding) == 0 {
		return nil
	}
	return list.Where(budgets, func(budget *policyv1.PodDisruptionBudget) bool { return guarding[budget] })
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
	g.selectors, g.valid = &cluster.Selectors{}, nil
	for i, budget := range state {
		if g.selectors.Add(budget.Namespace, budget.Spec.Selector) == nil { // upstream skips invalid selectors
			g.valid = append(g.valid, i)
		}
	}
}
