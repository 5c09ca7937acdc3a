package rebalance

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/topology"
)

// gap is a workload that has pods which the goal counts. candidates are the pods to delete, one on each node.
type gap struct {
	workload   cluster.Ref
	pods       int
	candidates []*v1.Pod
}

// workloadPods has the running pods of a workload.
type workloadPods struct {
	workload cluster.Ref
	pods     []*v1.Pod
}

// findGaps counts the pods that the goal counts, for each workload that has any, in order of arrival.
func (r *rebalancing) findGaps(state *cluster.State) []gap {
	var all []*workloadPods
	of := map[cluster.Ref]*workloadPods{}
	owner, nodes := state.Owners(), state.NodesByName()
	for _, pod := range state.Pods {
		if nodes[pod.Spec.NodeName] == nil || !cluster.IsActive(pod) || cluster.RunsOnce(pod) {
			continue
		}
		workload := owner(pod)
		if workload.Kind == "DaemonSet" || workload.Kind == "Pod" || workload.Kind == "Node" {
			continue
		}
		if of[workload] == nil {
			of[workload] = &workloadPods{workload: workload}
			all = append(all, of[workload])
		}
		of[workload].pods = append(of[workload].pods, pod)
	}
	domains, _ := topology.Domains(state.Nodes, r.Level)
	var gaps []gap
	for _, s := range all {
		var g gap
		if r.Goal == Soft {
			g = s.countUnmet(state, nodes)
		} else if len(s.pods) > 1 {
			g = s.countUneven(domains, nodes, r.Level, r.Goal)
		}
		if g.pods > 0 {
			g.workload = s.workload
			gaps = append(gaps, g)
		}
	}
	return gaps
}

// countUneven counts the pods beyond an even spread: in all domains together or, for the radius, in the fullest domain. With 5 pods in 2
// domains, 3 are even, so (5, 0) has 2 pods beyond.
func (s *workloadPods) countUneven(domains []topology.Domain, nodes map[string]*v1.Node, key string, goal Goal) gap {
	on := map[string]int{}
	for _, pod := range s.pods {
		on[pod.Spec.NodeName]++
	}
	counts, _ := metric.CountByDomain(domains, on, s.pods[0])
	counts = slices.DeleteFunc(counts, func(d metric.DomainPods) bool { return d.Pods == 0 && !s.fitsDomain(domains, d.Domain) })
	if len(counts) == 0 {
		return gap{}
	}
	even := blast.EvenLoss(len(s.pods), len(counts), 1)
	var g gap
	var over []string
	for _, d := range counts {
		beyond := max(0, d.Pods-even)
		if beyond > 0 {
			over = append(over, d.Domain)
		}
		if goal == Radius {
			g.pods = max(g.pods, beyond)
		} else {
			g.pods += beyond
		}
	}
	g.candidates = oneOnEach(s.pods, func(pod *v1.Pod) bool {
		value, labelled := topology.Value(nodes[pod.Spec.NodeName].Labels, key)
		return labelled && slices.Contains(over, value)
	})
	return g
}

// fitsDomain reports whether the node affinity and the tolerations of the pods allow any node of the domain.
func (s *workloadPods) fitsDomain(domains []topology.Domain, value string) bool {
	for _, d := range domains {
		if d.Value == value {
			return slices.ContainsFunc(d.Nodes, func(node *v1.Node) bool { return cluster.Attracts(node, s.pods[0]) && !cluster.Repels(node, s.pods[0]) })
		}
	}
	return false
}

// oneOnEach returns the first of the wanted pods on each node.
func oneOnEach(pods []*v1.Pod, wanted func(*v1.Pod) bool) []*v1.Pod {
	var all []*v1.Pod
	seen := map[string]bool{}
	for _, pod := range pods {
		if on := pod.Spec.NodeName; !seen[on] && wanted(pod) {
			seen[on] = true
			all = append(all, pod)
		}
	}
	return all
}

// countUnmet counts the pods that do not meet a preferred rule: a spread constraint with more skew than maxSkew, an anti-affinity to other pods
// of the workload, or a preference for nodes.
func (s *workloadPods) countUnmet(state *cluster.State, nodes map[string]*v1.Node) gap {
	sample, bad := s.pods[0], map[*v1.Pod]bool{}
	counts := func(key string, selector *metav1.LabelSelector) (map[string]int, bool) {
		matches, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil || !matches.Matches(labels.Set(sample.Labels)) {
			return nil, false
		}
		in := map[string]int{}
		for _, node := range state.Nodes {
			if value, labelled := topology.Value(node.Labels, key); labelled && cluster.Attracts(node, sample) && !cluster.Repels(node, sample) {
				in[value] += 0
			}
		}
		for _, pod := range s.pods {
			if value, labelled := topology.Value(nodes[pod.Spec.NodeName].Labels, key); labelled {
				in[value]++
			}
		}
		return in, true
	}
	mark := func(key string, most int) {
		seen := map[string]int{}
		for _, pod := range s.pods {
			if value, labelled := topology.Value(nodes[pod.Spec.NodeName].Labels, key); labelled {
				if seen[value]++; seen[value] > most {
					bad[pod] = true
				}
			}
		}
	}
	for _, c := range sample.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != v1.ScheduleAnyway {
			continue
		}
		if in, own := counts(c.TopologyKey, c.LabelSelector); own && len(in) > 0 {
			least := len(s.pods)
			for _, n := range in {
				least = min(least, n)
			}
			mark(c.TopologyKey, least+int(c.MaxSkew))
		}
	}
	if a := sample.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		for _, term := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			if in, own := counts(term.PodAffinityTerm.TopologyKey, term.PodAffinityTerm.LabelSelector); own && len(in) > 0 {
				mark(term.PodAffinityTerm.TopologyKey, (len(s.pods)+len(in)-1)/len(in))
			}
		}
	}
	if a := sample.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		for _, preference := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			terms, err := nodeaffinity.NewPreferredSchedulingTerms([]v1.PreferredSchedulingTerm{preference})
			if err != nil {
				continue
			}
			for _, pod := range s.pods {
				if terms.Score(nodes[pod.Spec.NodeName]) == 0 {
					bad[pod] = true
				}
			}
		}
	}
	return gap{pods: len(bad), candidates: oneOnEach(s.pods, func(pod *v1.Pod) bool { return bad[pod] })}
}
