package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/world"
)

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
