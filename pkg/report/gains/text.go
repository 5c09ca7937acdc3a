package gains

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	reportadvice "github.com/faultline/faultline/pkg/report/advice"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/words"
)

// Formats are the formats of the report. Quiet prints only the answer, and patch the commands that make the changes.
var Formats = format.Of[Report]{Question: func(*Report) string { return "What a change of each workload gains" }, Doc: document, Brief: true, Patches: func(r *Report) []string { return r.Apply }}.Formats()

// document is the answer, the workloads with a change, its costs and its command, and why the other workloads have none.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Linef(doc.Bold, "%s", r.Advice)
	d.Linef(doc.Plain, "%s Each change is tried alone, as kubectl patch makes it; SHARES are the largest part of its pods that the loss of one domain takes, now and then.",
		r.describeTried())
	d.Space()
	changed := list.Where(r.Workloads, func(w advice.WorkloadAdvice) bool { return w.Change != "" })
	shown := changed[:min(len(changed), r.maxShown)]
	if len(shown) > 0 {
		d.Table("", r.table(shown)...)
		if more := len(changed) - len(shown); more > 0 {
			d.Linef(doc.Plain, "  and %s with a change; --top shows more", words.Count(more, "workload"))
		}
		d.Space()
		d.Linef(doc.Plain, "Apply:")
		for _, command := range r.Apply[:len(shown)] {
			d.Verbatim("  " + command)
		}
		d.Space()
	}
	r.writeUnchanged(&d)
	d.Header()
	return &d
}

// describeTried says how many workloads the report is about, and which losses.
func (r *Report) describeTried() string {
	return fmt.Sprintf("%s after step %s, losses of %s.", words.Count(len(r.Workloads), "workload"), r.Result.Last().Name, words.Or(list.Map(r.Levels, doc.AnyDomain)))
}

// table returns the titles, and a row for each workload.
func (r *Report) table(shown []advice.WorkloadAdvice) [][]doc.Cell {
	titles := []string{"WORKLOAD", "PODS", "CHANGE"}
	for _, head := range doc.ColumnTitles(r.Levels) {
		titles = append(titles, "SHARES/"+head)
	}
	table := [][]doc.Cell{doc.Bold.Row(append(titles, "MOVED", "COSTS")...)}
	for i := range shown {
		w := &shown[i]
		row := []doc.Cell{doc.Plain.Cell(cluster.Qualify(w.Namespace, w.Workload)), doc.Number(w.Replicas, doc.Plain), doc.Plain.Cell(w.Change)}
		for _, share := range w.Levels {
			style := doc.Plain
			if share.Then < share.Now {
				style = doc.Green
			}
			row = append(row, style.Cellf("%s to %s", doc.Percent(share.Now), doc.Percent(share.Then)))
		}
		table = append(table, append(row, doc.Number(w.Moved, doc.Plain), doc.Plain.Cell(costsText(w))))
	}
	return table
}

// costsText says what the change costs.
func costsText(w *advice.WorkloadAdvice) string {
	all := []string{"no capacity; its pods are made anew"}
	if w.Further > 0 {
		all = []string{requestsText(w.Asks)}
	}
	if w.Required {
		all = append(all, "the rule is required: a pod can wait after a loss")
	}
	for _, claim := range w.Storage {
		all = append(all, "claim "+claim)
	}
	if w.ScaledBy != "" {
		all = append(all, "minReplicas 2 of horizontalpodautoscaler/"+w.ScaledBy)
	}
	if w.Alone {
		all = append(all, "its strategy is Recreate: check that two can run")
	}
	return strings.Join(all, "; ")
}

// requestsText returns resources in words, sorted by name.
func requestsText(asks map[string]string) string {
	if len(asks) == 0 {
		return "a pod without requests"
	}
	return reportadvice.FormatAmounts(asks)
}

// writeUnchanged lists the workloads without a change, grouped by the reason.
func (r *Report) writeUnchanged(d *doc.Doc) {
	rest := list.Where(r.Workloads, func(w advice.WorkloadAdvice) bool { return w.Change == "" })
	var lines []string
	for _, group := range list.GroupBy(rest, func(w advice.WorkloadAdvice) string { return w.Why }) {
		lines = append(lines, fmt.Sprintf("%s: %s", words.Few(list.Map(group, workloadName)), group[0].Why))
	}
	if len(lines) == 0 {
		return
	}
	d.Linef(doc.Plain, "No change helps %s:", words.Count(len(rest), "workload"))
	d.UpTo(len(lines), "reason", "reasons", func(i int) { d.Linef(doc.Plain, "  %s", lines[i]) })
	d.Space()
}

func workloadName(w advice.WorkloadAdvice) string { return cluster.Qualify(w.Namespace, w.Workload) }

// verdict returns the answer. A workload survives a loss if at least one of its pods still runs.
func (r *Report) verdict() string {
	if len(r.Levels) == 0 {
		return "No change helps: all nodes are one failure domain of every level."
	}
	total := words.Count(len(r.Workloads), "workload")
	if r.Partial != "" {
		total += " tried"
	}
	loss := fmt.Sprintf("a %s's loss", doc.LevelName(r.Levels[0]))
	free := list.Where(r.Workloads, func(w advice.WorkloadAdvice) bool { return w.Survives() && w.Free() })
	second := list.Where(r.Workloads, func(w advice.WorkloadAdvice) bool { return w.Survives() && !w.Free() })
	lesser := list.Where(r.Workloads, func(w advice.WorkloadAdvice) bool { return w.Change != "" && !w.Survives() && w.Free() })
	more := func(all []advice.WorkloadAdvice) string { return words.Few(list.Map(all, workloadName)) }
	var sentences []string
	if len(free) > 0 {
		sentences = append(sentences, fmt.Sprintf("%d of %s would survive %s with a change that costs no capacity: %s.", len(free), total, loss, more(free)))
	}
	if len(second) > 0 {
		sentences = append(sentences, fmt.Sprintf("%d of %s would survive %s with a second replica: %s%s.", len(second), total, loss, more(second), r.togetherText()))
	}
	if len(lesser) > 0 {
		sentences = append(sentences, fmt.Sprintf("%d of %s would lose fewer pods to one loss with a change that costs no capacity: %s.", len(lesser), total, more(lesser)))
	}
	if len(sentences) == 0 {
		return fmt.Sprintf("No change of a rule, and no second replica, has one loss take less of any of %s.", total)
	}
	return strings.Join(sentences, " ")
}

// togetherText says what all second replicas request together, or how many pods are then Pending.
func (r *Report) togetherText() string {
	switch t := r.Together; {
	case t == nil && r.Partial != "":
		return " (each alone)"
	case t == nil:
		return ""
	case t.Pending > 0:
		return fmt.Sprintf(" (each alone: with all %d at once %s newly Pending)", t.Workloads, words.Is(t.Pending, "pod"))
	default:
		return fmt.Sprintf(" (all %d second replicas run at once, and request %s)", t.Workloads, requestsText(t.Asks))
	}
}
