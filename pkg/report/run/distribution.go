package run

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// maxSizes is how many different numbers of pods per domain are shown if the domains are not named.
const maxSizes = 4

// maxWorkloads is the largest number of rows if not every pod is listed, and maxComplete the largest number of them for workloads that lack
// no pod. maxWorkloadsOfFederation takes the place of maxWorkloads beside a table of Karmada's decisions.
const maxWorkloads, maxWorkloadsOfFederation, maxComplete = 12, 6, 5

// workloads writes a table of workloads with a column for each level. If not every pod is listed, workloads that lack pods come first, and
// a line below names the DaemonSets that lack none.
func (t *writer) workloads(s *stepText, workloads []Workload, listed bool) {
	var daemons []Workload
	if !listed {
		workloads, daemons = rankWorkloads(workloads)
	}
	shown, most := workloads, maxWorkloads
	if len(s.Bindings) > 0 {
		most = maxWorkloadsOfFederation
	}
	if !listed {
		lacking := 0
		for lacking < len(shown) && !shown[lacking].isComplete() {
			lacking++
		}
		shown = shown[:min(len(shown), most, lacking+maxComplete)]
	}
	t.workloadTable(s, t.tableLevels(s, shown, listed), shown, listed)
	switch rest := workloads[len(shown):]; {
	case listed:
	case len(rest) == 0 && t.Page:
	case len(rest) == 0:
		t.Linef(doc.Plain, "Use --all to list every pod.")
	case rest[0].isComplete():
		t.Linef(doc.Plain, "and %s, none of which lacks a pod%s", words.Count(len(rest), "more workload"), t.HowToList("them and their pods"))
	default:
		t.Linef(doc.Plain, "and %s%s", words.Count(len(rest), "more workload"), t.HowToList("them and their pods"))
	}
	if len(daemons) > 0 {
		names := list.Map(daemons, func(w Workload) string { return fmt.Sprintf("%s (%d)", s.qualify(w.Namespace, w.Name), w.Running) })
		t.Linef(doc.Plain, "%s a pod on every node meant for it: %s", words.Has(len(daemons), "DaemonSet"), t.ListNames(names))
	}
}

// rankWorkloads returns the workloads that lack pods, then the others, and apart from these the DaemonSets that lack none.
func rankWorkloads(workloads []Workload) (apps, daemons []Workload) {
	var complete []Workload
	for _, w := range workloads {
		switch {
		case !w.isComplete():
			apps = append(apps, w)
		case w.Kind == "DaemonSet":
			daemons = append(daemons, w)
		default:
			complete = append(complete, w)
		}
	}
	return append(apps, complete...), daemons
}

// tableLevels returns the columns of the table. If not every pod is listed, it keeps regions and zones, and leaves out nodes if the table would
// only count them. In a federation it leaves out clusters: Karmada's table has those of a distributed workload, and the name of any other
// begins with its cluster.
func (t *writer) tableLevels(s *stepText, workloads []Workload, listed bool) []string {
	named := func(d Distribution) bool { return len(d.Counts)+d.Empty <= doc.MaxCellDomains }
	var keys, brief []string
	for _, w := range workloads {
		for _, d := range w.Domains {
			if slices.Contains(s.keys, d.TopologyKey) && !slices.Contains(keys, d.TopologyKey) {
				keys = append(keys, d.TopologyKey)
			}
			if (named(d) || d.TopologyKey != doc.Hostname && slices.Contains(s.keys, d.TopologyKey)) && !slices.Contains(brief, d.TopologyKey) {
				brief = append(brief, d.TopologyKey)
			}
		}
	}
	if !listed && !t.wide && len(brief) > 0 {
		keys = brief
	}
	if len(s.Bindings) > 0 && !t.wide && !t.All {
		keys = slices.DeleteFunc(keys, func(key string) bool { return key == cluster.MemberLabel })
	}
	return keys
}

// isComplete reports whether every wanted pod runs.
func (w Workload) isComplete() bool { return w.Pending == 0 && w.Running >= w.Desired }

func (t *writer) workloadTable(s *stepText, keys []string, workloads []Workload, listed bool) {
	var c doc.TableBuilder[Workload]
	if s.namespaced {
		c.AddTextColumn("NAMESPACE", func(w Workload) string { return doc.OrNone(w.Namespace) })
	}
	c.AddTextColumn("NAME", Workload.Title)
	c.AddNumberColumn("DESIRED", doc.Plain, func(w Workload) int { return w.Desired })
	c.AddNumberColumn("RUNNING", doc.Plain, func(w Workload) int { return w.Running })
	c.AddNumberColumn("PENDING", doc.Yellow, func(w Workload) int { return w.Pending })
	for i, title := range doc.ColumnTitles(keys) {
		c.AddTextColumn(title, func(w Workload) string {
			d := w.Distribution(keys[i])
			if d == nil || !d.hasPods() {
				return doc.None
			}
			counts := *d
			if !listed && len(d.Counts) > 0 {
				counts.Empty = 0 // the skew implies them
			}
			return fmt.Sprintf("%s (skew %d)", counts.Text(doc.MaxCellDomains), d.Skew)
		})
	}
	t.Table("", c.Rows(workloads)...)
}

// distributions writes how the pods of one workload are distributed, a line for each level.
func (t *writer) distributions(s *stepText, w Workload) {
	var table [][]doc.Cell
	for _, key := range s.keys {
		if d := w.Distribution(key); d != nil && d.hasPods() {
			table = append(table, doc.Plain.Row(key, d.Text(doc.MaxDomains), fmt.Sprintf("(skew %d)", d.Skew)))
		}
	}
	t.Table("", table...)
}

// Text names the domains with their pods, "east 1, west 2, 1 region empty", if there are at most limit domains. Otherwise it counts the
// domains by their number of pods, "300 nodes: 298 with 1 pod, 1 with 2, 1 empty".
func (d Distribution) Text(limit int) string {
	var parts []string
	domains := len(d.Counts) + d.Empty
	if domains <= limit {
		for _, c := range d.Counts {
			parts = append(parts, fmt.Sprintf("%s %d", c.Domain, c.Pods))
		}
		if d.Empty > 0 && len(parts) > 0 {
			parts = append(parts, words.Count(d.Empty, doc.Noun(d.TopologyKey))+" empty")
		}
	} else if len(d.Counts) > 0 {
		parts = d.countBySize()
		parts[0] = words.Count(domains, doc.Noun(d.TopologyKey)) + ": " + parts[0]
		if d.Empty > 0 {
			parts = append(parts, fmt.Sprintf("%d empty", d.Empty))
		}
	}
	if d.Unlabelled > 0 {
		parts = append(parts, fmt.Sprintf("%d on nodes without the label", d.Unlabelled))
	}
	return strings.Join(parts, ", ")
}

// countBySize counts the domains by their number of pods, in ascending order: "298 with 1 pod", "1 with 2".
func (d Distribution) countBySize() []string {
	counts := slices.Clone(d.Counts)
	slices.SortFunc(counts, func(a, b Count) int { return cmp.Compare(a.Pods, b.Pods) })
	var parts []string
	for first := 0; first < len(counts); {
		pods, last := counts[first].Pods, first
		for last < len(counts) && counts[last].Pods == pods {
			last++
		}
		size := strconv.Itoa(pods)
		if first == 0 {
			size = words.Count(pods, "pod")
		}
		parts = append(parts, fmt.Sprintf("%d with %s", last-first, size))
		first = last
	}
	if len(parts) > maxSizes {
		return []string{fmt.Sprintf("%d with %d to %d pods", len(counts), counts[0].Pods, counts[len(counts)-1].Pods)}
	}
	return parts
}

// mergeBarePods returns the workloads, with the pods without an owner of each namespace merged into one row at the place of the first.
func mergeBarePods(workloads []Workload) []Workload {
	bare := map[string][]Workload{}
	for _, w := range workloads {
		if w.Kind == "Pod" {
			bare[w.Namespace] = append(bare[w.Namespace], w)
		}
	}
	var all []Workload
	for _, w := range workloads {
		switch group := bare[w.Namespace]; {
		case w.Kind != "Pod" || len(group) == 1:
			all = append(all, w)
		case w.Name == group[0].Name:
			all = append(all, sumWorkloads(group))
		}
	}
	return all
}

// sumWorkloads sums pods without an owner up to one row.
func sumWorkloads(pods []Workload) Workload {
	sum := Workload{Ref: cluster.Ref{Namespace: pods[0].Namespace, Name: fmt.Sprintf("%d pods without owner", len(pods))}}
	var keys []string
	for _, w := range pods {
		sum.Desired += w.Desired
		sum.Running += w.Running
		sum.Pending += w.Pending
		for _, d := range w.Domains {
			if !slices.Contains(keys, d.TopologyKey) {
				keys = append(keys, d.TopologyKey)
			}
		}
	}
	sum.Domains = list.Map(keys, func(key string) Distribution { return sumDistributions(pods, key) })
	return sum
}

func sumDistributions(pods []Workload, key string) Distribution {
	sum, domains, byName := Distribution{TopologyKey: key}, 0, map[string]int{}
	for _, w := range pods {
		d := w.Distribution(key)
		if d == nil {
			continue
		}
		domains = max(domains, len(d.Counts)+d.Empty)
		sum.Unlabelled += d.Unlabelled
		for _, c := range d.Counts {
			byName[c.Domain] += c.Pods
		}
	}
	for name, n := range byName {
		sum.Counts = append(sum.Counts, Count{Domain: name, Pods: n})
	}
	slices.SortFunc(sum.Counts, func(a, b Count) int { return cmp.Compare(a.Domain, b.Domain) })
	sum.Empty = max(0, domains-len(sum.Counts))
	if len(sum.Counts) > 0 {
		byPods := func(a, b Count) int { return cmp.Compare(a.Pods, b.Pods) }
		sum.Skew = slices.MaxFunc(sum.Counts, byPods).Pods
		if sum.Empty == 0 {
			sum.Skew -= slices.MinFunc(sum.Counts, byPods).Pods
		}
	}
	return sum
}
