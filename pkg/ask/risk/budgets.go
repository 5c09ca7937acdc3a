package risk

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// analyzeBudgets adds the PodDisruptionBudgets to the workloads whose pods they select.
func (a *analyzer) analyzeBudgets(ctx context.Context, state *cluster.State) error {
	var selectors cluster.Selectors
	for _, pdb := range state.PodDisruptionBudgets {
		if err := selectors.Add(pdb.Namespace, pdb.Spec.Selector); err != nil {
			return fmt.Errorf("%s: spec.selector: %w", cluster.RefTo(pdb).Describe(), err)
		}
	}
	replicas := make([][]*v1.Pod, len(state.PodDisruptionBudgets))
	for _, pod := range state.Pods {
		if countsAsReplica(pod) {
			for _, i := range selectors.Matching(pod) {
				replicas[i] = append(replicas[i], pod)
			}
		}
	}
	owner := state.Owners()
	for budget, pdb := range state.PodDisruptionBudgets {
		pods := replicas[budget]
		if len(pods) == 0 {
			continue
		}
		var guarded []int // indices of workloads
		for _, pod := range pods {
			if i := a.workloadIndices[owner(pod)]; !slices.Contains(guarded, i) {
				guarded = append(guarded, i)
			}
		}
		var found downDistribution
		var err error
		if first := guarded[0]; len(guarded) == 1 && len(pods) == a.Workloads[first].Replicas {
			found = a.distributions[first] // all pods of one workload, the usual case
		} else if found, err = a.computeDistribution(ctx, a.newExposure(pods)); err != nil {
			return err
		}
		desired := int(pdb.Status.DesiredHealthy)
		for _, i := range guarded {
			a.Workloads[i].Budgets = append(a.Workloads[i].Budgets, Budget{
				Name: pdb.Name, Pods: len(pods), DesiredHealthy: desired,
				Method: found.method, Below: found.probabilityBetween(len(pods)-desired+1, len(pods)),
			})
		}
	}
	return nil
}
