package consolidate

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/consolidate"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/words"
)

// Formats are the formats of the report. Quiet prints only the answer, name the nodes that can go, and All lists every node.
var Formats = format.Of[Report]{Question: (*Report).question, Doc: document, Brief: true, Course: course, Names: nodeNames}.Formats()

// question returns the title of the page.
func (r *Report) question() string {
	if r.Free {
		return "Free nodes"
	}
	return "Fewer nodes"
}

func nodeNames(r *Report) []string {
	return list.Map(r.Removed, func(n consolidate.Removed) string { return "node/" + n.Node })
}

// document is the verdict, then the nodes that can go, and why the others stay.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	if r.Decided != nil {
		r.decided(&d)
		return &d
	}
	d.Line(r.verdict())
	for _, s := range r.Stranded {
		d.Linef(doc.Plain, "The loss of a %s leaves at most %s without a node, before: %d.", doc.DomainOrKey(s.Level), words.Count(s.After, "pod"), s.Before)
	}
	if r.Unpriced > 0 && r.Saved != nil {
		d.Linef(doc.Yellow, "%s no price, and not counted.", words.Count(r.Unpriced, "node")+words.Pick(r.Unpriced, " has", " have"))
	}
	groups := list.GroupBy(r.Stays, func(s consolidate.Stay) consolidate.Why { return s.Why })
	for _, group := range groups {
		d.Linef(doc.Plain, "%s: %s.", words.Count(len(group), "node")+words.Pick(len(group), " stays", " stay"), reasonTexts[group[0].Why])
	}
	d.Space()
	title := "GOES"
	if r.Free {
		title = "FREE"
	}
	rows := [][]doc.Cell{doc.Bold.Row(title, "EVICTED", "PRICE")}
	for _, n := range r.Removed {
		price := doc.None
		if n.Price != nil {
			price = doc.Amount(*n.Price)
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(n.Node), doc.Number(n.Evicted, doc.Plain), doc.Plain.Cell(price)})
	}
	if r.Saved == nil {
		for i := range rows {
			rows[i] = rows[i][:2]
		}
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: doc.MaxPods, Noun: "node", Nouns: "nodes"})
	}
	d.Space()
	rows = [][]doc.Cell{doc.Bold.Row("STAYS", "WHY", "POD", "MESSAGE")}
	for _, s := range r.Stays {
		pods := doc.None
		if len(s.Pods) > 0 {
			pods = cluster.Qualify(s.Pods[0].Namespace, s.Pods[0].Name)
		}
		if more := len(s.Pods) - 1; more > 0 {
			pods += fmt.Sprintf(" and %d more", more)
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(s.Node), doc.Plain.Cell(string(s.Why)), doc.Plain.Cell(pods), doc.Plain.Cell(doc.OrNone(s.Message))})
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: maxStays, Noun: "node", Nouns: "nodes"})
	}
	d.Header()
	return &d
}

// maxStays is the largest number of nodes that stay and are listed in text.
const maxStays = 20

// reasonTexts has the reasons why nodes stay, in words.
var reasonTexts = map[consolidate.Why]string{
	consolidate.Kept: "you keep it", consolidate.ControlPlane: "control planes are not asked about", consolidate.ByPod: "a pod cannot be evicted",
	consolidate.ByBudget: "a budget allows no eviction", consolidate.ByVolume: "no other node can have the volume of a pod", consolidate.ByRoom: "no other node has room for a pod",
	consolidate.ByRules: "the rules of a pod, or taints, leave no other node", consolidate.ByQuota: "no other pod would be created", consolidate.ByFailure: "a failure would strand more pods",
	consolidate.ByAutoscaler: "the autoscaler would add another one", consolidate.ByPreemption: "a pod that nothing replaces would be preempted",
	consolidate.ByDecider: "the decider says nothing against it, and keeps it", consolidate.Unmentioned: "not one of the decider's own",
}

// isUntried reports whether nodes that stay for this reason were not tried.
func isUntried(why consolidate.Why) bool {
	return why == consolidate.Kept || why == consolidate.ControlPlane
}

// countStays counts the nodes that stay for a reason for which has returns true.
func (r *Report) countStays(has func(consolidate.Why) bool) int {
	return list.Count(r.Stays, func(s consolidate.Stay) bool { return has(s.Why) })
}

// whyUntried says why no node was tried.
func (r *Report) whyUntried() string {
	planes := r.countStays(func(w consolidate.Why) bool { return w == consolidate.ControlPlane })
	kept := r.countStays(func(w consolidate.Why) bool { return w == consolidate.Kept })
	only := "; --pool KEY=VALUE tries those with a label"
	switch {
	case planes+kept == 0:
		return "the cluster has no other"
	case kept == 0:
		return words.Pick(planes, "the only one is a control plane", fmt.Sprintf("all %d are control planes", planes)) + only
	case kept == r.Nodes:
		return "you keep " + words.Pick(kept, "the only one", fmt.Sprintf("all %d", kept))
	case planes == 0:
		return fmt.Sprintf("you keep %d of %d, and --pool names no other", kept, r.Nodes)
	}
	return fmt.Sprintf("%s, and you keep %s", words.Count(planes, "control plane")+words.Pick(planes, " is not asked about", " are not asked about"), words.Pick(kept, "the other", fmt.Sprintf("the other %d", kept)))
}

// freeVerdict returns the first line of the answer which nodes can be free.
func (r *Report) freeVerdict() doc.Cell {
	n, now := len(r.Removed), list.Count(r.Removed, func(n consolidate.Removed) bool { return n.Evicted == 0 })
	most := ""
	if r.Partial != "" {
		most = "at least "
	}
	switch {
	case n == 0 && r.Partial != "":
		return doc.Yellow.Cellf("No node is known yet that can be free: %d of %s were tried.", r.Nodes-r.Untried, words.Count(r.Nodes, "node"))
	case n == 0:
		return doc.Yellow.Cellf("None of %s can be free of pods.", words.Count(r.Nodes, "node"))
	case now == n:
		return doc.Green.Cellf("%s of %s can be free of pods, as now.", words.UpperFirst(fmt.Sprintf("%s%d", most, n)), words.Count(r.Nodes, "node"))
	}
	return doc.Green.Cellf("%s of %s can be free of pods, now %d: %s, no budget is broken, no pod is newly Pending.", words.UpperFirst(fmt.Sprintf("%s%d", most, n)), words.Count(r.Nodes, "node"), now, words.Count(r.Evicted, "eviction"))
}

// verdict returns the first line.
func (r *Report) verdict() doc.Cell {
	if r.Free {
		return r.freeVerdict()
	}
	n := len(r.Removed)
	switch tried := n + r.Unproven + r.countStays(func(w consolidate.Why) bool { return !isUntried(w) }); {
	case r.Unproven > 0 && n == 0:
		return doc.Yellow.Cellf("Not known yet which nodes can go%s: %d of %s can go while no node fails%s.", r.survivalText(), r.Unproven, words.Count(r.Nodes, "node"), r.untriedText())
	case r.Partial != "" && n == 0:
		return doc.Yellow.Cellf("No node is known yet that can go%s: %s tried%s.", r.survivalText(), words.Pick(tried, "1 node was", fmt.Sprintf("%d nodes were", tried)), r.untriedText())
	case tried == 0:
		return doc.Yellow.Cellf("No node was tried: %s.", r.whyUntried())
	case n == 0 && tried < r.Nodes:
		return doc.Yellow.Cellf("No node can go: %d of %d %s tried, and %s for another reason.", tried, r.Nodes, words.Pick(tried, "was", "were"), words.Pick(tried, "is needed, or stays", "each is needed, or stays"))
	case n == 0:
		return doc.Yellow.Cellf("No node can go: all %d are needed, or stay for other reasons.", r.Nodes)
	}
	saved := ""
	if r.Saved != nil {
		saved = fmt.Sprintf(", %.2f an hour less", *r.Saved)
	}
	if r.Partial != "" {
		return doc.Green.Cellf("At least %d of %s can go%s: no budget is broken, no pod is newly Pending%s%s.", n, words.Count(r.Nodes, "node"), saved, r.survivalText(), r.untriedText())
	}
	return doc.Green.Cellf("%d of %s can go: %d %s enough%s; no budget is broken, no pod is newly Pending%s.", n, words.Count(r.Nodes, "node"), r.Nodes-n, words.Pick(r.Nodes-n, "is", "are"), saved, r.survivalText())
}

// untriedText counts the nodes that an interrupted search has not tried.
func (r *Report) untriedText() string {
	if r.Untried == 0 {
		return ""
	}
	return fmt.Sprintf("; %d %s not tried", r.Untried, words.Pick(r.Untried, "was", "were"))
}

// survivalText says which losses the cluster still survives without the removed nodes.
func (r *Report) survivalText() string {
	if len(r.Survive) == 0 {
		return " while no node fails"
	}
	line := ""
	for _, level := range r.Survive {
		line += fmt.Sprintf(", also after the loss of %s as before", doc.AnyDomain(level))
	}
	return line
}

// course returns a picture of the number of nodes, the evicted pods and the saved price after each removal.
func course(r *Report) *doc.Course {
	c := &doc.Course{Title: "node by node", Moments: []string{"start"}}
	nodes, evicted := doc.Curve{Name: "nodes", Values: []float64{float64(r.Nodes)}}, doc.Curve{Name: "evicted pods", Style: doc.Yellow, Values: []float64{0}}
	saved := doc.Curve{Name: "saved in an hour", Style: doc.Green, Values: []float64{0}}
	pods, sum := 0, 0.0
	for i, n := range r.Removed {
		pods += n.Evicted
		if n.Price != nil {
			sum += *n.Price
		}
		c.Moments = append(c.Moments, n.Node)
		nodes.Values, evicted.Values, saved.Values = append(nodes.Values, float64(r.Nodes-i-1)), append(evicted.Values, float64(pods)), append(saved.Values, sum)
	}
	c.Curves = []doc.Curve{nodes, evicted}
	if slices.ContainsFunc(r.Removed, func(n consolidate.Removed) bool { return n.Price != nil }) {
		c.Curves = append(c.Curves, saved)
	}
	return c
}
