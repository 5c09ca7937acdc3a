package scenario

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/list"
)

// Question is what the playground asks about a step before it shows the step. The run has the answer. Give exactly one of number,
// nodes, holds, message and notOn.
type Question struct {
	// Ask is the question, in a sentence or two.
	Ask string `json:"ask"`
	// Number asks how many pods there are.
	Number *CountedPods `json:"number,omitempty"`
	// Nodes asks on which nodes pods are.
	Nodes *PlacedPods `json:"nodes,omitempty"`
	// Holds asks, for yes or no, whether this expectation holds after the step.
	Holds *Expect `json:"holds,omitempty"`
	// Message lists texts. The right one is part of kube-scheduler's message for a Pending pod. The answer that no pod is Pending can
	// always be chosen, too.
	Message []string `json:"message,omitempty"`
	// NotOn asks why a pod is not on a node: which filter refuses the node, or by which plugin it has fewer points.
	NotOn *NotOn `json:"notOn,omitempty"`
	// Selector is a label selector for the Pending pods whose message is asked for, as for kubectl -l. Only with message. Default: all pods.
	Selector string `json:"selector,omitempty"`
	// Why explains the answer in a few sentences, which the page shows after the answer. The page computes the answer from the run, so why
	// must not begin with it: neither with yes, no or the like, nor with a number. Default: none.
	Why string `json:"why,omitempty"`
}

// CountedPods selects the pods of a question that asks for numbers.
type CountedPods struct {
	// Selector is a label selector for the pods, as for kubectl -l. Default: all pods.
	Selector string `json:"selector,omitempty"`
	// TopologyKey is a node label; the question then asks for one number for each of its values. Default: one number.
	TopologyKey string `json:"topologyKey,omitempty"`
	// Pending counts pods without a node. It cannot be given together with topologyKey. Default: false, which counts pods with a node.
	Pending bool `json:"pending,omitempty"`
}

// PlacedPods selects the pods of a question that asks for nodes.
type PlacedPods struct {
	// Selector is a label selector for the pods, as for kubectl -l. Default: all pods.
	Selector string `json:"selector,omitempty"`
	// New restricts this to pods that got their node in the step. Default: false.
	New bool `json:"new,omitempty"`
}

// NotOn is a node, and the pod that is not there: the first Pending one, or, if none is Pending, the last one that got its node in the
// step.
type NotOn struct {
	// Node is the name of the node.
	Node string `json:"node"`
	// Selector is a label selector for the pod, as for kubectl -l. Default: any pod.
	Selector string `json:"selector,omitempty"`
}

func validateQuestion(p *Problems, path *field.Path, q *Question) {
	if strings.TrimSpace(q.Ask) == "" {
		p.Add(path.Child("ask"), "is missing; give the question in a sentence")
	}
	kinds := list.Count([]bool{q.Number != nil, q.Nodes != nil, q.Holds != nil, len(q.Message) > 0, q.NotOn != nil}, func(given bool) bool { return given })
	if kinds != 1 {
		p.Add(path, "has %d kinds of answer; give one of number, nodes, holds, message and notOn", kinds)
	}
	if q.Number != nil {
		validateSelector(p, path.Child("number", "selector"), q.Number.Selector)
		if q.Number.Pending && q.Number.TopologyKey != "" {
			p.Add(path.Child("number"), "asks for Pending pods by %s, and those have no node; remove topologyKey or pending", q.Number.TopologyKey)
		}
	}
	if q.Selector != "" {
		if len(q.Message) == 0 {
			p.Add(path.Child("selector"), "is for a message; give the selector of number or nodes, or remove it")
		}
		validateSelector(p, path.Child("selector"), q.Selector)
	}
	if word := answerWord(q.Why); word != "" {
		p.Add(path.Child("why"), "begins with %q, as an answer does, and the page puts the answer of the run before it; begin with the reason", word)
	}
	if q.Nodes != nil {
		validateSelector(p, path.Child("nodes", "selector"), q.Nodes.Selector)
	}
	if q.NotOn != nil {
		if q.NotOn.Node == "" {
			p.Add(path.Child("notOn", "node"), "is missing; give the name of a node")
		}
		validateSelector(p, path.Child("notOn", "selector"), q.NotOn.Selector)
	}
	if q.Holds != nil {
		validateExpect(p, path.Child("holds"), q.Holds)
		if q.Holds.NewlyPending != nil {
			p.Add(path.Child("holds", "newlyPending"), "is for what a step expects; ask about workloads")
		}
	}
}

// answerWords are the words with which answers begin, besides numbers in figures.
var answerWords = strings.Fields("yes no none nobody nothing nowhere never")

// answerWord returns the first word of the text if an answer can begin with it, and "" otherwise.
func answerWord(text string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(text, " \n*_"), " ")
	word = strings.Trim(word, ".,:;!?*_\n")
	if slices.Contains(answerWords, strings.ToLower(word)) || word != "" && strings.Trim(word, "0123456789") == "" {
		return word
	}
	return ""
}
