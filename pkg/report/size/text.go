package size

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	reportcapacity "github.com/faultline/faultline/pkg/report/capacity"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// document is the verdict, then the groups, and what goes wrong with one node fewer.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Lines(r.verdict()...)
	for _, c := range r.CronJobs {
		d.Linef(doc.Plain, "Counted as running: %s.", c.DescribeRuns())
	}
	if opts.Quiet {
		return &d
	}
	d.Space()
	d.Table("", r.table()...)
	d.Space()
	for _, f := range r.Fewer {
		d.Linef(doc.Bold, "%s", lackingText(f))
		d.Linef(doc.Plain, "  %s", doc.RefusalText(f.Message))
	}
	d.Space()
	d.Header()
	return &d
}

// verdict returns the answer, and the lines that qualify it.
func (r *Report) verdict() []doc.Cell {
	goal := "every pod has a node"
	if aside := r.countAside(); aside > 0 {
		goal = fmt.Sprintf("every pod but %d has a node", aside)
	}
	if len(r.Survive) == 0 {
		goal += " while none fails"
	}
	for _, level := range r.Survive {
		goal += ", also after the loss of " + doc.AnyDomain(level)
	}
	if slices.ContainsFunc(r.Aside, func(a capacity.Aside) bool { return a.Level != "" }) {
		goal += " but for what is set aside"
	}
	var lines []doc.Cell
	none := "No node is needed"
	if besides := r.keptText(); besides != "" {
		none = "No node besides " + besides + " is needed"
	}
	switch aside := r.countAside(); {
	case aside > 0 && aside == r.Pods:
		lines = append(lines, doc.Red.Cellf("No number of these nodes is enough: %s.", r.uselessText()))
	case !r.Found && r.allKept():
		lines = append(lines, doc.Red.Cellf("It takes more than %s so that %s. Give a node of a group that may grow, or name theirs with --group.", r.keptText(), goal))
	case r.Found && r.Nodes == 0 && aside > 0:
		lines = append(lines, doc.Red.Cellf("No number of these nodes is enough: %s. %s for %s.", r.uselessText(), none, words.Pick(r.Pods-aside, "the other one", fmt.Sprintf("the other %d", r.Pods-aside))))
	case r.Found && r.Nodes == 0:
		line := none + ": " + goal
		if r.Before > 0 {
			line += fmt.Sprintf(". The scenario has %d", r.Before)
			if r.keptText() != "" {
				line += " more"
			}
		}
		lines = append(lines, doc.Green.Cell(line+"."))
	case !r.Found && (r.AtLeast != nil || r.CostAtLeast != nil):
		lines = append(lines, doc.Yellow.Cellf("Not known yet: it takes at least %s so that %s. The scenario has %d.", r.boundText(), goal, r.Before))
	case !r.Found:
		lines = append(lines, doc.Red.Cellf("No number of these nodes was found with which %s.", goal))
	case r.Cost != nil:
		lines = append(lines, doc.Green.Cellf("%s at %s an hour will do%s: %s. The scenario has %d at %s.", words.Count(r.Nodes, "node"), formatPrice(r.Cost), r.evenText(), goal, r.Before, formatPrice(r.CostBefore)))
	default:
		lines = append(lines, doc.Green.Cellf("%s will do%s: %s. The scenario has %d.", words.Count(r.Nodes, "node"), r.evenText(), goal, r.Before))
	}
	if r.Uneven != nil {
		lines = append(lines, doc.Yellow.Cell(cheaperText(r.Uneven)))
	}
	if r.Autoscaled != nil {
		lines = append(lines, autoscaledLine(r.Autoscaled))
	}
	for i := range r.Safety {
		lines = append(lines, reportcapacity.SafetyLines(&r.Safety[i])...)
	}
	for _, same := range list.GroupBy(r.Aside, asideReason) {
		lines = append(lines, doc.Yellow.Cell(asideText(same)))
	}
	if !r.Found {
		return lines
	}
	if !r.Proven && r.Head.Partial == "" {
		lines = append(lines, doc.Yellow.Cellf("After %d clusters the search ended at its bound, and there may be a cheaper one; give more --tries, or fewer groups with --group.", r.Tried))
	}
	if r.Unbound > 0 {
		lines = append(lines, doc.Plain.Cellf("%s had a node and %s placed again.", words.Count(r.Unbound, "pod"), words.Pick(r.Unbound, "was", "were")))
	}
	if r.Foreign > 0 {
		lines = append(lines, doc.Plain.Cellf("%s of other schedulers %s left out.", words.Count(r.Foreign, "pod"), words.Pick(r.Foreign, "is", "are")))
	}
	return lines
}

// boundText returns the lower bound that an interrupted search has found.
func (r *Report) boundText() string {
	if r.CostAtLeast != nil {
		return "nodes of " + formatPrice(r.CostAtLeast) + " an hour"
	}
	return words.Count(*r.AtLeast, "node")
}

// keptText returns words for the nodes that stay as they are, or "" if there are none.
func (r *Report) keptText() string {
	nodes, planes := 0, 0
	for _, g := range r.Groups {
		for _, z := range g.Zones {
			if g.Kept {
				nodes += z.Before
			}
			if g.Kept && g.ControlPlane {
				planes += z.Before
			}
		}
	}
	switch {
	case nodes == 0:
		return ""
	case nodes == 1 && planes == 1:
		return "the control plane"
	case nodes == planes:
		return fmt.Sprintf("the %d control planes", nodes)
	case nodes == 1:
		return "the one that stays"
	}
	return fmt.Sprintf("the %d that stay", nodes)
}

// allKept reports whether no group may change.
func (r *Report) allKept() bool {
	return !slices.ContainsFunc(r.Groups, func(g capacity.Group) bool { return !g.Kept })
}

// uselessText says how many pods have no node, however many nodes there are.
func (r *Report) uselessText() string {
	return fmt.Sprintf("%d of %s %s no node, however many there are", r.countAside(), words.Count(r.Pods, "pod"), words.Pick(r.countAside(), "has", "have"))
}

// autoscaledLine says how many nodes the autoscaler ends with by itself.
func autoscaledLine(a *capacity.Autoscaled) doc.Cell {
	style, line := doc.Plain, fmt.Sprintf("The Cluster Autoscaler, from one node of each group in each of its zones, comes to %s", words.Count(a.Nodes, "node"))
	if a.Cost != nil {
		line += " at " + formatPrice(a.Cost) + " an hour"
	}
	if a.Pending > 0 {
		style, line = doc.Yellow, line+", and leaves "+words.Count(a.Pending, "pod")+" Pending"
	}
	return style.Cell(line + ".")
}

// evenText says that each zone of a group has the same number of nodes, or returns "".
func (r *Report) evenText() string {
	if !r.Even {
		return ""
	}
	return ", as many of a group in each of its zones"
}

// cheaperText says how many nodes suffice if the zones of a group may differ.
func cheaperText(u *capacity.Cheaper) string {
	var where []string
	for _, g := range u.Groups {
		for _, z := range sortZones(g.Zones) {
			if z.Nodes > 0 {
				where = append(where, fmt.Sprintf("%d of %s in %s", z.Nodes, g.Name, doc.OrNone(z.Zone)))
			}
		}
	}
	cost := ""
	if u.Cost != nil {
		cost = fmt.Sprintf(" at %s an hour", formatPrice(u.Cost))
	}
	return fmt.Sprintf("With numbers that differ from zone to zone %s%s will do: %s; simulate size --free searches for the fewest of these.", words.Count(u.Nodes, "node"), cost, words.Few(where))
}

// countAside counts the pods that have no node while nothing fails.
func (r *Report) countAside() int {
	pods := 0
	for _, a := range r.Aside {
		if a.Level == "" {
			pods += a.Pods
		}
	}
	return pods
}

// asideReason is a key that is equal for pods of a workload which do not come back for the same reason, whichever domain fails.
func asideReason(a capacity.Aside) capacity.Aside {
	a.Domain, a.Pod = "", ""
	return a
}

// asideText says which pods are set aside, after which failures, and why. All failures must have the same reason.
func asideText(failures []capacity.Aside) string {
	a := failures[0]
	line := fmt.Sprintf("Set aside: %s of %s", words.Count(a.Pods, "pod"), a.Workload)
	switch {
	case a.Level != "":
		domains := list.Map(failures, func(f capacity.Aside) string { return f.Domain })
		line += fmt.Sprintf(" %s not back after the loss of %s %s, nor with twice the nodes", words.Pick(a.Pods, "is", "are"), doc.DomainOrKey(a.Level), words.Or(domains))
	case a.Empty:
		line += words.Pick(a.Pods, " fits", " fit") + " on no node, even when it is empty"
	default:
		line += words.Pick(a.Pods, " has", " have") + " no node, nor with twice the nodes"
	}
	return line + ": " + cmp.Or(a.Message, expect.NoMessage)
}

func formatPrice(p *float64) string {
	if p == nil {
		return doc.None
	}
	return fmt.Sprint(float64(int64(*p*1e4+0.5)) / 1e4)
}

// sortZones returns the zones sorted by name. The answer has them in the order of the input.
func sortZones(zones []capacity.Zone) []capacity.Zone {
	return slices.SortedFunc(slices.Values(zones), func(a, b capacity.Zone) int { return cmp.Compare(a.Zone, b.Zone) })
}

// table returns the titles, and a row for each group and zone.
func (r *Report) table() [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("GROUP", "ZONE", "NODES", "BEFORE", "PRICE")}
	for _, g := range r.Groups {
		for _, z := range sortZones(g.Zones) {
			if r.Found && z.Nodes+z.Before == 0 { // a type of node that is not in the mix
				continue
			}
			name := g.Name
			if g.Kept {
				name += " (kept)"
			}
			nodes := doc.None
			if r.Found {
				nodes = fmt.Sprint(z.Nodes)
			}
			table = append(table, doc.Plain.Row(name, doc.OrNone(z.Zone), nodes, fmt.Sprint(z.Before), formatPrice(g.Price)))
		}
	}
	if !slices.ContainsFunc(r.Groups, func(g capacity.Group) bool { return g.Price != nil }) {
		for i := range table {
			table[i] = table[i][:len(table[i])-1]
		}
	}
	return table
}

// lackingText says how many pods have no node, and on which cluster.
func lackingText(f capacity.Fewer) string {
	var on string
	switch {
	case f.Group == "":
		on = "On the largest cluster that was tried"
	case f.Zone == "":
		on = "With one " + f.Group + " fewer in each zone"
	default:
		on = "With one " + f.Group + " fewer in zone " + f.Zone
	}
	if f.Domain != "" {
		on += ", after the loss of " + doc.DomainOrKey(f.Level) + " " + f.Domain
	}
	return fmt.Sprintf("%s, %s no node; the first is %s", on, words.Count(f.Stranded, "pod")+words.Pick(f.Stranded, " has", " have"), strings.TrimPrefix(f.Pod, "default/"))
}
