package world

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Decided is what a decider did in a step.
type Decided struct {
	// Decider is the decider's name, such as karpenter.
	Decider string `json:"decider"`
	// Rounds is the number of moments at which it acted.
	Rounds int `json:"rounds"`
	// Acts are what it did, in order.
	Acts []Act `json:"acts,omitempty"`
	// Evicted is the number of pods that it evicted, and Back that of those whose next pod is on the node that they left.
	Evicted int `json:"evicted"`
	Back    int `json:"back"`
	// AddedNodes and RemovedNodes are the nodes that it created and that it deleted.
	AddedNodes   []string `json:"addedNodes,omitempty"`
	RemovedNodes []string `json:"removedNodes,omitempty"`
	// ExtraCost is how much more the nodes that it added cost an hour than those that it removed, negative if less; missing if no price is known.
	ExtraCost *float64 `json:"extraCost,omitempty"`
	// Nominated is the number of pods for which it named a node, and that have one; Elsewhere are those of them that the scheduler put on
	// another node.
	Nominated int         `json:"nominated,omitempty"`
	Elsewhere []Elsewhere `json:"elsewhere,omitempty"`
	// Events are what it reported, the last event of each reason and object.
	Events []ActEvent `json:"events,omitempty"`
	// Cycle is a course of acts that repeats without end; missing if the decider comes to rest.
	Cycle *Cycle `json:"cycle,omitempty"`
}

// Elsewhere is a pod that the scheduler put on another node than a decider meant.
type Elsewhere struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Meant     string `json:"meant"`
	Node      string `json:"node"`
}

// Decided returns what each decider did until the state.
func (r *Record) Decided(state *cluster.State) []Decided {
	var all []Decided
	at := func(name string) *Decided {
		i := slices.IndexFunc(all, func(d Decided) bool { return d.Decider == name })
		if i < 0 {
			i, all = len(all), append(all, Decided{Decider: name})
		}
		return &all[i]
	}
	for _, act := range r.Acts {
		d := at(act.Decider)
		d.Rounds = max(d.Rounds, act.Round)
		d.Acts = append(d.Acts, act)
		switch {
		case act.Refused != "":
		case act.Verb == "evict":
			d.Evicted++
			if act.Node == act.To {
				d.Back++
			}
		case act.Object.Kind == "Node" && act.Verb == "create":
			d.AddedNodes = append(d.AddedNodes, act.Object.Name)
			d.countCost(act, 1)
		case act.Object.Kind == "Node" && act.Verb == "delete" && state.Node(act.Object.Name) == nil:
			d.RemovedNodes = append(d.RemovedNodes, act.Object.Name)
			d.countCost(act, -1)
		}
	}
	var pods map[cluster.Ref]*v1.Pod
	if len(r.Events) > 0 {
		pods = list.IndexBy(state.Pods, func(pod *v1.Pod) cluster.Ref { return cluster.RefTo(pod) })
	}
	for _, e := range r.Events {
		d := at(e.Decider)
		d.Events = append(d.Events, e)
		if meant := nominatedNode(state, e); meant != "" {
			d.followNominated(pods[e.Object], meant)
		}
	}
	for _, c := range r.Cycles {
		at(c.Decider).Cycle = &c
	}
	return all
}

// countCost adds the price of a node that was added, or removed.
func (d *Decided) countCost(act Act, sign float64) {
	if act.Price != nil {
		d.ExtraCost = ptr.To(math.Round((ptr.Deref(d.ExtraCost, 0)+sign**act.Price)*1e6) / 1e6)
	}
}

// LastGrowth returns the time from since to the last moment at which the decider added a node; 0 if it added none.
func (d *Decided) LastGrowth(since time.Time) (last time.Duration) {
	for _, act := range d.Acts {
		if act.Verb == "create" && act.Object.Kind == "Node" && act.Refused == "" {
			last = act.At.Sub(since)
		}
	}
	return last
}

// WithNodesAlone returns what the decider did to nodes, without its other acts and its events.
func (d Decided) WithNodesAlone() Decided {
	ofNode := func(a Act) bool { return a.Object.Kind == "Node" && a.Verb != "patch" && a.Refused == "" }
	return Decided{Decider: d.Decider, Rounds: d.Rounds, Acts: list.Where(d.Acts, ofNode), AddedNodes: d.AddedNodes, RemovedNodes: d.RemovedNodes, ExtraCost: d.ExtraCost, Cycle: d.Cycle}
}

// DescribeNodes returns " with 2 more nodes of karpenter (m5.large, zone-1, spot), 0.20 an hour more"; "" if the decider adds and removes none.
func (d *Decided) DescribeNodes() string {
	more := len(d.AddedNodes) - len(d.RemovedNodes)
	var line string
	switch {
	case len(d.AddedNodes)+len(d.RemovedNodes) == 0:
		return ""
	case more > 0:
		line = fmt.Sprintf(" with %s of %s", words.Count(more, "more node"), d.Decider)
	case more < 0:
		line = fmt.Sprintf(" with %s of %s", words.Count(-more, "fewer node"), d.Decider)
	default:
		line = fmt.Sprintf(" with %s of %s", words.Count(len(d.AddedNodes), "other node"), d.Decider)
	}
	var kinds []string
	for _, act := range d.Acts {
		if act.Verb == "create" && act.Object.Kind == "Node" && act.Why != "" && !slices.Contains(kinds, act.Why) {
			kinds = append(kinds, act.Why)
		}
	}
	if len(kinds) > 0 && len(kinds) < 3 {
		line += " (" + strings.Join(kinds, "; ") + ")"
	}
	return line + d.describeCost()
}

// describeCost returns ", 0.20 an hour more"; "" if no price is known, or the cost is the same.
func (d *Decided) describeCost() string {
	switch cost := ptr.Deref(d.ExtraCost, 0); {
	case cost >= 0.005:
		return fmt.Sprintf(", %.2f an hour more", cost)
	case cost <= -0.005:
		return fmt.Sprintf(", %.2f an hour less", -cost)
	}
	return ""
}

// nominatedNode returns the node that an event of Karpenter names for a pod, by itself or by its NodeClaim: "Pod should schedule on:
// nodeclaim/default-x, node/ip-10-0-0-1"; "" for another event.
func nominatedNode(state *cluster.State, e ActEvent) string {
	_, meant, found := strings.Cut(e.Message, "Pod should schedule on: ")
	if e.Reason != "Nominated" || e.Object.Kind != "Pod" || !found {
		return ""
	}
	if _, node, named := strings.Cut(meant, "node/"); named && !strings.HasSuffix(meant[:len(meant)-len(node)], "nodeclaim/") {
		return node
	}
	claim := strings.TrimPrefix(meant, "nodeclaim/")
	if r, is := state.Find(cluster.Ref{Kind: "NodeClaim", Name: claim}).(*cluster.CustomResource); is {
		if node, _, _ := unstructured.NestedString(r.Object, "status", "nodeName"); node != "" {
			return node
		}
	}
	return claim
}

// followNominated notes where the pod is that the decider meant for a node; nil is a pod that no longer exists.
func (d *Decided) followNominated(pod *v1.Pod, meant string) {
	if pod == nil || pod.Spec.NodeName == "" {
		return
	}
	if d.Nominated++; pod.Spec.NodeName != meant {
		d.Elsewhere = append(d.Elsewhere, Elsewhere{pod.Namespace, pod.Name, meant, pod.Spec.NodeName})
	}
}

// Describe returns what the decider did in a few words: "descheduler evicts 4 pods in 1 round, none comes back to the node that it left".
func (d *Decided) Describe() string {
	if d.Cycle != nil {
		return strings.TrimSuffix(d.Cycle.Describe(), ".")
	}
	var parts []string
	if n := len(d.AddedNodes); n > 0 {
		parts = append(parts, "adds "+words.Count(n, "node"))
	}
	if n := len(d.RemovedNodes); n > 0 {
		parts = append(parts, "removes "+words.Count(n, "node"))
	}
	if cost := d.describeCost(); cost != "" && len(parts) > 0 {
		parts[len(parts)-1] += " (" + strings.TrimPrefix(cost, ", ") + ")"
	}
	if n := d.Evicted; n > 0 {
		back := fmt.Sprintf("%d of them land on the node that they left", d.Back)
		switch d.Back {
		case 0:
			back = "none lands on the node that it left"
		case 1:
			back = "1 of them lands on the node that it left"
		}
		if !slices.ContainsFunc(d.Acts, func(a Act) bool {
			return a.Verb == "evict" && a.Refused == "" && !slices.Contains(d.RemovedNodes, a.Node)
		}) {
			back = "" // from nodes that go
		} else {
			back = ", " + back
		}
		parts = append(parts, fmt.Sprintf("evicts %s in %s%s", words.Count(n, "pod"), words.Count(d.Rounds, "round"), back))
	}
	if n := len(d.Elsewhere); n > 0 {
		parts = append(parts, fmt.Sprintf("meant %d of %s for another node than the scheduler", n, words.Count(d.Nominated, "pod")))
	}
	if refused := list.Count(d.Acts, func(a Act) bool { return a.Verb == "evict" && a.Refused != "" }); refused > 0 {
		parts = append(parts, words.Count(refused, "eviction")+" refused")
	}
	if parts == nil {
		return ""
	}
	return d.Decider + " " + words.And(parts)
}
