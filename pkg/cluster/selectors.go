package cluster

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/list"
)

// Selectors finds which of many selectors, such as those of budgets or workloads, match a pod. To match every pod with every selector takes
// seconds in a large cluster. Most selectors require a label, so an index by label leaves only a few to try for each pod. The zero value is
// empty.
type Selectors struct {
	selectors []labels.Selector
	// byLabel has the positions of selectors by the first label that each requires; byNamespace has the positions of selectors that require
	// no label.
	byLabel     map[label][]int
	byNamespace map[string][]int
}

// label is a label of a pod in a namespace.
type label struct{ namespace, key, value string }

// Add adds a selector of a namespace. The first selector has position 0. Add returns an error for an invalid selector and does not add it.
func (s *Selectors) Add(namespace string, selector *metav1.LabelSelector) error {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err == nil {
		s.AddParsed(namespace, selector, matching)
	}
	return err
}

// AddParsed does what Add does, with a selector that has been parsed.
func (s *Selectors) AddParsed(namespace string, selector *metav1.LabelSelector, matching labels.Selector) {
	at := len(s.selectors)
	s.selectors = append(s.selectors, matching)
	if selector == nil || len(selector.MatchLabels) == 0 {
		if s.byNamespace == nil {
			s.byNamespace = map[string][]int{}
		}
		s.byNamespace[namespace] = append(s.byNamespace[namespace], at)
		return
	}
	if s.byLabel == nil {
		s.byLabel = map[label][]int{}
	}
	key := slices.Min(slices.Collect(maps.Keys(selector.MatchLabels)))
	first := label{namespace, key, selector.MatchLabels[key]}
	s.byLabel[first] = append(s.byLabel[first], at)
}

// Matching returns the positions of the selectors that match the pod, in order.
func (s *Selectors) Matching(pod *v1.Pod) []int {
	var matching []int
	try := func(candidates []int) {
		for _, i := range candidates {
			if s.selectors[i].Matches(labels.Set(pod.Labels)) {
				matching = append(matching, i)
			}
		}
	}
	try(s.byNamespace[pod.Namespace])
	if len(s.byLabel) > 0 {
		for key, value := range pod.Labels {
			try(s.byLabel[label{pod.Namespace, key, value}])
		}
	}
	slices.Sort(matching)
	return matching
}

// Selecting returns a function that finds the objects whose selectors match a pod, in order. Like upstream it skips objects with invalid
// selectors.
func Selecting[T Object](objs []T, selector func(T) *metav1.LabelSelector) func(*v1.Pod) []T {
	var selectors Selectors
	valid := list.Where(objs, func(obj T) bool { return selectors.Add(obj.GetNamespace(), selector(obj)) == nil })
	return func(pod *v1.Pod) (matching []T) {
		for _, i := range selectors.Matching(pod) {
			matching = append(matching, valid[i])
		}
		return matching
	}
}

// BudgetsOf returns the PodDisruptionBudgets that select the pod, in order. For many pods of one state, [State.Budgets] is faster.
func (s *State) BudgetsOf(pod *v1.Pod) []*policyv1.PodDisruptionBudget {
	return list.Where(s.PodDisruptionBudgets, func(pdb *policyv1.PodDisruptionBudget) bool {
		of := pdb.Spec.Selector
		if pdb.Namespace != pod.Namespace || of != nil && !labels.ValidatedSetSelector(of.MatchLabels).Matches(labels.Set(pod.Labels)) {
			return false // the rest of the selector need not be parsed
		}
		selector, err := metav1.LabelSelectorAsSelector(of)
		return err == nil && selector.Matches(labels.Set(pod.Labels))
	})
}

// Budgets returns a function that finds the PodDisruptionBudgets that select a pod.
func (s *State) Budgets() func(*v1.Pod) []*policyv1.PodDisruptionBudget {
	return Selecting(s.PodDisruptionBudgets, func(pdb *policyv1.PodDisruptionBudget) *metav1.LabelSelector { return pdb.Spec.Selector })
}
