package blast

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
)

// budget is a PodDisruptionBudget as the disruption controller last saw it.
type budget struct {
	namespace, name string
	// healthy pods there are, and how many there should be. The latter is taken from before the failure: upstream derives it
	// from the controllers of the pods that it finds, so that a budget whose pods are all gone would ask for none.
	healthy, desired int
}

// breaks tells whether the budget is met, and is not without so many of its healthy pods. None is always enough for a budget that
// asks for none, also where its status is empty.
func (b *budget) breaks(lost int) bool {
	return b.healthy >= b.desired && max(0, b.healthy-lost) < b.desired
}

// healthy tells whether budgets count the pod, as countHealthyPods in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/disruption/disruption.go.
func healthy(pod *v1.Pod) bool {
	return pod.DeletionTimestamp == nil && podutil.IsPodReady(pod)
}

// indexBudgets returns the budgets by namespace and name, and a function that finds the positions of those that cover a pod.
func indexBudgets(state *cluster.State) (budgets []budget, covering func(*v1.Pod) []int) {
	sorted := slices.SortedFunc(slices.Values(state.PodDisruptionBudgets), func(a, b *policyv1.PodDisruptionBudget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var selectors cluster.Selectors
	for _, pdb := range sorted {
		if selectors.Add(pdb.Namespace, pdb.Spec.Selector) != nil {
			continue // Upstream too skips a selector that it cannot read.
		}
		budgets = append(budgets, budget{
			namespace: pdb.Namespace, name: pdb.Name, healthy: int(pdb.Status.CurrentHealthy), desired: int(pdb.Status.DesiredHealthy),
		})
	}
	return budgets, selectors.Matching
}
