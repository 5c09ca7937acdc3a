package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/words"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// because explains in a sentence what decided where the pods of a workload are: what the filters left, and which scores chose among that.
// rules are the paths of the pods' rules that the sentence mentions.
type because struct {
	of       cluster.Ref
	sentence string
	left     []Left
	rules    []string
}

// newWhy explains in one sentence per workload what decided the step: which nodes were left to choose from, and which scores chose. The
// sentences derive from what the plugins did, pod by pod. Workloads with Pending pods come first; workloads without placed or Pending pods
// are left out.
func newWhy(s *simulation.Step) []because {
	owner := s.State.Owners()
	var order []cluster.Ref
	placed := map[cluster.Ref][]placement.Placement{}
	pending := map[cluster.Ref][]placement.Pending{}
	seen := map[cluster.Ref]bool{}
	note := func(o cluster.Ref) cluster.Ref {
		if !seen[o] {
			seen[o] = true
			order = append(order, o)
		}
		return o
	}
	for _, p := range s.Placed {
		o := note(owner(p.Pod))
		placed[o] = append(placed[o], p)
	}
	for _, p := range s.Pending {
		o := note(owner(p.Pod))
		pending[o] = append(pending[o], p)
	}
	slices.SortStableFunc(order, func(a, b cluster.Ref) int { return cmp.Compare(min(len(pending[b]), 1), min(len(pending[a]), 1)) })
	var all []because
	for _, o := range order {
		groups := groupByRefusals(placed[o])
		parts := append(explainPlaced(placed[o], describeLeft(groups)), explainPending(pending[o], s.State)...)
		all = append(all, because{
			of: o, sentence: o.String() + ": " + strings.Join(parts, "; ") + ".", left: groups, rules: explainedRules(placed[o], pending[o], s.State),
		})
	}
	return all
}

// ruleDecision sums up what one rule decided, or several rules together.
type ruleDecision struct {
	credit string // which rules decided, in words
	them   string // the pronoun for the rules
	pods   int
	margin int64  // the smallest, in points
	over   string // the runner-up, if the rules decided for one pod
	equal  int    // largest number of nodes that would have tied without the rules
}

// maxRules is the number of rules that a sentence lists. The others decided for fewer pods.
const maxRules = 3

// explainPlaced says what chose among the nodes that the filters left. If left is empty, the filters refused no node, and the sentence gives
// the number of equal nodes.
func explainPlaced(placed []placement.Placement, left string) []string {
	forced := 0
	var equal []int // the number of nodes, for each pod that found only equal ones
	var rules []*ruleDecision
	for _, p := range placed {
		switch {
		case p.Scored == 0:
			forced++
		case p.Ties == p.Scored:
			equal = append(equal, p.Ties)
		default:
			rules = creditRules(rules, p)
		}
	}
	var parts []string
	if left != "" {
		parts = append(parts, left)
	}
	if len(equal) > 0 {
		part := describePods(len(equal), len(placed)) + " found only equal nodes"
		if left == "" {
			part += fmt.Sprintf(" (%s)", formatRange(slices.Min(equal), slices.Max(equal)))
		}
		parts = append(parts, part)
	}
	if forced > 0 && (left == "" || forced < len(placed)) { // otherwise the text left says so
		parts = append(parts, describePods(forced, len(placed))+" had a single node left")
	}
	slices.SortStableFunc(rules, func(a, b *ruleDecision) int { return cmp.Compare(b.pods, a.pods) })
	for _, r := range rules[:min(len(rules), maxRules)] {
		part := fmt.Sprintf("%s for %s, by %s over %s", r.credit, describePods(r.pods, len(placed)), words.Count(int(r.margin), "point"), r.over)
		if r.pods > 1 {
			part = fmt.Sprintf("%s for %s, by %s or more", r.credit, describePods(r.pods, len(placed)), words.Count(int(r.margin), "point"))
		}
		if r.equal > 1 {
			part += fmt.Sprintf(" (without %s, %d equal nodes)", r.them, r.equal)
		}
		parts = append(parts, part)
	}
	return parts
}

// creditRules counts a pod for the rules that decided for it.
func creditRules(rules []*ruleDecision, p placement.Placement) []*ruleDecision {
	credit := p.Credit(func(plugin string) string { return describePlugin(plugin, p.Pod) })
	equal := p.Without
	if len(p.Deciders) > 1 && !p.Together {
		equal = 0 // each has its own number
	}
	i := slices.IndexFunc(rules, func(r *ruleDecision) bool { return r.credit == credit })
	if i < 0 {
		return append(rules, &ruleDecision{credit: credit, them: words.Pick(len(p.Deciders), "it", "them"), pods: 1, margin: p.Margin, over: p.RunnerUp, equal: equal})
	}
	r := rules[i]
	r.pods++
	r.margin = min(r.margin, p.Margin)
	r.equal = max(r.equal, equal)
	return rules
}

// describePlugin names a score plugin, and the rule of the pod that the plugin applies.
func describePlugin(plugin string, pod *v1.Pod) string {
	switch plugin {
	case "PodTopologySpread":
		if len(pod.Spec.TopologySpreadConstraints) == 0 {
			return "default PodTopologySpread (not a rule of the pods)"
		}
		return "the pods' own topologySpreadConstraints"
	case "InterPodAffinity":
		var kinds []string
		if affinity := pod.Spec.Affinity; affinity != nil {
			if affinity.PodAffinity != nil {
				kinds = appendPreference(kinds, "affinity", affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
			}
			if affinity.PodAntiAffinity != nil {
				kinds = appendPreference(kinds, "anti-affinity", affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
			}
		}
		if len(kinds) == 0 {
			return "other pods' affinity"
		}
		return "the preferred " + words.And(kinds)
	}
	return plugin
}

// appendPreference appends a kind of preferred terms with the terms' topology keys, if there are any.
func appendPreference(kinds []string, kind string, terms []v1.WeightedPodAffinityTerm) []string {
	var keys []string
	for _, term := range terms {
		if key := term.PodAffinityTerm.TopologyKey; !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return kinds
	}
	return append(kinds, kind+" over "+words.And(keys))
}

// explainPending says how many pods are Pending, for each reason.
func explainPending(pending []placement.Pending, state *cluster.State) []string {
	// Group the pods that were rejected for the same reasons.
	var parts []string
	counts := map[string]int{}
	terms := exhaustedTerms{state: state}
	for _, p := range pending {
		reason := explainRefusal(p, &terms)
		if counts[reason] == 0 {
			parts = append(parts, reason)
		}
		counts[reason]++
	}
	for i, reason := range parts {
		parts[i] = fmt.Sprintf("%s Pending, because %s", podsAre(counts[reason]), reason)
	}
	return parts
}

// explainRefusal says why the scheduler does not place the pod.
func explainRefusal(p placement.Pending, terms *exhaustedTerms) string {
	if onlyAffinityRefused(p.Reasons) {
		if term, domains := terms.find(p.Pod); term != "" {
			return fmt.Sprintf("the required anti-affinity allows one pod in each %s, and every one that takes such pods has one (%s)", term, words.Few(domains))
		}
	}
	if scheduler, left := strings.CutPrefix(p.Untried, placement.LeftTo); left {
		return "the scheduler " + scheduler + " is not simulated"
	}
	if p.Untried != "" {
		return "the scheduler does not try it: " + p.Untried
	}
	if p.Failed {
		return "a plugin of the scheduler fails: " + strings.TrimSuffix(p.Message, ".")
	}
	if len(p.Reasons) == 0 {
		return strings.TrimSuffix(p.Message, ".")
	}
	var refusals []string
	for _, reason := range p.Reasons {
		refusals = append(refusals, fmt.Sprintf("%s refuses %s (%s)", reason.Plugin, words.Count(reason.Nodes, "node"), reason.Message))
	}
	return words.And(refusals)
}

// onlyAffinityRefused reports whether only pod affinity, taints and cordons rejected nodes, and pod affinity did.
func onlyAffinityRefused(reasons []placement.Reason) bool {
	apart := false
	for _, reason := range reasons {
		switch reason.Plugin {
		case "InterPodAffinity":
			apart = true
		case "TaintToleration", "NodeUnschedulable":
		default:
			return false
		}
	}
	return apart
}

// exhaustedTerms finds exhausted terms. It keeps the last one, since the pods of a workload have the same terms: looking at all nodes and pods
// for each of thousands of pods takes minutes.
type exhaustedTerms struct {
	state   *cluster.State
	pod     *v1.Pod // the last one
	key     string
	domains []string
}

// find is [findExhaustedTerm] in the state.
func (e *exhaustedTerms) find(pod *v1.Pod) (key string, domains []string) {
	same := e.pod != nil && e.pod.Namespace == pod.Namespace && maps.Equal(e.pod.Labels, pod.Labels) &&
		apiequality.Semantic.DeepEqual(e.pod.Spec.Affinity, pod.Spec.Affinity) && apiequality.Semantic.DeepEqual(e.pod.Spec.Tolerations, pod.Spec.Tolerations)
	if !same {
		e.pod = pod
		e.key, e.domains = findExhaustedTerm(pod, e.state)
	}
	return e.key, e.domains
}

// findExhaustedTerm returns the topology key of a required anti-affinity term of the pod that matches a pod in every domain of the key, and the
// domains. It ignores terms with namespaces, and nodes whose taints the pod does not tolerate.
func findExhaustedTerm(pod *v1.Pod, state *cluster.State) (string, []string) {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return "", nil
	}
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err != nil || len(term.Namespaces) > 0 || term.NamespaceSelector != nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue // a rule between the pod and others allows no pod beside those, not one
		}
		taken := map[string]bool{}
		for _, other := range state.Pods {
			if other.Namespace == pod.Namespace && other.Spec.NodeName != "" && selector.Matches(labels.Set(other.Labels)) {
				taken[other.Spec.NodeName] = true
			}
		}
		open := list.Without(state.Nodes, func(node *v1.Node) bool { return cluster.Repels(node, pod) })
		domains, _ := topology.Domains(open, term.TopologyKey)
		var values []string
		for _, domain := range domains {
			for _, node := range domain.Nodes {
				if taken[node.Name] {
					values = append(values, domain.Value)
					break
				}
			}
		}
		if len(domains) > 0 && len(values) == len(domains) {
			return term.TopologyKey, values
		}
	}
	return "", nil
}

// describePods describes n of all pods: "the pod", "both pods", "all 7 pods" or "3 of 7 pods".
func describePods(n, all int) string {
	switch {
	case all == 1 && n == 1:
		return "the pod"
	case all == 2 && n == 2:
		return "both pods"
	case n == all:
		return fmt.Sprintf("all %d pods", n)
	}
	return fmt.Sprintf("%d of %d pods", n, all)
}

func podsAre(n int) string {
	if n == 1 {
		return "1 pod is"
	}
	return fmt.Sprintf("%d pods are", n)
}
