package risk

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
)

// budgets adds the PodDisruptionBudgets to the workloads that they guard.
func (a *analyzer) budgets(ctx context.Context, state *cluster.State) error {
	owner, candidates := state.Owners(), candidates(state)
	for _, pdb := range state.PodDisruptionBudgets {
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil {
			return fmt.Errorf("poddisruptionbudget %s/%s: spec.selector: %w", pdb.Namespace, pdb.Name, err)
		}
		var pods []*v1.Pod
		var guarded []int // workloads
		for _, pod := range candidates(pdb) {
			if selector.Matches(labels.Set(pod.Labels)) {
				pods = append(pods, pod)
				if i := a.at[owner(pod)]; !slices.Contains(guarded, i) {
					guarded = append(guarded, i)
				}
			}
		}
		if len(pods) == 0 {
			continue
		}
		var found outcome
		if first := guarded[0]; len(guarded) == 1 && len(pods) == a.Workloads[first].Replicas {
			found = a.outcomes[first] // all pods of one workload, as most budgets select
		} else if found, err = a.outcome(ctx, a.expose(pods)); err != nil {
			return err
		}
		desired := int(pdb.Status.DesiredHealthy)
		for _, i := range guarded {
			a.Workloads[i].Budgets = append(a.Workloads[i].Budgets, Budget{
				Name: pdb.Name, Pods: len(pods), DesiredHealthy: desired,
				Method: found.method, Below: found.between(len(pods)-desired+1, len(pods)),
			})
		}
	}
	return nil
}

// candidates returns a function that gives the replicas among which a budget's are: those with the first label that it wants, or
// all of its namespace. To match every pod with every budget takes seconds in a large cluster.
func candidates(state *cluster.State) func(*policyv1.PodDisruptionBudget) []*v1.Pod {
	type place struct{ namespace, key, value string }
	of := func(pdb *policyv1.PodDisruptionBudget) place {
		if pdb.Spec.Selector == nil || len(pdb.Spec.Selector.MatchLabels) == 0 {
			return place{namespace: pdb.Namespace}
		}
		key := slices.Min(slices.Collect(maps.Keys(pdb.Spec.Selector.MatchLabels)))
		return place{pdb.Namespace, key, pdb.Spec.Selector.MatchLabels[key]}
	}
	index, keys := map[place][]*v1.Pod{}, map[string]bool{}
	for _, pdb := range state.PodDisruptionBudgets {
		keys[of(pdb).key] = true
	}
	for _, pod := range state.Pods {
		if !replica(pod) {
			continue
		}
		for key := range keys {
			if key == "" {
				all := place{namespace: pod.Namespace}
				index[all] = append(index[all], pod)
			} else if value, found := pod.Labels[key]; found {
				labelled := place{pod.Namespace, key, value}
				index[labelled] = append(index[labelled], pod)
			}
		}
	}
	return func(pdb *policyv1.PodDisruptionBudget) []*v1.Pod { return index[of(pdb)] }
}
