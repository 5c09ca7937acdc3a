package scenario

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/list"
)

// Question is what the playground asks about a step before it shows the step. The run has the answer. Give exactly one of number,
// nodes, holds and message.
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

func validateQuestion(p *Problems, path *field.Path, q *Question) {
	if strings.TrimSpace(q.Ask) == "" {
		p.Add(path.Child("ask"), "is missing; give the question in a sentence")
	}
	kinds := list.Count([]bool{q.Number != nil, q.Nodes != nil, q.Holds != nil, len(q.Message) > 0}, func(given bool) bool { return given })
	if kinds != 1 {
		p.Add(path, "has %d kinds of answer; give one of number, nodes, holds and message", kinds)
	}
	if q.Number != nil {
		validateSelector(p, path.Child("number", "selector"), q.Number.Selector)
		if q.Number.Pending && q.Number.TopologyKey != "" {
			p.Add(path.Child("number"), "asks for Pending pods by %s, and those have no node; remove topologyKey or pending", q.Number.TopologyKey)
		}
	}
	if q.Nodes != nil {
		validateSelector(p, path.Child("nodes", "selector"), q.Nodes.Selector)
	}
	if q.Holds != nil {
		validateExpect(p, path.Child("holds"), q.Holds)
		if q.Holds.NewlyPending != nil {
			p.Add(path.Child("holds", "newlyPending"), "is for what a step expects; ask about workloads")
		}
	}
}
