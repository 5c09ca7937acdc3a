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
	// healthy is the number of healthy pods, and desired the number that the budget asks for, both before the failure. Upstream derives
	// desired from the controllers of the pods that it finds, so after the failure a budget whose pods are all gone would ask for none.
	healthy, desired int
	// reported means that the budget covers a pod of a workload in the report.
	reported bool
}

// breaks reports whether the budget is met now, and not once it has lost that many healthy pods. A budget that asks for none, or whose
// status is empty, is always met.
func (b *budget) breaks(lost int) bool {
	return b.healthy >= b.desired && max(0, b.healthy-lost) < b.desired
}

// isHealthy reports whether budgets count the pod, like countHealthyPods in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/disruption/disruption.go.
func isHealthy(pod *v1.Pod) bool {
	return pod.DeletionTimestamp == nil && podutil.IsPodReady(pod)
}

// indexBudgets returns the budgets by namespace and name, and a function that returns the indexes of the budgets that cover a pod.
func indexBudgets(state *cluster.State) (budgets []budget, covering func(*v1.Pod) []int) {
	sorted := slices.SortedFunc(slices.Values(state.PodDisruptionBudgets), func(a, b *policyv1.PodDisruptionBudget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var selectors cluster.Selectors
	for _, pdb := range sorted {
		if selectors.Add(pdb.Namespace, pdb.Spec.Selector) != nil {
			continue // upstream also skips invalid selectors
		}
		budgets = append(budgets, budget{
			namespace: pdb.Namespace, name: pdb.Name, healthy: int(pdb.Status.CurrentHealthy), desired: int(pdb.Status.DesiredHealthy),
		})
	}
	return budgets, selectors.Matching
}
