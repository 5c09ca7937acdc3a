package plan

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/ask/plan"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/words"
)

// Formats are the formats of the report. Quiet prints only the answer, and All lists every workload.
var Formats = format.Of[Report]{Question: (*Report).question, Doc: document, Brief: true}.Formats()

// document is the verdict, then the patches, the nodes to add, the pods that stay stranded, and the pods that each loss strands now.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Line(r.verdict())
	if r.Unreplaced > 0 {
		most := ", at most"
		if r.Partial != "" {
			most = ""
		}
		d.Linef(doc.Plain, "Nothing replaces %s of one loss%s: %s back with their nodes, and need no room. simulate blast lists them.", words.Count(r.Unreplaced, "pod"), most,
			words.Pick(r.Unreplaced, "such pods come", "they come"))
	}
	if len(r.Losses) > 0 && len(r.Left) == 0 && r.Partial == "" {
		d.Line(doc.Plain.Cell("Tried as a whole, from today's placement: after each loss everything that is replaced has a node."))
	}
	d.Space()
	writeChanges(&d, r, opts)
	d.Space()
	writeAdditions(&d, r)
	writeAutoscaled(&d, r)
	writeLeft(&d, r)
	writeLosses(&d, r, opts)
	d.Header()
	return &d
}

// writeLosses lists the pods that each loss strands now.
func writeLosses(d *doc.Doc, r *Report, opts report.Options) {
	rows := [][]doc.Cell{doc.Bold.Row("LOSS OF", "STRANDED", "NEEDS", "NO NODE HELPS", "WHOSE")}
	for _, l := range r.Losses {
		needs := list.Map(l.Needs, func(n plan.Need) string { return fmt.Sprintf("%s %d", n.Group, n.Nodes) })
		whose := list.Map(l.Workloads, func(w plan.Workload) string {
			return fmt.Sprintf("%d of %s", w.Pods, cluster.Qualify(w.Namespace, w.Workload))
		})
		needed, blocked := doc.Plain.Cell(doc.OrNone(strings.Join(needs, ", "))), doc.Number(l.Blocked, doc.Yellow)
		if l.Open {
			needed, blocked = doc.Plain.Cell(notSearched), doc.Plain.Cell(notSearched)
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(doc.LevelName(l.Level) + " " + l.Domain), doc.Number(l.Stranded, doc.Yellow), needed, blocked, doc.Plain.Cell(joinFew(whose, opts))})
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: doc.MaxPods, Noun: "loss", Nouns: "losses"})
	}
	d.Space()
}

// writeLeft lists the workloads that stay stranded, each once: the losses that strand its pods, the largest number of pods that one of them
// strands, and why.
func writeLeft(d *doc.Doc, r *Report) {
	rows := [][]doc.Cell{doc.Bold.Row("STAYS STRANDED", "PODS", "LOSS OF", "MESSAGE")}
	for _, group := range list.GroupBy(r.Left, func(l plan.Left) cluster.WorkloadRef { return l.WorkloadRef }) {
		most := 0
		for _, l := range group {
			most = max(most, l.Pods)
		}
		where := list.Map(group, func(l plan.Left) string { return doc.LevelName(l.Level) + " " + l.Domain })
		rows = append(rows, []doc.Cell{doc.Plain.Cell(cluster.Qualify(group[0].Namespace, group[0].Workload)), doc.Number(most, doc.Yellow),
			doc.Plain.Cell(strings.Join(where, ", ")), doc.Plain.Cell(doc.OrNone(group[0].Message))})
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: doc.MaxPods, Noun: "workload", Nouns: "workloads"})
	}
	d.Space()
}

// notSearched takes the place of a value that an interrupted search has not found.
const notSearched = "not asked"

// writeAdditions lists the nodes to add.
func writeAdditions(d *doc.Doc, r *Report) {
	rows := [][]doc.Cell{doc.Bold.Row("ADD", "GROUP", "ZONE", "LIKE", "PRICE")}
	priced := false
	for _, a := range r.Add {
		price := doc.None
		if a.Price != nil {
			price, priced = doc.Amount(*a.Price*float64(a.Nodes)), true
		}
		rows = append(rows, []doc.Cell{doc.Number(a.Nodes, doc.Green), doc.Plain.Cell(a.Group), doc.Plain.Cell(doc.OrNone(a.Zone)), doc.Plain.Cell(a.Like), doc.Plain.Cell(price)})
	}
	if !priced {
		for i := range rows {
			rows[i] = rows[i][:4]
		}
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: doc.MaxPods, Noun: "line", Nouns: "lines"})
	}
	d.Space()
}

// writeAutoscaled says how many nodes the autoscaler adds by itself, and which maxima must be raised for the plan.
func writeAutoscaled(d *doc.Doc, r *Report) {
	for _, a := range r.Autoscaled {
		d.Linef(doc.Plain, "By itself the autoscaler adds %s to group %s after one loss, at most: from %d to %d, of no more than %d.", words.Count(a.Nodes, "node"), a.Group, a.To-a.Nodes, a.To, a.Max)
	}
	for _, raise := range r.Raise {
		d.Linef(doc.Plain, "Raise the maximum of group %s from %d to %d: so many nodes it has with the plan after one loss, those that are lost among them.", raise.Group, raise.Max, raise.To)
	}
	d.Space()
}

// writeChanges lists the patches, grouped by what they change. It writes the commands for the first workload, or for all of them.
func writeChanges(d *doc.Doc, r *Report, opts report.Options) {
	for _, group := range list.GroupBy(r.Changes, func(c plan.Change) string { return c.Change + priceText(c.Price) }) {
		whose := list.Map(group, func(c plan.Change) string { return cluster.Qualify(c.Namespace, c.Workload) })
		d.Linef(doc.Plain, "Patch %s: %s%s", joinFew(whose, opts), group[0].Change, priceText(group[0].Price))
		for i, c := range group {
			if i > 0 && !opts.All && !opts.Page {
				d.Linef(doc.Plain, "  and %d more like it; --all lists them", len(group)-1)
				break
			}
			for _, command := range c.Commands {
				d.Verbatim("  " + command)
			}
		}
	}
}

// maxNamed is the largest number of workloads that a line names.
const maxNamed = 3

func joinFew(names []string, opts report.Options) string {
	if len(names) <= maxNamed || opts.All {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

func priceText(price []string) string {
	if len(price) == 0 {
		return ""
	}
	return " (" + strings.Join(price, "; ") + ")"
}

// verdict returns the first line: what the losses strand, and which pods do not run before any loss.
func (r *Report) verdict() doc.Cell {
	verdict := r.lossVerdict()
	nothing := words.UpperFirst(doc.NothingToLose(r.NotRunning)) + "."
	switch {
	case len(r.NotRunning) > 0 && r.Running == 0:
		return doc.Red.Cell(nothing)
	case r.Pending == 0:
		return verdict
	}
	if verdict.Style == doc.Green {
		verdict.Style = doc.Yellow
	}
	verdict.Text += fmt.Sprintf(" Before any loss %d of %s %s Pending.", r.Pending, words.Count(r.Running+r.Pending, "pod"), words.Pick(r.Pending, "is", "are"))
	if len(r.NotRunning) > 0 {
		verdict.Text += " " + nothing
	}
	return verdict
}

// lossVerdict says what the losses strand, and what would suffice.
func (r *Report) lossVerdict() doc.Cell {
	any := words.Or(list.Map(r.Survive, doc.AnyDomain))
	if len(r.Losses) == 0 && r.Partial != "" {
		return doc.Yellow.Cellf("Not known yet: %s nobody, and the others were not tried.", words.Pick(r.Domains, "1 loss was tried and strands", fmt.Sprintf("%d losses were tried and strand", r.Domains)))
	}
	if len(r.Losses) == 0 {
		gone := ""
		if r.Unreplaced > 0 {
			gone = fmt.Sprintf(", though nothing replaces %s of one loss", words.Count(r.Unreplaced, "pod"))
		}
		if len(r.Autoscaled) > 0 {
			return doc.Green.Cellf("Yes, with the autoscaler: the loss of %s strands nobody once it has added nodes%s; nothing else is to be added.", any, gone)
		}
		return doc.Green.Cellf("Yes: the loss of %s strands nobody%s; nothing is to be added.", any, gone)
	}
	worst := r.Losses[0]
	no := "No"
	if len(r.Autoscaled) > 0 {
		no = "No, also with the autoscaler"
	}
	now := fmt.Sprintf("%s: the loss of %s %s strands %s", no, doc.LevelName(worst.Level), worst.Domain, words.Count(worst.Stranded, "pod"))
	if more := len(r.Losses) - 1; more > 0 {
		now += fmt.Sprintf(", and %d other %s %s, too", more, words.Pick(more, "loss", "losses"), words.Pick(more, "strands some", "strand some"))
	}
	if r.Partial != "" {
		if r.AtLeast > 0 {
			return doc.Red.Cellf("%s. At least %s needed; how many would do is not known yet.", now, words.Is(r.AtLeast, "more node"))
		}
		return doc.Red.Cellf("%s. What would do is not known yet.", now)
	}
	var needed []string
	if n := len(r.Changes); n > 0 {
		needed = append(needed, fmt.Sprintf("%d %s", n, words.Pick(n, "patch", "patches")))
	}
	bound := ""
	n := r.CountNewNodes()
	if n > 0 {
		needed = append(needed, fmt.Sprintf("%d more %s", n, words.Pick(n, "node", "nodes")))
		if r.AtLeast == n {
			bound = ", and no fewer"
		} else if r.AtLeast > 0 {
			bound = fmt.Sprintf("; fewer than %s are not", words.Count(r.AtLeast, "node"))
		}
	}
	cost := ""
	if r.Price != nil {
		cost = fmt.Sprintf(" for %.2f an hour", *r.Price)
	}
	switch {
	case len(needed) == 0:
		return doc.Red.Cellf("%s; no node and no known patch helps.", now)
	case len(r.Left) > 0:
		why := "neither nodes nor known patches help them"
		if r.Unfinished {
			why = "the search ended before it knew what helps them"
		}
		if bound != "" {
			bound = fmt.Sprintf("; the others need no fewer than %s", words.Count(r.AtLeast, "node"))
		}
		return doc.Red.Cellf("%s. With %s%s the worst loss leaves %d: %s%s.", now, words.And(needed), cost, r.Answer.MaxLeft(), why, bound)
	}
	return doc.Yellow.Cellf("%s. %s%s %s enough%s.", now, words.And(needed), cost, words.Pick(n+len(r.Changes), "is", "are"), bound)
}
