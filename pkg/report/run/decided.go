package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Decided is what a decider did in a step.
type Decided struct {
	// Decider is the decider's name, such as karpenter.
	Decider string `json:"decider"`
	// Rounds is the number of moments at which it acted.
	Rounds int `json:"rounds"`
	// Acts are what it did, in order.
	Acts []world.Act `json:"acts,omitempty"`
	// Evicted is the number of pods that it evicted, and Back that of those whose next pod is on the node that they left.
	Evicted int `json:"evicted"`
	Back    int `json:"back"`
	// AddedNodes and RemovedNodes are the nodes that it created and that it deleted.
	AddedNodes   []string `json:"addedNodes,omitempty"`
	RemovedNodes []string `json:"removedNodes,omitempty"`
	// Nominated is the number of pods for which it named a node, and that have one; Elsewhere are those of them that the scheduler put on
	// another node.
	Nominated int         `json:"nominated,omitempty"`
	Elsewhere []Elsewhere `json:"elsewhere,omitempty"`
	// Events are what it reported, the last event of each reason and object.
	Events []world.ActEvent `json:"events,omitempty"`
	// Cycle is a course of acts that repeats without end; missing if the decider comes to rest.
	Cycle *world.Cycle `json:"cycle,omitempty"`
}

// Elsewhere is a pod that the scheduler put on another node than a decider meant.
type Elsewhere struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Meant     string `json:"meant"`
	Node      string `json:"node"`
}

// newDecided returns what each decider did in the step.
func newDecided(step *simulation.Step) []Decided {
	var all []Decided
	at := func(name string) *Decided {
		i := slices.IndexFunc(all, func(d Decided) bool { return d.Decider == name })
		if i < 0 {
			i, all = len(all), append(all, Decided{Decider: name})
		}
		return &all[i]
	}
	for _, act := range step.Acts {
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
		case act.Object.Kind == "Node" && act.Verb == "delete" && step.State.Node(act.Object.Name) == nil:
			d.RemovedNodes = append(d.RemovedNodes, act.Object.Name)
		}
	}
	for _, e := range step.Events {
		d := at(e.Decider)
		d.Events = append(d.Events, e)
		if meant := nominatedNode(step.State, e); meant != "" {
			d.followNominated(step.State, e.Object, meant)
		}
	}
	for _, c := range step.Cycles {
		at(c.Decider).Cycle = &c
	}
	return all
}

// nominatedNode returns the node that an event of Karpenter names for a pod, by itself or by its NodeClaim: "Pod should schedule on:
// nodeclaim/default-x, node/ip-10-0-0-1"; "" for another event.
func nominatedNode(state *cluster.State, e world.ActEvent) string {
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

// followNominated notes where the pod is that the decider meant for a node.
func (d *Decided) followNominated(state *cluster.State, pod cluster.Ref, meant string) {
	for _, p := range state.Pods {
		if p.Namespace != pod.Namespace || p.Name != pod.Name || p.Spec.NodeName == "" {
			continue
		}
		if d.Nominated++; p.Spec.NodeName != meant {
			d.Elsewhere = append(d.Elsewhere, Elsewhere{p.Namespace, p.Name, meant, p.Spec.NodeName})
		}
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
	if n := d.Evicted; n > 0 {
		back := fmt.Sprintf("%d of them land on the node that they left", d.Back)
		switch d.Back {
		case 0:
			back = "none lands on the node that it left"
		case 1:
			back = "1 of them lands on the node that it left"
		}
		parts = append(parts, fmt.Sprintf("evicts %s in %s, %s", words.Count(n, "pod"), words.Count(d.Rounds, "round"), back))
	}
	if n := len(d.Elsewhere); n > 0 {
		parts = append(parts, fmt.Sprintf("meant %d of %s for another node than the scheduler", n, words.Count(d.Nominated, "pod")))
	}
	if refused := list.Count(d.Acts, func(a world.Act) bool { return a.Verb == "evict" && a.Refused != "" }); refused > 0 {
		parts = append(parts, words.Count(refused, "eviction")+" refused")
	}
	if parts == nil {
		return ""
	}
	return d.Decider + " " + words.And(parts)
}

// describeDecided describes what the deciders did in all steps, with "; " before it.
func (r *Report) describeDecided() string {
	var said string
	for _, s := range r.Steps {
		for i := range s.Decided {
			if one := s.Decided[i].Describe(); one != "" {
				said += "; " + one
				if len(r.Steps) > 1 {
					said += " in " + s.Name
				}
			}
		}
	}
	return said
}

// decided writes what each decider did, and why.
func (t *writer) decided(s *stepText) {
	for i := range s.Decided {
		d := &s.Decided[i]
		line := d.Describe()
		if line == "" && len(d.Events) == 0 {
			continue
		}
		t.Linef(doc.Bold, "%s.", cmp.Or(line, d.Decider+" reports"))
		nodes := list.Where(d.Acts, func(a world.Act) bool {
			return a.Object.Kind == "Node" && a.Refused == "" && (a.Verb == "create" || a.Verb == "delete")
		})
		t.UpTo(len(nodes), "node", "nodes", func(i int) {
			did := "adds "
			if nodes[i].Verb == "delete" {
				did = "removes "
			}
			t.Linef(doc.Plain, "  %s%s", did, strings.TrimSuffix(nodes[i].Object.Name+": "+nodes[i].Why, ": "))
		})
		evictions := list.Where(d.Acts, func(a world.Act) bool { return a.Verb == "evict" && a.Refused == "" })
		t.UpTo(len(evictions), "eviction", "evictions", func(i int) {
			a := evictions[i]
			to := "its new pod has no node"
			switch a.To {
			case "":
			case a.Node:
				to = "its new pod is on the same node"
			default:
				to = "its new pod is on " + a.To
			}
			line := fmt.Sprintf("%s leaves %s, %s", cluster.Qualify(a.Object.Namespace, a.Object.Name), a.Node, to)
			if a.Why != "" {
				line += ": " + a.Why
			}
			t.Linef(doc.Plain, "  %s", line)
		})
		t.UpTo(len(d.Elsewhere), "pod", "pods", func(i int) {
			e := d.Elsewhere[i]
			t.Linef(doc.Plain, "  %s was meant for %s; the scheduler put it on %s", cluster.Qualify(e.Namespace, e.Pod), e.Meant, e.Node)
		})
		for _, refused := range list.Where(d.Acts, func(a world.Act) bool { return a.Refused != "" }) {
			t.Linef(doc.Plain, "  %s %s was refused: %s", refused.Verb, refused.Object.Qualified(), refused.Refused)
		}
		said := map[string]bool{} // Karpenter says the same of a NodeClaim and of its Node
		events := list.Where(d.Events, func(e world.ActEvent) bool {
			text := e.Object.Name + e.Reason + e.Message
			if said[text] {
				return false
			}
			said[text] = true
			return e.Object.Kind != "Pod" || pendingPod(s, e.Object) || t.wide
		})
		t.UpTo(len(events), "event", "events", func(i int) {
			t.Linef(doc.Plain, "  %s  %s: %s", events[i].Object.Qualified(), events[i].Reason, events[i].Message)
		})
	}
}

// pendingPod reports whether the pod has no node after the step.
func pendingPod(s *stepText, ref cluster.Ref) bool {
	return slices.ContainsFunc(s.Pods, func(p Pod) bool { return p.Namespace == ref.Namespace && p.Name == ref.Name && p.Node == "" })
}
