package explain

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Changes of rules that keep pods of one workload apart, and that select pods of other workloads, too: those of the same application, or all pods of a
// namespace.

// selectOwnPods returns the attempts that let each hard spread constraint and each required anti-affinity select the pods of the workload alone, by the
// labels of the workload's own selector.
func (p *pendingPod) selectOwnPods() []attempt {
	if p.spec == nil || p.member != nil || p.object == nil {
		return nil
	}
	own := cluster.Selector(p.object)
	if own == nil || len(own.MatchLabels) == 0 {
		return nil
	}
	var all []candidate
	for i := range p.spec.TopologySpreadConstraints {
		if c := &p.spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == v1.DoNotSchedule && p.refusedBy("PodTopologySpread") {
			all = append(all, p.narrowSelector(c.LabelSelector, own, "spread over "+c.TopologyKey, func(spec *v1.PodSpec) *metav1.LabelSelector {
				return spec.TopologySpreadConstraints[i].LabelSelector
			})...)
		}
	}
	for i, term := range antiAffinityTerms(p.spec) {
		if p.refusedBy("InterPodAffinity") {
			all = append(all, p.narrowSelector(term.LabelSelector, own, "required anti-affinity over "+term.TopologyKey, func(spec *v1.PodSpec) *metav1.LabelSelector {
				return antiAffinityTerms(spec)[i].LabelSelector
			})...)
		}
	}
	return p.withStrategies(all)
}

func antiAffinityTerms(spec *v1.PodSpec) []v1.PodAffinityTerm {
	if spec.Affinity == nil || spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// narrowSelector returns the change that adds to a rule's selector the labels of the workload's own selector that it lacks; none if the rule selects no
// pod of another workload besides the workload's own pods.
func (p *pendingPod) narrowSelector(selector, own *metav1.LabelSelector, where string, in func(*v1.PodSpec) *metav1.LabelSelector) []candidate {
	selects, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || !selects.Matches(labels.Set(p.pod.Labels)) {
		return nil
	}
	more := map[string]string{}
	for key, value := range own.MatchLabels {
		if selector.MatchLabels[key] != value {
			more[key] = value
		}
	}
	var others []string
	for _, pod := range p.step.State.Pods {
		owner := p.ownerOf(pod)
		if pod.Spec.NodeName != "" && owner != p.owner && pod.Namespace == p.pod.Namespace && selects.Matches(labels.Set(pod.Labels)) && !labels.SelectorFromSet(more).Matches(labels.Set(pod.Labels)) {
			others = append(others, owner.Qualified())
		}
	}
	if len(more) == 0 || len(others) == 0 {
		return nil
	}
	return []candidate{{
		change: fmt.Sprintf("select %s, too, in the %s, so that only its own pods count", words.And(pairsOf(more)), where),
		price:  []string{"pods of " + words.Few(list.Distinct(others)) + " count no longer"},
		edit: func(spec *v1.PodSpec) {
			narrowed := in(spec)
			if narrowed.MatchLabels == nil {
				narrowed.MatchLabels = map[string]string{}
			}
			maps.Copy(narrowed.MatchLabels, more)
		},
	}}
}
