package blast

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
)

// budget is a PodDisruptionBudget as the disruption controller last saw it.
type budget struct {
	namespace, name string
	selector        labels.Selector
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

// indexBudgets returns the budgets by namespace and name, and a function that tells the positions of those that cover a pod.
func indexBudgets(state *cluster.State) (budgets []budget, covering func(*v1.Pod) []int) {
	sorted := slices.SortedFunc(slices.Values(state.PodDisruptionBudgets), func(a, b *policyv1.PodDisruptionBudget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	// Most selectors ask for a label, so that only few have to be tried on each pod.
	type label struct{ namespace, key, value string }
	byLabel, byNamespace := map[label][]int{}, map[string][]int{}
	for _, pdb := range sorted {
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil {
			continue // Upstream too skips a selector that it cannot read.
		}
		i := len(budgets)
		budgets = append(budgets, budget{
			namespace: pdb.Namespace, name: pdb.Name, selector: selector,
			healthy: int(pdb.Status.CurrentHealthy), desired: int(pdb.Status.DesiredHealthy),
		})
		if s := pdb.Spec.Selector; s != nil && len(s.MatchLabels) > 0 {
			key := slices.Min(slices.Collect(maps.Keys(s.MatchLabels)))
			l := label{pdb.Namespace, key, s.MatchLabels[key]}
			byLabel[l] = append(byLabel[l], i)
		} else {
			byNamespace[pdb.Namespace] = append(byNamespace[pdb.Namespace], i)
		}
	}
	return budgets, func(pod *v1.Pod) []int {
		var covering []int
		try := func(candidates []int) {
			for _, i := range candidates {
				if budgets[i].selector.Matches(labels.Set(pod.Labels)) {
					covering = append(covering, i)
				}
			}
		}
		try(byNamespace[pod.Namespace])
		if len(byLabel) > 0 {
			for key, value := range pod.Labels {
				try(byLabel[label{pod.Namespace, key, value}])
			}
		}
		slices.Sort(covering)
		return covering
	}
}
