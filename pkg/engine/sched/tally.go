package sched

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"

	"github.com/faultline/faultline/pkg/engine/memo"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// tally counts, node by node, what the existing pods add to InterPodAffinity's raw scores. With a memo, pods to which the same rules
// between pods apply share a tally, which counts again only the nodes that have changed.
type tally struct {
	profile *profile
	limit   int // of the pods to name; 0: no limit
	own     []matchingTerm
	pod     *v1.Pod
	labels  labels.Set            // of its namespace
	others  map[string]labels.Set // of other pods' namespaces
	terms   []affinityTerm        // by number: the pod's own first, then those of existing pods
	numbers map[affinityTerm]int
	nodes   []nodeTally // by place in the snapshot's list; empty without a memo
}

// nodeTally has the counts of a node, and the node's generation when it was counted.
type nodeTally struct {
	generation int64
	counts     []termCount
}

// termCount is the number of a node's pods that a term counts, with the names of the first of them.
type termCount struct {
	term   int // its number
	domain string
	pods   int
	names  []string
}

// affinityTerm identifies a term: the index of a term of the pod itself, or the controller of existing pods with the term. Pods without a
// controller that have the same term share one.
type affinityTerm struct {
	rule       string // in words
	key        string
	weight     int32
	controller types.UID
}

// tallyKey has all that a tally depends on besides the pods on the nodes.
type tallyKey struct {
	alike memo.ClassKey
	limit int
}

// maxTallied bounds the number of cached tallies times the number of nodes.
const maxTallied = 100_000

// tallyOf returns the tally for the pod of this cycle.
func (p *profile) tallyOf(pod fwk.PodInfo, limit, nodes int) *tally {
	kept := p.engine.memo
	if kept == nil {
		return p.newTally(pod, limit)
	}
	key := tallyKey{kept.CurrentClass(), limit}
	t := p.tallies[key]
	if t == nil {
		if (len(p.tallies)+1)*nodes > maxTallied {
			clear(p.tallies)
		}
		t = p.newTally(pod, limit)
		t.nodes = make([]nodeTally, nodes)
		p.tallies[key] = t
	}
	return t
}

// newTally returns a tally that has the pod's own terms, and no counts.
func (p *profile) newTally(pod fwk.PodInfo, limit int) *tally {
	t := &tally{profile: p, limit: limit, own: ownTerms(pod), pod: pod.GetPod(), others: map[string]labels.Set{}, numbers: map[affinityTerm]int{}}
	t.labels = t.namespaceLabels(t.pod.Namespace)
	for _, term := range t.own {
		t.numberOf(term.affinityTerm)
	}
	return t
}

// numberOf returns the number of the term, and adds the term if it is new.
func (t *tally) numberOf(term affinityTerm) int {
	number, known := t.numbers[term]
	if !known {
		number = len(t.terms)
		t.numbers[term] = number
		t.terms = append(t.terms, term)
	}
	return number
}

// namespaceLabels returns the labels of the namespace.
func (t *tally) namespaceLabels(namespace string) labels.Set {
	set, known := t.others[namespace]
	if !known {
		e := t.profile.engine
		set = interpodaffinity.GetNamespaceLabelsSnapshot(klog.FromContext(e.ctx), namespace, e.informers.Core().V1().Namespaces().Lister())
		t.others[namespace] = set
	}
	return set
}

// countsAt returns the counts of the node at that slot.
func (t *tally) countsAt(place int, info fwk.NodeInfo) []termCount {
	if t.nodes == nil {
		return t.countTerms(info)
	}
	node := &t.nodes[place]
	if generation := t.profile.engine.memo.Generation(place); node.generation != generation {
		node.generation, node.counts = generation, t.countTerms(info)
	}
	return node.counts
}

// countTerms visits the pods of a node as the plugin's PreScore does, and counts them by term. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/interpodaffinity/scoring.go
func (t *tally) countTerms(info fwk.NodeInfo) []termCount {
	var counts []termCount
	add := func(term int, existing *v1.Pod) {
		i := slices.IndexFunc(counts, func(c termCount) bool { return c.term == term })
		if i < 0 {
			domain, found := info.Node().Labels[t.terms[term].key]
			if !found {
				return
			}
			i = len(counts)
			counts = append(counts, termCount{term: term, domain: domain})
		}
		c := &counts[i]
		c.pods++
		if t.limit == 0 || len(c.names) < t.limit {
			c.names = append(c.names, existing.Namespace+"/"+existing.Name)
		}
	}
	for i, term := range t.own {
		for _, existing := range info.GetPods() {
			if other := existing.GetPod(); term.Matches(other, t.namespaceLabels(other.Namespace)) {
				add(i, other)
			}
		}
	}
	applying := map[termsKey][]int{}
	for _, existing := range info.GetPodsWithAffinity() {
		theirs := termsKeyOf(existing.GetPod())
		terms, known := applying[theirs]
		if !known {
			for _, term := range t.profile.theirTerms(existing, theirs.controller) {
				if term.Matches(t.pod, t.labels) {
					terms = append(terms, t.numberOf(term.affinityTerm))
				}
			}
			applying[theirs] = terms
		}
		for _, term := range terms {
			add(term, existing.GetPod())
		}
	}
	return counts
}

// termSum adds up a term's counts in each domain of the examined nodes.
type termSum struct {
	*numberedDomains
	parts []placement.Part // by number of the domain
	own   bool             // whether the term is one of the pod itself
	seen  bool             // whether an existing pod with the term was found
}

// affinityParts returns the parts of the nodes' scores: first the parts of the pod's own terms, even if they count no pod, then the parts
// of existing pods' terms, in the order in which the plugin visits them.
func (p *profile) affinityParts(pod fwk.PodInfo, nodes *examined, limit int) [][]placement.Part {
	infos, _ := p.engine.snapshot.NodeInfos().List() // a snapshot's list never fails
	t := p.tallyOf(pod, limit, len(infos))
	var met []*termSum
	sums := map[int]*termSum{} // by number of the term
	sumOf := func(number int) *termSum {
		if sums[number] == nil {
			sums[number] = t.newSum(number, nodes)
		}
		return sums[number]
	}
	for number := range t.own {
		met = append(met, sumOf(number))
	}
	for _, place := range p.engine.domains.nodesAround(nodes, infos, t.own) {
		for _, c := range t.countsAt(place, infos[place]) {
			sum := sumOf(c.term)
			number, wanted := sum.numbers[c.domain]
			if !wanted {
				continue
			}
			if !sum.own && !sum.seen {
				sum.seen, met = true, append(met, sum)
			}
			part := &sum.parts[number]
			part.Count += c.pods
			part.Score += part.Weight * float64(c.pods)
			room := len(c.names)
			if limit > 0 {
				room = min(room, limit-len(part.Pods))
			}
			switch {
			case room == 0:
			case part.Pods == nil: // the usual case, a domain of one node
				part.Pods = c.names[:room:room]
			default:
				part.Pods = append(slices.Grow(part.Pods, max(room, limit-len(part.Pods))), c.names[:room]...)
			}
		}
	}
	parts := make([][]placement.Part, len(nodes.infos))
	count := 0
	for _, sum := range met {
		for i := range parts {
			if sum.applies(i) {
				count++
			}
		}
	}
	all := make([]placement.Part, 0, count) // one allocation for all nodes
	for i := range parts {
		from := len(all)
		for _, sum := range met {
			if sum.applies(i) {
				all = append(all, sum.parts[sum.byNode[i]])
			}
		}
		if len(all) > from {
			parts[i] = all[from:len(all):len(all)]
		}
	}
	return parts
}

// applies reports whether the term contributes to the score of the examined node with that index.
func (s *termSum) applies(i int) bool {
	number := s.byNode[i]
	return number >= 0 && (s.own || s.parts[number].Count > 0)
}

// newSum returns the sum of the term in the domains of the examined nodes, without any pod.
func (t *tally) newSum(number int, nodes *examined) *termSum {
	term := t.terms[number]
	sum := &termSum{numberedDomains: nodes.domainsOf(term.key), own: number < len(t.own)}
	sum.parts = make([]placement.Part, len(sum.numbers))
	for domain, number := range sum.numbers {
		sum.parts[number] = placement.Part{
			Rule: term.rule, TopologyKey: term.key, Domain: domain, Weight: float64(term.weight),
		}
	}
	return sum
}

// matchingTerm is an affinityTerm with upstream's term, which matches pods.
type matchingTerm struct {
	affinityTerm
	*fwk.AffinityTerm
}

// ownTerms returns the terms of the pod itself that affect scores.
func ownTerms(pod fwk.PodInfo) []matchingTerm {
	var terms []matchingTerm
	add := func(field string, weighted []fwk.WeightedAffinityTerm, sign int32) {
		for i := range weighted {
			term := affinityTerm{rule: placement.Own.DescribeRule(field, i), key: weighted[i].TopologyKey, weight: sign * weighted[i].Weight}
			terms = append(terms, matchingTerm{affinityTerm: term, AffinityTerm: &weighted[i].AffinityTerm})
		}
	}
	add(preferredAffinity, pod.GetPreferredAffinityTerms(), 1)
	add(preferredAntiAffinity, pod.GetPreferredAntiAffinityTerms(), -1)
	return terms
}

// termsKey is the same for pods with the same terms. The pods of one template share their affinity.
type termsKey struct {
	affinity   *v1.Affinity
	namespace  string
	controller types.UID
}

func termsKeyOf(pod *v1.Pod) termsKey {
	r := termsKey{affinity: pod.Spec.Affinity, namespace: pod.Namespace}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		r.controller = owner.UID
	}
	return r
}

// theirTerms returns the terms of an existing pod that affect the scores of other pods.
func (p *profile) theirTerms(existing fwk.PodInfo, controller types.UID) []matchingTerm {
	var terms []matchingTerm
	add := func(origin placement.Origin, field string, weight int32, term *fwk.AffinityTerm) {
		known := affinityTerm{rule: origin.DescribeRule(field, -1), key: term.TopologyKey, weight: weight, controller: controller}
		terms = append(terms, matchingTerm{affinityTerm: known, AffinityTerm: term})
	}
	if weight := p.args.interPodAffinity.HardPodAffinityWeight; weight > 0 {
		for i := range existing.GetRequiredAffinityTerms() {
			add(placement.ExistingRequired, requiredAffinity, weight, &existing.GetRequiredAffinityTerms()[i])
		}
	}
	for i := range existing.GetPreferredAffinityTerms() {
		term := &existing.GetPreferredAffinityTerms()[i]
		add(placement.Existing, preferredAffinity, term.Weight, &term.AffinityTerm)
	}
	for i := range existing.GetPreferredAntiAffinityTerms() {
		term := &existing.GetPreferredAntiAffinityTerms()[i]
		add(placement.Existing, preferredAntiAffinity, -term.Weight, &term.AffinityTerm)
	}
	return terms
}
