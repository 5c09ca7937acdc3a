package simulation

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/placement"
	"github.com/faultline/faultline/pkg/topology"
)

// Why says in one sentence a workload what decided the step: what was left to choose from, and which scores chose. It is put
// together from what the plugins did, pod by pod. Workloads that nothing happened to are left out.
func (s *Step) Why() []string {
	owner := s.State.Owners()
	var order []cluster.Owner
	placed := map[cluster.Owner][]placement.Placement{}
	pending := map[cluster.Owner][]placement.Pending{}
	seen := map[cluster.Owner]bool{}
	note := func(o cluster.Owner) cluster.Owner {
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
	var sentences []string
	for _, o := range order {
		parts := append(whyPlaced(placed[o]), whyPending(pending[o], s.State)...)
		sentences = append(sentences, o.String()+": "+strings.Join(parts, "; ")+".")
	}
	return sentences
}

// cause is a way in which a node came to be chosen.
type cause struct {
	text   string
	pods   int
	margin int64 // the smallest
	over   string
	equal  int // nodes that would have tied without it, the most
}

func whyPlaced(placed []placement.Placement) []string {
	var forced, equal, agreed int
	var equalNodes int
	var refusers []string
	var deciders []*cause
	for _, p := range placed {
		switch {
		case p.Scored == 0:
			forced++
			for plugin := range p.Filtered {
				if !slices.Contains(refusers, plugin) {
					refusers = append(refusers, plugin)
				}
			}
		case p.Ties == p.Scored:
			equal++
			equalNodes = max(equalNodes, p.Ties)
		case len(p.Deciders) == 0:
			agreed++
		default:
			// The plugin without which most nodes would have been equal says most.
			decider := p.Deciders[0]
			for _, other := range p.Deciders {
				if other.Without > decider.Without {
					decider = other
				}
			}
			deciders = count(deciders, whose(decider.Plugin, p.Pod), p, decider.Without)
		}
	}
	var parts []string
	if equal > 0 {
		parts = append(parts, fmt.Sprintf("%s had only equal nodes to choose from (%d)", ofAll(equal, len(placed)), equalNodes))
	}
	if forced > 0 {
		part := fmt.Sprintf("%s had one node left", ofAll(forced, len(placed)))
		if len(refusers) > 0 {
			part += " after " + joined(slices.Sorted(slices.Values(refusers)))
		}
		parts = append(parts, part)
	}
	for _, c := range deciders {
		part := fmt.Sprintf("%s decided for %s, by %d over %s", c.text, ofAll(c.pods, len(placed)), c.margin, c.over)
		if c.pods > 1 {
			part = fmt.Sprintf("%s decided for %s, by at least %d", c.text, ofAll(c.pods, len(placed)), c.margin)
		}
		if c.equal > 1 {
			part += fmt.Sprintf(", and without it %d nodes would have been equal", c.equal)
		}
		parts = append(parts, part)
	}
	if agreed > 0 {
		parts = append(parts, fmt.Sprintf("for %s several plugins agreed, and none decided alone", ofAll(agreed, len(placed))))
	}
	return parts
}

func count(causes []*cause, text string, p placement.Placement, equal int) []*cause {
	for _, c := range causes {
		if c.text == text {
			c.pods++
			c.margin = min(c.margin, p.Margin)
			c.equal = max(c.equal, equal)
			return causes
		}
	}
	return append(causes, &cause{text: text, pods: 1, margin: p.Margin, over: p.RunnerUp.Node, equal: equal})
}

// whose names a score plugin together with the rule of the pod that it follows.
func whose(plugin string, pod *v1.Pod) string {
	switch plugin {
	case "PodTopologySpread":
		if len(pod.Spec.TopologySpreadConstraints) == 0 {
			return "PodTopologySpread's default constraints, not a rule of the pods,"
		}
		return "the pods' own topologySpreadConstraints"
	case "InterPodAffinity":
		var keys []string
		if affinity := pod.Spec.Affinity; affinity != nil {
			if affinity.PodAffinity != nil {
				keys = preferredKeys(keys, affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
			}
			if affinity.PodAntiAffinity != nil {
				keys = preferredKeys(keys, affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
			}
		}
		if len(keys) == 0 {
			return "the affinity of other pods"
		}
		return "the preferred pod affinity over " + joined(keys)
	}
	return plugin
}

func preferredKeys(keys []string, terms []v1.WeightedPodAffinityTerm) []string {
	for _, term := range terms {
		if key := term.PodAffinityTerm.TopologyKey; !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func whyPending(pending []placement.Pending, state *cluster.State) []string {
	// Pods of one owner that are refused for the same reasons are one part.
	var parts []string
	counts := map[string]int{}
	for _, p := range pending {
		reason := whyRefused(p, state)
		if counts[reason] == 0 {
			parts = append(parts, reason)
		}
		counts[reason]++
	}
	for i, reason := range parts {
		parts[i] = fmt.Sprintf("%s Pending, because %s", are(counts[reason]), reason)
	}
	return parts
}

func whyRefused(p placement.Pending, state *cluster.State) string {
	if term, domains := exhausted(p.Pod, state); term != "" {
		return fmt.Sprintf("the required anti-affinity allows one pod for each %s, and all %d (%s) have one", term, len(domains), few(domains))
	}
	if len(p.Reasons) == 0 {
		return strings.TrimSuffix(p.Message, ".")
	}
	var refusals []string
	for _, reason := range p.Reasons {
		refusals = append(refusals, fmt.Sprintf("%s refuses %s (%s)", reason.Plugin, plural(reason.Nodes, "node"), reason.Message))
	}
	return joined(refusals)
}

// exhausted returns the topology key of a required anti-affinity term of the pod that has a matching pod in every domain of
// the key, with the domains.
func exhausted(pod *v1.Pod, state *cluster.State) (string, []string) {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return "", nil
	}
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err != nil || len(term.Namespaces) > 0 || term.NamespaceSelector != nil {
			continue
		}
		taken := map[string]bool{}
		for _, other := range state.Pods {
			if other.Namespace == pod.Namespace && other.Spec.NodeName != "" && selector.Matches(labels.Set(other.Labels)) {
				taken[other.Spec.NodeName] = true
			}
		}
		domains, _ := topology.Domains(schedulable(state.Nodes, pod), term.TopologyKey)
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
