package run

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Binding is what became of a workload of a federation on both levels: which clusters Karmada gave it, and what runs there.
type Binding struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Policy is the kind and the name of the policy that claimed it.
	Policy string `json:"policy"`
	// Replicas is what the template asks for; missing of what has none.
	Replicas int `json:"replicas,omitempty"`
	// AffinityGroup and AntiAffinityGroup are its groups, as key=value.
	AffinityGroup     string `json:"affinityGroup,omitempty"`
	AntiAffinityGroup string `json:"antiAffinityGroup,omitempty"`
	// Reason and Message are those of the binding's condition Scheduled.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Clusters are those that Karmada gave it, in Karmada's order.
	Clusters []Share `json:"clusters,omitempty"`
	// Leaving are the clusters that it is being moved away from.
	Leaving []string `json:"leaving,omitempty"`
}

// Share is what a cluster does with what Karmada gave it.
type Share struct {
	Cluster string `json:"cluster"`
	// Assigned is the number of replicas that Karmada gave.
	Assigned int `json:"assigned"`
	// Running and Pending count the cluster's pods of the workload.
	Running int `json:"running"`
	Pending int `json:"pending"`
	// Message is why the first Pending pod is, in kube-scheduler's words.
	Message string `json:"message,omitempty"`
}

func newBindings(decisions []simulation.Decision) []Binding {
	var all []Binding
	for _, d := range decisions {
		b := Binding{
			Kind: d.Binding.Template.Kind, Namespace: d.Binding.Template.Namespace, Name: d.Binding.Template.Name, Policy: d.Binding.Policy,
			Replicas: int(d.Binding.Template.Replicas), AffinityGroup: d.Binding.AffinityGroup, AntiAffinityGroup: d.Binding.AntiAffinityGroup,
			Reason: d.Binding.Reason, Message: d.Binding.Message,
		}
		for _, share := range d.Shares {
			b.Clusters = append(b.Clusters, Share(share))
		}
		for _, e := range d.Binding.Evictions {
			b.Leaving = append(b.Leaving, e.From)
		}
		all = append(all, b)
	}
	return all
}

// scheduled reports whether Karmada's scheduler was last content.
func (b Binding) scheduled() bool { return b.Reason == federation.ReasonSuccess }

// unscheduled is the number of workloads that Karmada's scheduler was not content with.
func (s Step) unscheduled() int {
	n := 0
	for _, b := range s.Bindings {
		if !b.scheduled() {
			n++
		}
	}
	return n
}

// short reports whether a cluster cannot run what Karmada gave it.
func (b Binding) short() bool {
	for _, share := range b.Clusters {
		if share.short() {
			return true
		}
	}
	return false
}

func (s Share) short() bool { return s.Pending > 0 || s.Running < s.Assigned }

// text is "m1 3", or "m2 3, of which 2 run".
func (s Share) text() string {
	if s.Assigned == 0 && s.Running+s.Pending == 0 {
		return s.Cluster
	}
	line := fmt.Sprintf("%s %d", s.Cluster, max(s.Assigned, s.Running))
	if s.short() {
		line += fmt.Sprintf(" (%d %s)", s.Running, words.Pick(s.Running, "runs", "run"))
	}
	return line
}

func (s *stepText) binding(b Binding) string {
	return s.qualified(b.Namespace, cluster.Ref{Kind: b.Kind, Name: b.Name}.String())
}

// federated says where the two levels disagree: what Karmada gives to no cluster, and what it gives to clusters that cannot run it.
func (t *writer) federated(s *stepText) {
	var refused, unrun []Binding
	for _, b := range s.Bindings {
		if !b.scheduled() {
			refused = append(refused, b)
		}
		if b.short() {
			unrun = append(unrun, b)
		}
	}
	if len(refused) > 0 {
		t.Linef(text.Yellow, "Not scheduled by Karmada (%d):", len(refused))
		groups := report.Group(refused, func(b Binding) [2]string { return [2]string{b.Reason, b.Message} })
		t.UpTo(len(groups), "reason", "reasons", func(i int) {
			t.Linef(text.Plain, "  %s", t.Some(report.Each(groups[i], s.binding)))
			t.Linef(text.Plain, "    %s: %s", groups[i][0].Reason, groups[i][0].Message)
		})
	}
	if len(unrun) > 0 {
		t.Linef(text.Yellow, "Given to clusters that cannot run all of it (%d):", len(unrun))
		t.UpTo(len(unrun), "workload", "workloads", func(i int) {
			for _, share := range unrun[i].Clusters {
				if !share.short() {
					continue
				}
				t.Linef(text.Plain, "  %s: Karmada gave %s %d, of which %d %s", s.binding(unrun[i]), share.Cluster, share.Assigned, share.Running, words.Pick(share.Running, "runs", "run"))
				if share.Message != "" {
					t.Linef(text.Plain, "    %s", text.Refused(share.Message))
				}
			}
		})
	}
}

// bindings are a row for each workload: what it asks for, and its clusters.
func (t *writer) bindings(s *stepText) {
	if len(s.Bindings) == 0 {
		return
	}
	t.Table("", s.bindingTable(t)...)
	t.Space()
}

// bindingTable is the heads, and a row for each workload.
func (s *stepText) bindingTable(t *writer) [][]text.Cell {
	table := [][]text.Cell{text.Bold.Row("KARMADA", "REPLICAS", "CLUSTERS")}
	shown := s.Bindings
	if !t.All {
		shown = shown[:min(len(shown), text.MaxPods)]
	}
	for _, b := range shown {
		clusters := text.Plain.Cell(text.OrNone(strings.Join(b.shares(), ", ")))
		switch {
		case !b.scheduled() && len(b.Clusters) == 0:
			clusters = text.Yellow.Cell("none")
		case b.short():
			clusters.Style = text.Yellow
		}
		replicas := text.Plain.Cell(text.None)
		if b.Replicas > 0 {
			replicas = text.Number(b.Replicas, text.Plain)
		}
		table = append(table, []text.Cell{text.Plain.Cell(s.binding(b)), replicas, clusters})
	}
	if more := len(s.Bindings) - len(shown); more > 0 {
		table = append(table, text.Plain.Row(fmt.Sprintf("and %s; use --all to list them", words.Count(more, "more workload")), "", ""))
	}
	return table
}

func (b Binding) shares() []string {
	var all []string
	for _, share := range b.Clusters {
		all = append(all, share.text())
	}
	for _, from := range b.Leaving {
		all = append(all, "leaving "+from)
	}
	return all
}
