package run

import (
	"cmp"
	"fmt"
	"slices"
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
	t.short(s, unrun)
}

// promise is what a cluster was given of a workload and cannot run.
type promise struct {
	of    Binding
	share Share
}

// short says which clusters were given what they cannot run. What is Pending for one reason in one cluster is one line: Karmada gives several
// workloads the same room, since it sees none of their pods yet.
func (t *writer) short(s *stepText, of []Binding) {
	var promises []promise
	for _, b := range of {
		for _, share := range b.Clusters {
			if share.short() {
				promises = append(promises, promise{b, share})
			}
		}
	}
	if len(promises) == 0 {
		return
	}
	t.Linef(text.Yellow, "Given to clusters that cannot run all of it (%d):", len(of))
	groups := report.Group(promises, func(p promise) [2]string { return [2]string{p.share.Cluster, p.share.Message} })
	t.UpTo(len(groups), "group of workloads", "groups of workloads", func(i int) {
		assigned, running := 0, 0
		for _, p := range groups[i] {
			assigned, running = assigned+p.share.Assigned, running+p.share.Running
		}
		names := t.Some(report.Each(groups[i], func(p promise) string { return s.binding(p.of) }))
		if len(groups[i]) == 1 {
			t.Linef(text.Plain, "  %s was given %d of %s, of which %d %s", groups[i][0].share.Cluster, assigned, names, running, words.Pick(running, "runs", "run"))
		} else {
			t.Linef(text.Plain, "  %s was given %d of %s, of which %d %s; each was promised the same room: %s", groups[i][0].share.Cluster, assigned,
				words.Count(len(groups[i]), "workload"), running, words.Pick(running, "runs", "run"), names)
		}
		if message := groups[i][0].share.Message; message != "" {
			t.Linef(text.Plain, "    %s", text.Refused(message))
		}
	})
}

// bindings are a row for each workload: what it asks for, and its clusters.
func (t *writer) bindings(s *stepText) {
	if len(s.Bindings) == 0 {
		return
	}
	table := s.bindingTable(t)
	t.Table("", table...)
	if more := len(s.Bindings) - len(table) + 1; more > 0 {
		t.Linef(text.Plain, "and %s; use --all to list them", words.Count(more, "more workload"))
	}
	t.Space()
}

// maxBindings is how many workloads the table has, and maxShares how many clusters a row names, unless all are asked for.
const maxBindings, maxShares = 10, 6

// bindingTable is the heads, and a row for each workload: those first that are not as Karmada would have them.
func (s *stepText) bindingTable(t *writer) [][]text.Cell {
	table := [][]text.Cell{text.Bold.Row("KARMADA", "REPLICAS", "CLUSTERS")}
	shown := slices.Clone(s.Bindings)
	if !t.All && len(shown) > maxBindings {
		slices.SortStableFunc(shown, func(a, b Binding) int { return cmp.Compare(a.trouble(), b.trouble()) })
		shown = shown[:maxBindings]
	}
	for _, b := range shown {
		clusters := text.Plain.Cell(text.OrNone(strings.Join(b.shares(t.All), ", ")))
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
	return table
}

// trouble is 0 for what has no cluster that it should have, 1 for what its clusters cannot run, 2 for the rest.
func (b Binding) trouble() int {
	switch {
	case !b.scheduled():
		return 0
	case b.short():
		return 1
	}
	return 2
}

// shares are the clusters with what they have, many of them counted: 50 clusters with 2 each.
func (b Binding) shares(all bool) []string {
	var shares []string
	if len(b.Clusters) <= maxShares || all {
		shares = report.Each(b.Clusters, Share.text)
	} else {
		for _, alike := range report.Group(b.Clusters, func(s Share) Share { s.Cluster, s.Message = "", ""; return s }) {
			first := alike[0]
			if len(alike) == 1 {
				shares = append(shares, first.text())
				continue
			}
			line := words.Count(len(alike), "cluster")
			if first.Assigned > 0 {
				line += fmt.Sprintf(" with %d each", first.Assigned)
			}
			if first.short() {
				line += fmt.Sprintf(" (%d %s)", first.Running, words.Pick(first.Running, "runs", "run"))
			}
			shares = append(shares, line)
		}
	}
	for _, from := range b.Leaving {
		shares = append(shares, "leaving "+from)
	}
	return shares
}
