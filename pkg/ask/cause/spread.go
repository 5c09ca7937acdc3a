package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Spread is a hard topology spread constraint that no refused node satisfies.
type Spread struct {
	// TopologyKey, MaxSkew and MinDomains are the fields of the constraint.
	TopologyKey string `json:"topologyKey"`
	MaxSkew     int32  `json:"maxSkew"`
	MinDomains  int32  `json:"minDomains,omitempty"`
	// Domains are the domains that the plugin counts, with the number of pods that it counts in each: the fewest pods first, equal numbers
	// by name.
	Domains []Domain `json:"domains,omitempty"`
	// Least is the smallest number of pods in a domain; 0 if there are fewer domains than MinDomains.
	Least int `json:"least"`
	// Others are the pods of other workloads that the constraint's selector matches, too, in the domains of refused nodes. They are missing for a pod
	// without a controller, which is like any other of its labels.
	Others []OtherPods `json:"others,omitempty"`
	// Unlabelled are the refused nodes without the label.
	Unlabelled []string `json:"unlabelled,omitempty"`
	// Blocked says why the domains with the fewest pods take no pod: each reason, and the nodes that it applies to.
	Blocked []Blocked `json:"blocked,omitempty"`
	// IgnoresTaints means that one of the domains with the fewest pods counts only by nodes whose taints the pod does not tolerate.
	IgnoresTaints bool `json:"ignoresTaints,omitempty"`
	// IgnoresAffinity means that one of these domains counts only by nodes that the pod's node selector and affinity leave out.
	IgnoresAffinity bool `json:"ignoresAffinity,omitempty"`

	constraint *v1.TopologySpreadConstraint
}

// Domain is a failure domain and the pods that a rule counts in it.
type Domain struct {
	Domain string `json:"domain"`
	Pods   int    `json:"pods"`
}

// OtherPods are pods of one workload that a rule of another workload counts in a domain.
type OtherPods struct {
	// Workload is namespace/kind/name.
	Workload string `json:"workload"`
	Domain   string `json:"domain"`
	Pods     int    `json:"pods"`
}

// Blocked is a reason why nodes take no pod, and these nodes.
type Blocked struct {
	Nodes []string `json:"nodes"`
	// Why is the reason as a state of the node: "untolerated taint dedicated=db:NoSchedule", "cordoned", "full, Insufficient cpu".
	Why string `json:"why"`
}

// spreads returns a cause for each hard constraint of the pod that some node violates which PodTopologySpread refuses. It counts pods as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/podtopologyspread/filtering.go does.
func spreads(v *view, r refused) []Cause {
	constraints := list.Where(v.pod.Spec.TopologySpreadConstraints, func(c v1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable == v1.DoNotSchedule })
	var causes []Cause
	blamed := map[string]bool{} // nodes that have a cause: the plugin stops at the first constraint that a node violates
	for i := range constraints {
		c := &constraints[i]
		selector := spreadSelector(c, v.pod)
		spread := Spread{TopologyKey: c.TopologyKey, MaxSkew: c.MaxSkew, MinDomains: ptr.Deref(c.MinDomains, 0), constraint: c}
		spread.Domains = v.countSpread(constraints, c, selector)
		if len(spread.Domains) > 0 && len(spread.Domains) >= int(ptr.Deref(c.MinDomains, 1)) {
			spread.Least = spread.Domains[0].Pods
		}
		self := 0
		if selector.Matches(labels.Set(v.pod.Labels)) {
			self = 1
		}
		counts := map[string]int{}
		for _, d := range spread.Domains {
			counts[d.Domain] = d.Pods
		}
		n := 0
		crowded := map[string]bool{}
		for _, node := range r.nodes {
			if blamed[node.Name] {
				continue
			}
			value, labelled := node.Labels[c.TopologyKey]
			if !labelled {
				spread.Unlabelled = append(spread.Unlabelled, node.Name)
			}
			if !labelled || counts[value]+self-spread.Least > int(c.MaxSkew) {
				blamed[node.Name] = true
				crowded[value] = labelled
				n++
			}
		}
		if n == 0 {
			continue
		}
		spread.Others = v.countOthers(constraints, c, selector, crowded)
		v.addBlocked(&spread, c)
		causes = append(causes, Cause{Plugin: "PodTopologySpread", Nodes: n, Sentence: spread.sentence(), Spread: &spread})
	}
	return causes
}

// spreadSelector returns the constraint's selector, including its matchLabelKeys.
func spreadSelector(c *v1.TopologySpreadConstraint, pod *v1.Pod) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	if err != nil {
		return labels.Nothing() // the API server refuses such a selector
	}
	for _, key := range c.MatchLabelKeys {
		if value, labelled := pod.Labels[key]; labelled {
			same, _ := labels.SelectorFromSet(labels.Set{key: value}).Requirements()
			selector = selector.Add(same...)
		}
	}
	return selector
}

// countSpread returns the domains that the constraint counts, with their pods: the domains of nodes that have the topology keys of all
// constraints and that the constraint's policies include.
func (v *view) countSpread(all []v1.TopologySpreadConstraint, c *v1.TopologySpreadConstraint, selector labels.Selector) []Domain {
	counts := map[string]int{}
	v.eachSpread(all, c, selector, func(domain string, pods []*v1.Pod) { counts[domain] += len(pods) })
	return sortedDomains(counts)
}

// eachSpread calls the function for each node that the constraint includes, with its domain and the pods that the constraint counts on it.
func (v *view) eachSpread(all []v1.TopologySpreadConstraint, c *v1.TopologySpreadConstraint, selector labels.Selector, visit func(domain string, pods []*v1.Pod)) {
	for _, node := range v.state.Nodes {
		if slices.ContainsFunc(all, func(c v1.TopologySpreadConstraint) bool { _, labelled := node.Labels[c.TopologyKey]; return !labelled }) || !cluster.SpreadIncludes(c, node, v.pod) {
			continue
		}
		visit(node.Labels[c.TopologyKey], list.Where(v.podsOn[node.Name], func(pod *v1.Pod) bool {
			return pod.DeletionTimestamp == nil && pod.Namespace == v.pod.Namespace && (!selector.Empty() || sched.EmptySelectorCounts()) && selector.Matches(labels.Set(pod.Labels))
		}))
	}
}

// countOthers returns the pods of other workloads that the constraint counts in the domains, the most first.
func (v *view) countOthers(all []v1.TopologySpreadConstraint, c *v1.TopologySpreadConstraint, selector labels.Selector, domains map[string]bool) []OtherPods {
	ownerOf := v.state.Owners()
	own := ownerOf(v.pod)
	if own.Kind == "Pod" {
		return nil
	}
	counts := map[OtherPods]int{}
	v.eachSpread(all, c, selector, func(domain string, pods []*v1.Pod) {
		for _, pod := range pods {
			if owner := ownerOf(pod); owner != own && domains[domain] {
				counts[OtherPods{Workload: owner.Qualified(), Domain: domain}]++
			}
		}
	})
	var others []OtherPods
	for of, n := range counts {
		of.Pods = n
		others = append(others, of)
	}
	slices.SortFunc(others, func(a, b OtherPods) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Domain, b.Domain))
	})
	return others
}

// addBlocked adds to s why the domains with the fewest pods take no pod.
func (v *view) addBlocked(s *Spread, c *v1.TopologySpreadConstraint) {
	var at []string
	for _, d := range s.Domains {
		if d.Pods == s.Domains[0].Pods {
			at = append(at, d.Domain)
		}
	}
	tolerated, attracting := map[string]bool{}, map[string]bool{} // domains with a node whose taints the pod tolerates, and that its affinity admits
	for _, node := range v.state.Nodes {
		domain := node.Labels[c.TopologyKey]
		if !slices.Contains(at, domain) || !cluster.SpreadIncludes(c, node, v.pod) {
			continue
		}
		tolerated[domain] = tolerated[domain] || !cluster.Repels(node, v.pod)
		attracting[domain] = attracting[domain] || cluster.Attracts(node, v.pod)
		why := v.explainRefusal(node)
		if why == "" {
			continue
		}
		same := slices.IndexFunc(s.Blocked, func(b Blocked) bool { return b.Why == why })
		if same < 0 {
			same = len(s.Blocked)
			s.Blocked = append(s.Blocked, Blocked{Why: why})
		}
		s.Blocked[same].Nodes = append(s.Blocked[same].Nodes, node.Name)
	}
	s.IgnoresTaints = slices.ContainsFunc(at, func(domain string) bool { return !tolerated[domain] })
	s.IgnoresAffinity = slices.ContainsFunc(at, func(domain string) bool { return !attracting[domain] })
}

// sentence returns, for example, "the spread over topology.kubernetes.io/zone counts e1 1, e2 0 and e3 1; e2 has the fewest (0), so no zone
// may have more than 1 (maxSkew 1); it takes no pod (n-3: no answer from the kubelet) and counts, since nodeTaintsPolicy is Ignore".
func (s *Spread) sentence() string {
	if len(s.Domains) == 0 {
		return fmt.Sprintf("no node that the spread over %s counts has the label: %s", s.TopologyKey, missingLabel(s.Unlabelled))
	}
	least := s.leastDomains()
	noun := DomainNoun(s.TopologyKey)
	var b strings.Builder
	fmt.Fprintf(&b, "the spread over %s counts %s", s.TopologyKey, s.countsText())
	if len(s.Others) > 0 {
		fmt.Fprintf(&b, ", among them pods of others: %s", words.Few(list.Map(s.Others, OtherPods.text)))
	}
	b.WriteString("; ")
	switch {
	case int(s.MinDomains) > len(s.Domains):
		fmt.Fprintf(&b, "minDomains wants %s and there %s %d, so the fewest counts as 0, and no %s may have more than %d (maxSkew)",
			words.Count(int(s.MinDomains), noun), words.Pick(len(s.Domains), "is", "are"), len(s.Domains), noun, s.MaxSkew)
	default:
		fmt.Fprintf(&b, "%s %s the fewest (%d), so no %s may have more than %d (maxSkew %d)",
			words.Few(least), words.Pick(len(least), "has", "have"), s.Least, noun, s.Least+int(s.MaxSkew), s.MaxSkew)
		if len(s.Blocked) > 0 {
			fmt.Fprintf(&b, "; %s no pod (%s)", words.Pick(len(least), "it takes", "they take"), strings.Join(list.Map(s.Blocked, s.blockedText), "; "))
		}
		var ignored []string
		if s.IgnoresTaints {
			ignored = append(ignored, "nodeTaintsPolicy is Ignore")
		}
		if s.IgnoresAffinity {
			ignored = append(ignored, "nodeAffinityPolicy is Ignore")
		}
		if len(ignored) > 0 {
			fmt.Fprintf(&b, " and %s, since %s", words.Pick(len(least), "counts", "count"), words.And(ignored))
		}
	}
	if len(s.Unlabelled) > 0 {
		fmt.Fprintf(&b, "; without the label: %s", words.Few(s.Unlabelled))
	}
	return b.String()
}

// text returns, for example, "3 of api/deployment/worker in eu-a".
func (o OtherPods) text() string { return fmt.Sprintf("%d of %s in %s", o.Pods, o.Workload, o.Domain) }

func missingLabel(nodes []string) string {
	return words.Few(nodes) + words.Pick(len(nodes), " lacks it", " lack it")
}

// countsText returns, for example, "e1 2, e2 0, e3 1", by name.
func (s *Spread) countsText() string {
	byName := slices.SortedFunc(slices.Values(s.Domains), func(a, b Domain) int { return strings.Compare(a.Domain, b.Domain) })
	return words.Few(list.Map(byName, func(d Domain) string { return fmt.Sprintf("%s %d", d.Domain, d.Pods) }))
}

func (s *Spread) leastDomains() []string {
	var names []string
	for _, d := range s.Domains {
		if d.Pods == s.Domains[0].Pods {
			names = append(names, d.Domain)
		}
	}
	return names
}

// blockedText returns, for example, "n-3: no answer from the kubelet"; without the nodes if they are all the domains with the fewest pods.
func (s *Spread) blockedText(b Blocked) string {
	if slices.Equal(slices.Sorted(slices.Values(b.Nodes)), slices.Sorted(slices.Values(s.leastDomains()))) {
		return b.Why
	}
	return words.Few(b.Nodes) + ": " + b.Why
}

// DomainNoun returns the word for one domain of the topology key, such as "zone".
func DomainNoun(key string) string {
	switch key {
	case v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone:
		return "zone"
	case v1.LabelTopologyRegion, v1.LabelFailureDomainBetaRegion:
		return "region"
	case v1.LabelHostname:
		return "node"
	}
	return "domain"
}

func sortedDomains(counts map[string]int) []Domain {
	domains := make([]Domain, 0, len(counts))
	for name, pods := range counts {
		domains = append(domains, Domain{name, pods})
	}
	slices.SortFunc(domains, func(a, b Domain) int {
		if a.Pods != b.Pods {
			return a.Pods - b.Pods
		}
		return strings.Compare(a.Domain, b.Domain)
	})
	return domains
}

// explainRefusal says in a few words why the node refuses the pod; "" if the scheduler did not refuse it.
func (v *view) explainRefusal(node *v1.Node) string {
	verdict, refused := v.verdicts[node.Name]
	if !refused {
		return ""
	}
	switch verdict.Plugin {
	case "NodeUnschedulable":
		return "cordoned"
	case "TaintToleration":
		if taint := cluster.Untolerated(node, v.pod); taint != nil {
			return taintState(taint)
		}
	case "NodeResourcesFit":
		return "full, " + verdict.Status
	case "NodeAffinity":
		return "no match for the pod's node selector or affinity"
	case "VolumeBinding":
		if away := v.unreachedClaims(node); len(away) > 0 {
			return "it does not reach the volume of claim " + words.And(away)
		}
	}
	return verdict.Plugin + ", " + verdict.Status
}
