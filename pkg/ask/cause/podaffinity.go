package cause

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// The messages of InterPodAffinity. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.
const (
	affinityNotMatched     = "node(s) didn't match pod affinity rules"
	antiAffinityMatched    = "node(s) didn't match pod anti-affinity rules"
	existingAntiAffinities = "node(s) didn't satisfy existing pods anti-affinity rules"
)

// PodAffinity is a required term of pod affinity or anti-affinity that keeps the pod off nodes.
type PodAffinity struct {
	// Owner is the running pod that has the anti-affinity, as namespace/name; empty if the refused pod has the term.
	Owner string `json:"owner,omitempty"`
	// Anti means anti-affinity.
	Anti bool `json:"anti,omitempty"`
	// TopologyKey and Selector come from the term. Namespaces are the namespaces in which it looks for pods; "*" means all.
	TopologyKey string   `json:"topologyKey"`
	Selector    string   `json:"selector"`
	Namespaces  []string `json:"namespaces"`
	// NamespaceLabels are the labels by which the term selects the namespaces; missing if it names them.
	NamespaceLabels string `json:"namespaceLabels,omitempty"`
	// Matching are the running pods that the term selects; for an anti-affinity, only the pods in the domains of refused nodes.
	Matching []LocatedPod `json:"matching,omitempty"`
	// Elsewhere are pods with these labels in namespaces in which an affinity does not look, if it finds none in its own.
	Elsewhere []LocatedPod `json:"elsewhere,omitempty"`
	// Own are the pod's own labels of the selector's keys, if some of them match and the affinity finds no pod: were it to select the pod itself, the
	// first pod would have a node.
	Own []string `json:"own,omitempty"`
	// Unlabelled are the refused nodes without the label.
	Unlabelled []string `json:"unlabelled,omitempty"`
}

// LocatedPod is a running pod, with its node and, where a rule has a topology key, its domain.
type LocatedPod struct {
	// Pod is namespace/name.
	Pod    string `json:"pod"`
	Node   string `json:"node"`
	Domain string `json:"domain,omitempty"`
}

// podAffinities returns a cause for each required term that keeps the pod off a node which InterPodAffinity refuses.
func podAffinities(v *view, r refused) []Cause {
	var causes []Cause
	at := func(message string) []*v1.Node {
		return list.Where(r.nodes, func(node *v1.Node) bool { return r.messages[node.Name] == message })
	}
	if affinity := v.pod.Spec.Affinity; affinity != nil {
		if affinity.PodAffinity != nil {
			causes = append(causes, v.unmatchedAffinities(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, at(affinityNotMatched))...)
		}
		if affinity.PodAntiAffinity != nil {
			causes = append(causes, v.violatedAntiAffinities(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, at(antiAffinityMatched))...)
		}
	}
	return append(causes, v.antiAffinitiesOfOthers(at(existingAntiAffinities))...)
}

// unmatchedAffinities returns the affinity terms without a matching pod in the domain of one of the nodes.
func (v *view) unmatchedAffinities(terms []v1.PodAffinityTerm, nodes []*v1.Node) []Cause {
	var causes []Cause
	for i := range terms {
		term := v.newTerm(&terms[i], v.pod)
		found := term.newFact("", false)
		domains := map[string]bool{}
		for _, node := range v.state.Nodes {
			for _, other := range v.podsOn[node.Name] {
				if value, labelled := node.Labels[term.key]; labelled && term.selects(other) {
					found.Matching = append(found.Matching, LocatedPod{other.Namespace + "/" + other.Name, node.Name, value})
					domains[value] = true
				}
			}
		}
		if len(found.Matching) == 0 {
			found.Elsewhere = v.inOtherNamespaces(term)
			found.Own = nearMiss(term, v.pod)
		}
		n := 0
		for _, node := range nodes {
			value, labelled := node.Labels[term.key]
			if !labelled {
				found.Unlabelled = append(found.Unlabelled, node.Name)
			}
			if !labelled || !domains[value] {
				n++
			}
		}
		if n > 0 {
			causes = append(causes, Cause{Plugin: "InterPodAffinity", Nodes: n, Sentence: found.sentence(), PodAffinity: &found})
		}
	}
	return causes
}

// nearMiss returns the pod's own labels of the keys that the term selects by, if the pod meets some of its requirements but not all, such as
// tier=back for app=web,tier=backend. A label that the pod lacks is "no tier".
func nearMiss(term *term, pod *v1.Pod) []string {
	requirements, _ := term.selector.Requirements()
	var own []string
	met := 0
	for _, r := range requirements {
		if r.Matches(labels.Set(pod.Labels)) {
			met++
		} else if value, labelled := pod.Labels[r.Key()]; labelled {
			own = append(own, r.Key()+"="+value)
		} else {
			own = append(own, "no "+r.Key())
		}
	}
	if met == 0 {
		return nil
	}
	return own
}

// inOtherNamespaces are the running pods with the labels of the term, which selects none of them.
func (v *view) inOtherNamespaces(term *term) []LocatedPod {
	var all []LocatedPod
	for _, node := range v.state.Nodes {
		for _, other := range v.podsOn[node.Name] {
			if !term.selector.Empty() && term.selector.Matches(labels.Set(other.Labels)) {
				all = append(all, LocatedPod{other.Namespace + "/" + other.Name, node.Name, node.Labels[term.key]})
			}
		}
	}
	return all
}

// violatedAntiAffinities returns the pod's own anti-affinity terms with a matching pod in the domain of one of the nodes.
func (v *view) violatedAntiAffinities(terms []v1.PodAffinityTerm, nodes []*v1.Node) []Cause {
	var causes []Cause
	for i := range terms {
		term := v.newTerm(&terms[i], v.pod)
		found := term.newFact("", true)
		inDomain := map[string][]LocatedPod{}
		for _, node := range v.state.Nodes {
			value, labelled := node.Labels[term.key]
			if !labelled {
				continue
			}
			for _, other := range v.podsOn[node.Name] {
				if term.selects(other) {
					inDomain[value] = append(inDomain[value], LocatedPod{other.Namespace + "/" + other.Name, node.Name, value})
				}
			}
		}
		if n := found.addMatching(inDomain, nodes); n > 0 {
			causes = append(causes, Cause{Plugin: "InterPodAffinity", Nodes: n, Sentence: found.sentence(), PodAffinity: &found})
		}
	}
	return causes
}

// addMatching adds to Matching the pods in the nodes' domains, each domain once, and returns the number of nodes whose domains have such pods.
func (a *PodAffinity) addMatching(inDomain map[string][]LocatedPod, nodes []*v1.Node) int {
	n, seen := 0, map[string]bool{}
	for _, node := range nodes {
		value := node.Labels[a.TopologyKey]
		if len(inDomain[value]) == 0 {
			continue
		}
		n++
		if !seen[value] {
			seen[value] = true
			a.Matching = append(a.Matching, inDomain[value]...)
		}
	}
	return n
}

// antiAffinitiesOfOthers returns a cause for each anti-affinity term of running pods that selects the pod. Equal terms of several pods make one
// cause.
func (v *view) antiAffinitiesOfOthers(nodes []*v1.Node) []Cause {
	type kind struct{ key, selector, namespaces string }
	found, owners := map[kind]*PodAffinity{}, map[kind]map[string][]LocatedPod{}
	var order []kind
	for _, node := range v.state.Nodes {
		for _, other := range v.podsOn[node.Name] {
			if other.Spec.Affinity == nil || other.Spec.Affinity.PodAntiAffinity == nil {
				continue
			}
			terms := other.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			for i := range terms {
				term := v.newTerm(&terms[i], other)
				value, labelled := node.Labels[term.key]
				if !labelled || !term.selects(v.pod) {
					continue
				}
				name := other.Namespace + "/" + other.Name
				k := kind{term.key, term.text, strings.Join(term.shownNamespaces, ",")}
				if found[k] == nil {
					fact := term.newFact(name, true)
					found[k], owners[k] = &fact, map[string][]LocatedPod{}
					order = append(order, k)
				}
				owners[k][value] = append(owners[k][value], LocatedPod{name, node.Name, value})
			}
		}
	}
	var causes []Cause
	for _, k := range order {
		fact := found[k]
		if n := fact.addMatching(owners[k], nodes); n > 0 {
			fact.Owner = fact.Matching[0].Pod
			causes = append(causes, Cause{Plugin: "InterPodAffinity", Nodes: n, Sentence: fact.sentence(), PodAffinity: fact})
		}
	}
	return causes
}

// sentence returns, for example, "its required anti-affinity over kubernetes.io/hostname keeps it from pods with app=web in namespace shop:
// shop/web-1 on w-1".
func (a *PodAffinity) sentence() string {
	where := "in " + words.Pick(len(a.Namespaces), "namespace ", "namespaces ") + words.And(a.Namespaces)
	switch {
	case slices.Equal(a.Namespaces, []string{"*"}):
		where = "in any namespace"
	case len(a.Namespaces) == 0:
		where = fmt.Sprintf("in namespaces with %s, which no namespace has", a.NamespaceLabels)
	}
	pods := words.Few(list.Map(a.Matching, func(p LocatedPod) string { return a.locationText(p) }))
	var sentence string
	switch {
	case a.Owner != "":
		sentence = fmt.Sprintf("the required anti-affinity over %s of other pods keeps pods with %s %s away: %s", a.TopologyKey, a.Selector, where, pods)
	case a.Anti:
		sentence = fmt.Sprintf("its required anti-affinity over %s keeps it from pods with %s %s: %s", a.TopologyKey, a.Selector, where, pods)
	case len(a.Matching) == 0:
		sentence = fmt.Sprintf("its required affinity over %s wants a pod with %s %s, and none runs", a.TopologyKey, a.Selector, where)
		if len(a.Own) > 0 {
			sentence += ", nor is the pod itself one: it has " + words.And(a.Own)
		}
		if len(a.Elsewhere) > 0 {
			sentence += "; there are some in other namespaces, in which it does not look: " + words.Few(list.Map(a.Elsewhere, func(p LocatedPod) string { return a.locationText(p) }))
		}
	default:
		sentence = fmt.Sprintf("its required affinity over %s wants a pod with %s %s, and those run elsewhere: %s", a.TopologyKey, a.Selector, where, pods)
	}
	if len(a.Unlabelled) > 0 {
		sentence += "; without the label: " + words.Few(a.Unlabelled)
	}
	return sentence
}

// locationText returns, for example, "shop/web-1 on w-1", with the domain unless the domain is the node.
func (a *PodAffinity) locationText(p LocatedPod) string {
	if a.TopologyKey == v1.LabelHostname {
		return p.Pod + " on " + p.Node
	}
	return fmt.Sprintf("%s on %s in %s", p.Pod, p.Node, p.Domain)
}

// term is a required term of pod affinity as it selects pods.
type term struct {
	key, text       string
	selector        labels.Selector
	namespaces      labels.Selector // selects namespaces by their labels; nil: selects none
	namespaceNames  []string        // names of namespaces
	shownNamespaces []string
	namespaceLabels string // the labels by which alone it selects namespaces
}

// newTerm reads a term of the owner. The selector already contains its matchLabelKeys, since the API server puts them there.
func (v *view) newTerm(t *v1.PodAffinityTerm, owner *v1.Pod) *term {
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		selector = labels.Nothing() // the API server refuses it
	}
	read := &term{key: t.TopologyKey, text: selector.String(), selector: selector, namespaceNames: t.Namespaces}
	if read.text == "" {
		read.text = "any labels"
	}
	if t.NamespaceSelector == nil && len(t.Namespaces) == 0 {
		read.namespaceNames = []string{owner.Namespace}
	}
	read.shownNamespaces = slices.Clone(read.namespaceNames)
	if t.NamespaceSelector != nil {
		if read.namespaces, err = metav1.LabelSelectorAsSelector(t.NamespaceSelector); err != nil {
			read.namespaces = labels.Nothing()
		}
		if read.namespaces.Empty() {
			read.shownNamespaces = []string{"*"}
			return read
		}
		if len(read.shownNamespaces) == 0 {
			read.namespaceLabels = read.namespaces.String()
		}
		for _, namespace := range v.state.Namespaces {
			if read.namespaces.Matches(labels.Set(namespace.Labels)) && !slices.Contains(read.shownNamespaces, namespace.Name) {
				read.shownNamespaces = append(read.shownNamespaces, namespace.Name)
			}
		}
	}
	return read
}

// selects reports whether the term selects the pod.
func (t *term) selects(pod *v1.Pod) bool {
	if !t.selector.Matches(labels.Set(pod.Labels)) {
		return false
	}
	return slices.Contains(t.namespaceNames, pod.Namespace) || slices.Equal(t.shownNamespaces, []string{"*"}) || slices.Contains(t.shownNamespaces, pod.Namespace)
}

func (t *term) newFact(owner string, anti bool) PodAffinity {
	return PodAffinity{Owner: owner, Anti: anti, TopologyKey: t.key, Selector: t.text, Namespaces: t.shownNamespaces, NamespaceLabels: t.namespaceLabels}
}
