package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Binding is a workload of a federation on both levels: the clusters that Karmada gave it, and the pods that run there.
type Binding struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Policy is the kind and the name of the policy that claimed the workload.
	Policy string `json:"policy"`
	// Replicas is the number of replicas in the template; missing if its kind has none.
	Replicas int `json:"replicas,omitempty"`
	// AffinityGroup and AntiAffinityGroup are the workload's groups, as key=value.
	AffinityGroup     string `json:"affinityGroup,omitempty"`
	AntiAffinityGroup string `json:"antiAffinityGroup,omitempty"`
	// Reason and Message are those of the binding's condition Scheduled.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Clusters are the clusters that Karmada gave the workload, in Karmada's order.
	Clusters []world.Share `json:"clusters,omitempty"`
	// Leaving are the clusters from which the workload is being moved away.
	Leaving []string `json:"leaving,omitempty"`
}

func newBindings(decisions []world.Decision) []Binding {
	var all []Binding
	for _, d := range decisions {
		b := Binding{
			Kind: d.Binding.Template.Kind, Namespace: d.Binding.Template.Namespace, Name: d.Binding.Template.Name, Policy: d.Binding.Policy,
			Replicas: int(d.Binding.Template.Replicas), AffinityGroup: d.Binding.AffinityGroup, AntiAffinityGroup: d.Binding.AntiAffinityGroup,
			Reason: d.Binding.Reason, Message: d.Binding.Message, Clusters: d.Shares,
		}
		b.Leaving = list.Map(d.Binding.Evictions, func(e federation.Eviction) string { return e.From })
		all = append(all, b)
	}
	return all
}

// scheduled reports whether Karmada's scheduler succeeded the last time.
func (b Binding) scheduled() bool { return b.Reason == federation.ReasonSuccess }

// notScheduled returns the workloads for which Karmada's scheduler did not succeed.
func (s Step) notScheduled() []Binding {
	return list.Without(s.Bindings, Binding.scheduled)
}

// reasonText returns the reason and the message: "NoClusterFit: 0/3 clusters are available".
func (b Binding) reasonText() string { return b.Reason + ": " + b.Message }

// Decides reports whether Karmada decided the same for both: the same clusters and shares, or the same reason if there are none.
func (b *Binding) Decides(other *Binding) bool {
	return b.Reason == other.Reason && (b.scheduled() || b.Message == other.Message) && slices.Equal(b.Leaving, other.Leaving) &&
		slices.EqualFunc(b.Clusters, other.Clusters, func(a, b world.Share) bool { return a.Cluster == b.Cluster && a.Assigned == b.Assigned })
}

// Text returns "m1 3, m2 2", or the reason why the workload has no cluster.
func (b *Binding) Text(all bool) string {
	if !b.scheduled() {
		return b.reasonText()
	}
	return doc.OrNone(strings.Join(b.shareTexts(all), ", "))
}

// countOverfull counts the clusters that cannot run all pods that Karmada gave them.
func (s Step) countOverfull() int {
	full := map[string]bool{}
	for _, b := range s.Bindings {
		for _, share := range b.Clusters {
			if share.Pending > 0 {
				full[share.Cluster] = true
			}
		}
	}
	return len(full)
}

// karmadaTroubles lists what is wrong with Karmada's decisions.
func (s Step) karmadaTroubles() []string {
	return describeKarmada(len(s.notScheduled()), s.countOverfull())
}

func describeKarmada(unscheduled, overfull int) []string {
	var parts []string
	if unscheduled > 0 {
		parts = append(parts, words.Count(unscheduled, "workload")+" not scheduled by Karmada")
	}
	if overfull > 0 {
		parts = append(parts, words.Count(overfull, "cluster")+" given more than "+words.Pick(overfull, "it", "they")+" can run")
	}
	return parts
}

// isShort reports whether a cluster cannot run all that Karmada gave it of the workload.
func (b Binding) isShort() bool {
	return slices.ContainsFunc(b.Clusters, world.Share.Short)
}

// shareText returns "m1 3", or "m2 3 (2 run)" if the cluster cannot run all.
func shareText(s world.Share) string {
	if s.Assigned == 0 && s.Running+s.Pending == 0 {
		return s.Cluster
	}
	line := fmt.Sprintf("%s %d", s.Cluster, max(s.Assigned, s.Running))
	if s.Short() {
		line += fmt.Sprintf(" (%d %s)", s.Running, words.Pick(s.Running, "runs", "run"))
	}
	return line
}

func (s *stepText) bindingName(b Binding) string {
	if b.Namespace == "" {
		return cluster.Ref{Kind: b.Kind, Name: b.Name}.String()
	}
	return s.qualify(b.Namespace, cluster.Ref{Kind: b.Kind, Name: b.Name}.String())
}

// federationTroubles writes where the two levels disagree: workloads that Karmada gives to no cluster, or to clusters that cannot run them.
func (t *writer) federationTroubles(s *stepText) {
	refused := s.notScheduled()
	if len(refused) > 0 {
		t.Linef(doc.Yellow, "Not scheduled by Karmada (%d):", len(refused))
		groups := list.GroupBy(refused, Binding.reasonText)
		t.UpTo(len(groups), "reason", "reasons", func(i int) {
			t.Linef(doc.Plain, "  %s", t.NameFew(list.Map(groups[i], s.bindingName), len(groups[i])))
			t.Linef(doc.Plain, "    %s", groups[i][0].reasonText())
		})
	}
	t.shortShares(s, list.Where(s.Bindings, func(b Binding) bool { return b.isShort() }))
}

// shortShare is a share of a workload that its cluster cannot run completely.
type shortShare struct {
	of    Binding
	share world.Share
}

// shortShares writes which clusters cannot run all that they were given. Workloads whose pods are Pending in one cluster for one reason share a
// line: Karmada gives several workloads the same room, since it does not see their pods yet.
func (t *writer) shortShares(s *stepText, of []Binding) {
	var promises []shortShare
	for _, b := range of {
		for _, share := range b.Clusters {
			if share.Short() {
				promises = append(promises, shortShare{b, share})
			}
		}
	}
	if len(promises) == 0 {
		return
	}
	t.Linef(doc.Yellow, "Given to clusters that cannot run all of it (%d):", len(of))
	groups := list.GroupBy(promises, func(p shortShare) [2]string { return [2]string{p.share.Cluster, p.share.Message} })
	t.UpTo(len(groups), "group of workloads", "groups of workloads", func(i int) {
		assigned, running := 0, 0
		for _, p := range groups[i] {
			assigned, running = assigned+p.share.Assigned, running+p.share.Running
		}
		names := t.NameFew(list.Map(groups[i], func(p shortShare) string { return s.bindingName(p.of) }), len(groups[i]))
		if len(groups[i]) == 1 {
			t.Linef(doc.Plain, "  %s was given %d of %s, of which %d %s", groups[i][0].share.Cluster, assigned, names, running, words.Pick(running, "runs", "run"))
		} else {
			t.Linef(doc.Plain, "  %s was given %d of %s, of which %d %s; each was promised the same room: %s", groups[i][0].share.Cluster, assigned,
				words.Count(len(groups[i]), "workload"), running, words.Pick(running, "runs", "run"), names)
		}
		switch share := groups[i][0].share; {
		case share.Message == "":
		case share.Pending == 0: // the API server refuses the pods
			t.Linef(doc.Plain, "    %s", share.Message)
		default:
			t.Linef(doc.Plain, "    %s", doc.RefusalText(share.Message))
		}
	})
}

// isShortMessage reports whether [writer.shortShares] has written this reason for Pending pods.
func (s *stepText) isShortMessage(message string) bool {
	return message != "" && slices.ContainsFunc(s.Bindings, func(b Binding) bool {
		return slices.ContainsFunc(b.Clusters, func(share world.Share) bool { return share.Short() && share.Message == message })
	})
}

// bindings writes a table with a row for each workload: its replicas and its clusters.
func (t *writer) bindings(s *stepText) {
	if len(s.Bindings) == 0 {
		return
	}
	shown := s.Bindings
	if !t.All && len(shown) > maxBindings {
		shown = slices.SortedStableFunc(slices.Values(shown), func(a, b Binding) int { return cmp.Compare(a.troubleRank(), b.troubleRank()) })[:maxBindings]
	}
	t.Table("", s.bindingTable(shown, t.All)...)
	if more := len(s.Bindings) - len(shown); more > 0 {
		t.Linef(doc.Plain, "and %s%s", words.Count(more, "more workload"), t.HowToList("them"))
	}
	t.Space()
}

// maxBindings is the largest number of workloads in the table; those with a trouble come first. maxShares is the largest number of clusters that a row
// names. With --all there is no limit.
const maxBindings, maxShares = 6, 6

// bindingTable returns the titles, and a row for each workload. Unless all is set, a row counts clusters that are too many to name.
func (s *stepText) bindingTable(shown []Binding, all bool) [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("KARMADA", "REPLICAS", "CLUSTERS")}
	for _, b := range shown {
		clusters := doc.Plain.Cell(doc.OrNone(strings.Join(b.shareTexts(all), ", ")))
		switch {
		case !b.scheduled() && len(b.Clusters) == 0:
			clusters = doc.Yellow.Cell("none")
		case b.isShort():
			clusters.Style = doc.Yellow
		}
		replicas := doc.Plain.Cell(doc.None)
		if b.Replicas > 0 {
			replicas = doc.Number(b.Replicas, doc.Plain)
		}
		table = append(table, []doc.Cell{doc.Plain.Cell(s.bindingName(b)), replicas, clusters})
	}
	return table
}

// troubleRank returns the rank of the workload in the table: 0 if Karmada did not schedule it, 1 if its clusters cannot run all of it, 2
// otherwise.
func (b Binding) troubleRank() int {
	switch {
	case !b.scheduled():
		return 0
	case b.isShort():
		return 1
	}
	return 2
}

// shareTexts returns the clusters with their replicas. Many clusters are counted: "50 clusters with 2 each".
func (b Binding) shareTexts(all bool) []string {
	var shares []string
	if len(b.Clusters) <= maxShares || all {
		shares = list.Map(b.Clusters, shareText)
	} else {
		for _, alike := range list.GroupBy(b.Clusters, func(s world.Share) world.Share { s.Cluster, s.Message = "", ""; return s }) {
			first := alike[0]
			if len(alike) == 1 {
				shares = append(shares, shareText(first))
				continue
			}
			line := words.Count(len(alike), "cluster")
			if first.Assigned > 0 {
				line += fmt.Sprintf(" with %d each", first.Assigned)
			}
			if first.Short() {
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
