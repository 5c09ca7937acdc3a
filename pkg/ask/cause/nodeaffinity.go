package cause

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// NodeAffinity has the requirements of the pod's node selector and required node affinity, and says which of them the refused nodes do not
// meet.
type NodeAffinity struct {
	// Wants are the requirements, as kubectl -l writes them; with several affinity terms, the requirements of the term that Nearest comes
	// closest to.
	Wants []string `json:"wants"`
	// FromClass are the requirements that the API server has added for the pod's RuntimeClass, and RuntimeClass is its name.
	FromClass    []string `json:"fromClass,omitempty"`
	RuntimeClass string   `json:"runtimeClass,omitempty"`
	// Nearest is the refused node that lacks the fewest requirements, and Lacks are these.
	Nearest string   `json:"nearest"`
	Lacks   []string `json:"lacks"`
	// Exclusive is a label of which two different values are wanted, so that no node can have both; "" if there is none. The expressions of a term must
	// all be met; several terms are alternatives.
	Exclusive string `json:"exclusive,omitempty"`
	// Unmet are the requirements that no node of the cluster meets, each with the values that nodes have for its label.
	Unmet []Unmet `json:"unmet,omitempty"`
}

// Unmet is a requirement that no node meets.
type Unmet struct {
	Requirement string `json:"requirement"`
	// Values are the values that nodes have for the label; none if no node has the label.
	Values []string `json:"values,omitempty"`
	// Similar is the similar key of a label that nodes have, if no node has the label.
	Similar string `json:"similar,omitempty"`
}

// renamedKeys are labels that Kubernetes has given another name: of the control plane in 1.24, see
// https://github.com/kubernetes/enhancements/tree/master/keps/sig-cluster-lifecycle/kubeadm/2067-rename-master-label-taint.
var renamedKeys = map[string]string{"node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane"}

// IsRenamed reports whether Kubernetes has given the key the other name.
func IsRenamed(key, to string) bool { return to != "" && renamedKeys[key] == to }

// SimilarKeys returns the keys of the nodes' labels that may be meant by a key that no node has, sorted: the same but for case, dots, dashes and
// underscores, such as disktype for disk-type, the same name with another prefix, such as topology.kubernetes.io/zone for
// failure-domain.beta.kubernetes.io/zone, or the new name of a label.
func SimilarKeys(key string, nodes []*v1.Node) []string {
	similar := map[string]bool{}
	for _, node := range nodes {
		for other := range node.Labels {
			if other != key && (isSimilar(other, key) || IsRenamed(key, other)) {
				similar[other] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(similar))
}

// isSimilar reports whether two names may mean the same: they differ only in case, dots, dashes and underscores, or only in the prefix.
func isSimilar(a, b string) bool {
	plain := func(name string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune("-_./", r) {
				return -1
			}
			return unicode.ToLower(r)
		}, name)
	}
	withoutPrefix := func(name string) string { return plain(name[strings.LastIndex(name, "/")+1:]) }
	return plain(a) == plain(b) || withoutPrefix(a) == withoutPrefix(b)
}

// requirement is a single requirement on a node, with its text.
type requirement struct {
	text  string
	key   string // the key of the label; "" for a field
	met   func(*v1.Node) bool
	bound *int64 // of Gt and Lt, which compare numbers; nil for other operators
}

// distance returns by how much the node's labels miss the bounds of the requirements; a label that is no number misses its bound by more than any number.
func distance(lacks []requirement, node *v1.Node) (sum float64) {
	for _, req := range lacks {
		if req.bound == nil {
			continue
		}
		has, err := strconv.ParseInt(node.Labels[req.key], 10, 64)
		if err != nil {
			return math.Inf(1)
		}
		sum += math.Abs(float64(has - *req.bound))
	}
	return sum
}

// nodeAffinities returns why NodeAffinity refuses the nodes. It returns none if the pod names its node by a field, as a DaemonSet's pod
// does, and only other nodes are refused.
func nodeAffinities(v *view, r refused) []Cause {
	var nearest *v1.Node
	var wants, lacks []requirement
	n := 0
	for _, node := range r.nodes {
		lacked, of := nearestTerm(v.pod, node)
		if slices.ContainsFunc(lacked, func(req requirement) bool { return req.key == "" }) {
			continue
		}
		if n++; nearest == nil || len(lacked) < len(lacks) || len(lacked) == len(lacks) && distance(lacked, node) < distance(lacks, nearest) {
			nearest, wants, lacks = node, of, lacked
		}
	}
	if nearest == nil || len(lacks) == 0 {
		return nil
	}
	text := func(req requirement) string { return req.text }
	fact := NodeAffinity{Wants: list.Map(wants, text), Nearest: nearest.Name, Lacks: list.Map(lacks, text)}
	fact.RuntimeClass, fact.FromClass = v.runtimeClassSelector()
	fact.Exclusive = exclusiveKey(wants)
	for _, req := range wants {
		if req.key == "" || slices.ContainsFunc(v.state.Nodes, req.met) {
			continue
		}
		values := map[string]bool{}
		for _, node := range v.state.Nodes {
			if value, labelled := node.Labels[req.key]; labelled {
				values[value] = true
			}
		}
		unmet := Unmet{Requirement: req.text, Values: slices.Sorted(maps.Keys(values))}
		if similar := SimilarKeys(req.key, v.state.Nodes); len(values) == 0 && len(similar) > 0 {
			unmet.Similar = similar[0]
		}
		fact.Unmet = append(fact.Unmet, unmet)
	}
	return []Cause{{Plugin: "NodeAffinity", Nodes: n, Sentence: fact.sentence(nearest, lacks), NodeAffinity: &fact}}
}

// exclusiveKey returns the first label of which two requirements want different values; "" if there is none.
func exclusiveKey(wants []requirement) string {
	values := map[string]string{}
	for _, req := range wants {
		value, single := strings.CutPrefix(req.text, req.key+"=")
		if !single || req.key == "" {
			continue
		}
		if other, wanted := values[req.key]; wanted && other != value {
			return req.key
		}
		values[req.key] = value
	}
	return ""
}

// runtimeClassSelector returns the pod's RuntimeClass and its node selector, which the API server adds to the pod's, such as runtime=kata; "" if the
// class has none.
func (v *view) runtimeClassSelector() (name string, wants []string) {
	name = ptr.Deref(v.pod.Spec.RuntimeClassName, "")
	at := slices.IndexFunc(v.state.RuntimeClasses, func(class *nodev1.RuntimeClass) bool {
		return class.Name == name && class.Scheduling != nil && len(class.Scheduling.NodeSelector) > 0
	})
	if at < 0 {
		return "", nil
	}
	selector := v.state.RuntimeClasses[at].Scheduling.NodeSelector
	return name, list.Map(slices.Sorted(maps.Keys(selector)), func(key string) string { return key + "=" + selector[key] })
}

// nearestTerm returns the requirements of the pod that the node does not meet, and all requirements. A pod needs to satisfy only one of
// several affinity terms; both results are for the term with the fewest unmet requirements.
func nearestTerm(pod *v1.Pod, node *v1.Node) (lacked, wants []requirement) {
	best := -1
	for _, term := range requirementsOf(pod) {
		missing := list.Where(term, func(req requirement) bool { return !req.met(node) })
		if best < 0 || len(missing) < best {
			best, lacked, wants = len(missing), missing, term
		}
	}
	return lacked, wants
}

// requirementsOf returns one list of requirements for each way to satisfy the pod: its node selector together with one of its affinity
// terms.
func requirementsOf(pod *v1.Pod) [][]requirement {
	var selector []requirement
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		value := pod.Spec.NodeSelector[key]
		selector = append(selector, requirement{text: key + "=" + value, key: key, met: func(node *v1.Node) bool {
			has, labelled := node.Labels[key] // labels of roles have the value ""
			return labelled && has == value
		}})
	}
	terms := cluster.RequiredTerms(&pod.Spec)
	if terms == nil {
		return [][]requirement{selector}
	}
	var all [][]requirement
	for _, term := range terms {
		wants := slices.Clip(selector)
		for _, expression := range term.MatchExpressions {
			wants = append(wants, requirement{expressionText(&expression), expression.Key, requirementMatcher(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{expression}}), boundOf(&expression)})
		}
		for _, field := range term.MatchFields {
			wants = append(wants, requirement{text: expressionText(&field), met: requirementMatcher(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{field}})})
		}
		all = append(all, wants)
	}
	return all
}

// requirementMatcher returns a function that reports whether a node meets the only requirement of the term. A term that does not parse matches no node.
func requirementMatcher(term v1.NodeSelectorTerm) func(*v1.Node) bool {
	selector, err := nodeaffinity.NewNodeSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}})
	return func(node *v1.Node) bool { return err == nil && selector.Match(node) }
}

// boundOf returns the number with which a requirement Gt or Lt compares; nil for other operators.
func boundOf(r *v1.NodeSelectorRequirement) *int64 {
	if r.Operator != v1.NodeSelectorOpGt && r.Operator != v1.NodeSelectorOpLt || len(r.Values) != 1 {
		return nil
	}
	bound, err := strconv.ParseInt(r.Values[0], 10, 64)
	if err != nil {
		return nil
	}
	return &bound
}

// expressionText returns the requirement as kubectl -l writes it.
func expressionText(r *v1.NodeSelectorRequirement) string {
	switch {
	case r.Operator == v1.NodeSelectorOpIn && len(r.Values) == 1:
		return r.Key + "=" + r.Values[0]
	case r.Operator == v1.NodeSelectorOpNotIn && len(r.Values) == 1:
		return r.Key + "!=" + r.Values[0]
	case r.Operator == v1.NodeSelectorOpExists:
		return "the label " + r.Key
	case r.Operator == v1.NodeSelectorOpDoesNotExist:
		return "no label " + r.Key
	case r.Operator == v1.NodeSelectorOpGt:
		return r.Key + ">" + strings.Join(r.Values, ",")
	case r.Operator == v1.NodeSelectorOpLt:
		return r.Key + "<" + strings.Join(r.Values, ",")
	}
	return fmt.Sprintf("%s %s (%s)", r.Key, strings.ToLower(string(r.Operator)), words.Few(r.Values))
}

// shownValue returns the value of a label, and "" in quotes for the empty one, which labels of roles have.
func shownValue(value string) string {
	if value == "" {
		return strconv.Quote(value)
	}
	return value
}

// sentence returns, for example, "wants disk=ssd and pool=db; no node has pool=db (there are a and b); w-3 comes nearest and lacks only
// disk=ssd (it has disk=hdd)".
func (a *NodeAffinity) sentence(nearest *v1.Node, lacks []requirement) string {
	s := "wants " + words.And(a.Wants)
	switch {
	case slices.Equal(a.FromClass, a.Wants):
		s += fmt.Sprintf(" (of RuntimeClass %s)", a.RuntimeClass)
	case a.RuntimeClass != "":
		s += fmt.Sprintf(" (RuntimeClass %s wants %s)", a.RuntimeClass, words.And(a.FromClass))
	}
	if a.Exclusive != "" {
		s += "; no node can have two values of " + a.Exclusive + ": the expressions of a term must all be met, and terms are alternatives"
	}
	for _, unmet := range a.Unmet {
		s += "; no node has " + unmet.Requirement
		if len(unmet.Values) > 0 {
			s += " (the values there are: " + words.Few(list.Map(unmet.Values, shownValue)) + ")"
		} else if unmet.Similar != "" {
			s += " (nodes have the label " + unmet.Similar + ")"
		}
	}
	var has []string
	for _, req := range lacks {
		if value, labelled := nearest.Labels[req.key]; labelled {
			has = append(has, req.key+"="+shownValue(value))
		}
	}
	only := ""
	if len(a.Lacks) < len(a.Wants) {
		only = "only "
	}
	s += fmt.Sprintf("; %s comes nearest and lacks %s%s", a.Nearest, only, words.And(a.Lacks))
	if len(has) > 0 {
		s += " (it has " + words.And(has) + ")"
	}
	return s
}
