package upgrade

import (
	"cmp"
	"fmt"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/words"
)

// Formats are the formats of the report. All lists every pod and object.
var Formats = format.Of[Report]{Question: (*Report).question, Doc: document}.Formats()

// document is the verdict, then tables of pods, objects and feature gates, and the changes that are not simulated.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Line(r.verdict())
	if len(r.Changes) > 0 {
		d.Linef(doc.Plain, "Each pod was placed anew alone, while all others stay. Running pods do not move by themselves.")
	}
	d.Lines(r.reasonLines()...)
	d.Lines(r.otherLines()...)
	if opts.Quiet {
		return &d
	}
	tables := []struct {
		noun, nouns string
		rows        [][]doc.Cell
	}{{"pod", "pods", r.podRows()}, {"object", "objects", r.objectRows()}, {"feature gate", "feature gates", r.gateRows(opts.All || opts.Page)}}
	for _, t := range tables {
		if len(t.rows) > 1 {
			d.Space()
			d.Add(doc.Table{Rows: t.rows, Most: doc.MaxPods, Noun: t.noun, Nouns: t.nouns})
		}
	}
	if len(r.NotSimulated) > 0 {
		d.Section("Not simulated")
		for _, n := range r.NotSimulated {
			line := doc.Line{doc.Plain.Cellf("  %s: %s", n.Since, n.Text)}
			if n.Link != "" {
				line = append(line, doc.Plain.Cell(" "), doc.Plain.LinkTo(n.Link, n.Link))
			}
			d.Add(line)
		}
	}
	d.Space()
	d.Header()
	return &d
}

// verdict says for how many pods nothing changes, and what changes for the others.
func (r *Report) verdict() doc.Cell {
	if len(r.Problems) > 0 {
		return doc.Red.Cellf("Kubernetes %s refuses the input, which %s accepts: %s.", r.To, r.From, words.Count(len(r.Problems), "problem"))
	}
	line := fmt.Sprintf("Nothing changes for %d of %s", r.Pods-len(r.Changes), words.Count(r.Pods, "pod"))
	var changes []string
	for _, c := range []struct {
		pods int
		does string
	}{{len(r.changesWhere(isMoved)), "would go elsewhere"}, {len(r.changesWhere(isNewlyPending)), "would stay Pending"}, {len(r.changesWhere(isNewlyPlaced)), "would get a node"}} {
		if c.pods > 0 {
			changes = append(changes, fmt.Sprintf("%d %s", c.pods, c.does))
		}
	}
	style := doc.Green
	if len(changes) > 0 {
		line, style = line+"; "+words.And(changes), doc.Yellow
	}
	if len(r.changesWhere(isNewlyPending)) > 0 {
		style = doc.Red
	}
	return style.Cellf("%s, from Kubernetes %s to %s.", line, r.From, r.To)
}

// reasonLines say which plugins cause the different placements, a line each.
func (r *Report) reasonLines() []doc.Cell {
	decided := 0
	var lines []doc.Cell
	for _, reason := range r.Reasons {
		decided += reason.Pods
		line := fmt.Sprintf("%s because of %s", words.Count(reason.Pods, "pod"), reason.Plugin)
		if reason.Text != "" {
			line += fmt.Sprintf(": since %s %s", reason.Since, reason.Text)
		}
		lines = append(lines, doc.Plain.Cell(line+"."))
	}
	if left := len(r.Changes) - decided; left > 0 && decided > 0 {
		lines = append(lines, doc.Plain.Cellf("%s because of no plugin alone.", words.Count(left, "other")))
	}
	return lines
}

// otherLines returns a line for each kind of change beside the placements.
func (r *Report) otherLines() []doc.Cell {
	var lines []doc.Cell
	add := func(style doc.Style, n int, noun, does string) {
		if n > 0 {
			lines = append(lines, style.Cellf("%s %s.", words.Count(n, noun), does))
		}
	}
	for _, problem := range r.Problems {
		lines = append(lines, doc.Plain.Cell("  "+problem))
	}
	add(doc.Red, len(r.Refused), "object", fmt.Sprintf("would be refused by Kubernetes %s", r.To))
	add(doc.Red, len(r.Unserved), "object", fmt.Sprintf("of an API version that Kubernetes %s does not serve", r.To))
	add(doc.Plain, len(r.Accepted), "object", fmt.Sprintf("accepted only by Kubernetes %s", r.To))
	add(doc.Yellow, len(r.Completed), "object", "would be stored in another way")
	add(doc.Yellow, len(r.Gates), "feature gate", words.Pick(len(r.Gates), "that changes has", "that change have")+" to do with objects of the input")
	return lines
}

func (r *Report) podRows() [][]doc.Cell {
	titles := doc.Bold.Row("POD", "WORKLOAD", "NODE", "AS "+r.From, "AS "+r.To, "WHY")
	rows := [][]doc.Cell{doc.SetDropOrder(titles, "WORKLOAD", "NODE")}
	for _, c := range r.Changes {
		rows = append(rows, doc.Plain.Row(cluster.Qualify(c.Namespace, c.Name), doc.OrNone(c.Workload), doc.OrNone(c.Node),
			cmp.Or(c.From, "Pending"), cmp.Or(c.To, "Pending"), cmp.Or(c.Message, c.Why)))
	}
	return rows
}

func (r *Report) objectRows() [][]doc.Cell {
	rows := [][]doc.Cell{doc.Bold.Row("OBJECT", "CHANGE", "FIELDS")}
	add := func(ref cluster.Ref, change, fields string) {
		rows = append(rows, doc.Plain.Row(ref.Qualified(), change, fields))
	}
	for _, ref := range r.Refused {
		add(ref, "refused", doc.None)
	}
	for _, u := range r.Unserved {
		add(u.Ref, u.APIVersion+" is not served", doc.None)
	}
	for _, ref := range r.Accepted {
		add(ref, "accepted", doc.None)
	}
	for _, c := range r.Completed {
		add(c.Ref, "stored in another way", words.And(c.Fields))
	}
	return rows
}

// gateRows returns the titles, and a row for each feature gate, with its first objects or all of them.
func (r *Report) gateRows(all bool) [][]doc.Cell {
	const first = 3
	rows := [][]doc.Cell{doc.Bold.Row("FEATURE GATE", "IN "+r.From, "IN "+r.To, "OBJECTS", "WHEN IT IS ON")}
	state := map[bool]string{true: "on", false: "off"}
	for _, g := range r.Gates {
		names := list.Map(g.Objects, cluster.Ref.Qualified)
		if more := len(names) - first; more > 0 && !all {
			names = append(names[:first:first], fmt.Sprintf("%d more", more))
		}
		rows = append(rows, doc.Plain.Row(g.Name, state[!g.On], state[g.On], words.And(names), g.Effect))
	}
	return rows
}
