package scale

import (
	"fmt"
	"time"

	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/words"
)

// Formats are the formats of the report. Quiet prints only the answer, and status is the autoscaler's own status.
var Formats = append(format.Of[Report]{Question: func(*Report) string { return "New nodes of the autoscaler" }, Doc: document, Brief: true, Course: course}.Formats(), statusFormat)

func course(r *Report) *doc.Course { return run.Course(run.Stage{Name: "start", Moments: r.Moments}) }

// document is the answer, the groups, and which pods stay Pending.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	style := doc.Green
	if !r.Fits {
		style = doc.Red
	}
	d.Line(style.Cell(r.Answer + "."))
	if r.Seconds > 0 {
		d.Linef(doc.Plain, "Until nothing moves any more it takes %s.", words.FormatDuration(time.Duration(r.Seconds*float64(time.Second))))
	}
	for _, pace := range doc.SlowScaling(r.Slow) {
		d.Linef(doc.Plain, "%s.", pace)
	}
	d.Space()
	d.Table("", r.table(&d)...)
	if len(r.Waiting) > 0 {
		d.Section("Pending")
		d.UpTo(len(r.Waiting), "reason", "reasons", func(i int) { writeWaiting(&d, &r.Waiting[i]) })
	}
	if len(r.Fixes) > 0 {
		d.Section("Changes that help, each tried in the cluster as it is then")
		d.Table("  ", list.Map(r.Fixes, func(fix explain.Fix) []doc.Cell {
			return doc.Plain.Row(fix.Change, words.Is(fix.Pending, "pod")+" Pending then")
		})...)
	}
	d.Space()
	d.Header()
	return &d
}

// table returns the titles, and a row for each group.
func (r *Report) table(d *doc.Doc) [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("GROUP", "BEFORE", "AFTER", "MIN", "MAX", "PRICE", "MORE", "NEW NODES")}
	for _, g := range r.Groups {
		price, more, names := doc.None, doc.None, doc.None
		if g.Price > 0 {
			price, more = doc.Amount(g.Price), doc.Amount(g.Price*float64(g.After-g.Before))
		}
		if len(g.New) > 0 {
			names = d.NameFew(g.New, len(g.New))
		}
		table = append(table, doc.Plain.Row(g.Name, fmt.Sprint(g.Before), fmt.Sprint(g.After), fmt.Sprint(g.Min), fmt.Sprint(g.Max), price, more, names))
	}
	return table
}

// writeWaiting writes which pods stay Pending, with the messages of the scheduler and the autoscaler.
func writeWaiting(d *doc.Doc, w *Waiting) {
	of := list.GroupBy(w.Pods, func(p cluster.PodRef) [2]string { return [2]string{p.Namespace, p.Workload} })
	d.Linef(doc.Yellow, "%s", d.ListNames(list.Map(of, namePods)))
	d.Linef(doc.Plain, "  %s", doc.RefusalText(w.Message))
	if w.Autoscaler != "" {
		d.Linef(doc.Plain, "  %s", w.Autoscaler)
	}
}

// namePods names one pod, or counts several pods of one workload.
func namePods(same []cluster.PodRef) string {
	first := same[0]
	switch {
	case len(same) == 1:
		return first.Namespace + "/" + first.Name
	case first.Workload == "":
		return fmt.Sprintf("%d pods without owner in namespace %s", len(same), first.Namespace)
	}
	return fmt.Sprintf("%d pods of %s/%s", len(same), first.Namespace, first.Workload)
}
