package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/verify"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// writer writes the report as text: the verdict, the divergences, the Pending pods, and what was left out.
type writer struct {
	doc.Doc
	report *Report
}

func document(r *Report, opts report.Options) *doc.Doc {
	head := r.Head
	head.Scenario = "" // a command line
	t := &writer{Doc: doc.New(head, opts), report: r}
	t.Lines(r.verdict()...)
	if opts.Quiet {
		return &t.Doc
	}
	if len(r.Divergences) > 0 {
		t.Space()
		rows := r.divergenceTable()
		shown := len(rows) - 1
		if !t.All {
			shown = min(shown, doc.MaxDetails)
		}
		t.Table("", rows[:shown+1]...)
		if shown < len(rows)-1 {
			t.More(len(rows)-1-shown, "divergence", "divergences")
		}
		t.Space()
		for _, line := range r.findingLines() {
			t.Linef(doc.Plain, "%s", line)
		}
	}
	t.assumed()
	t.pending()
	t.leftOut()
	return &t.Doc
}

// verdict says how many choices are contradictions, explained or open, how certain that is, and whether it suffices.
func (r *Report) verdict() []doc.Cell {
	from := "From the dump alone"
	if len(r.With) > 0 {
		from = "With its " + words.And(r.With)
	}
	if r.Namespace != "" {
		from = "In namespace " + r.Namespace + ": " + strings.ToLower(from[:1]) + from[1:]
	}
	if r.Choices == 0 {
		return append([]doc.Cell{doc.Yellow.Cellf("%s, there is nothing to explain: none of %s had a choice.", from, words.Count(r.Placements, "pod"))}, r.classLines()...)
	}
	first := doc.Green.Cellf("%s, %s among %s%s.", from, words.Count(r.Contradictions, "contradiction"), words.Count(r.Choices, "choice"), r.resultParts())
	if r.Contradictions > 0 {
		first.Style = doc.Yellow
	}
	second := fmt.Sprintf("%s of %s %s explained", formatPercent(100*float64(r.Explained)/float64(r.Choices)), words.Count(r.Choices, "choice"), words.Pick(r.Choices, "is", "are"))
	var parts []string
	add := func(n int, words string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words))
		}
	}
	add(r.NotUsable, "since better nodes were not usable then")
	add(r.Tied, "by a tie")
	add(r.Reordered, "in another order than recorded")
	if len(parts) > 0 {
		second += " (" + strings.Join(parts, ", ") + ")"
	}
	if r.Only > 0 {
		second += fmt.Sprintf("; %s had one feasible node and %s not counted", words.Count(r.Only, "more pod"), words.Pick(r.Only, "is", "are"))
	}
	lines := []doc.Cell{first, doc.Plain.Cellf("%s.", second)}
	if r.Interval != nil {
		lines = append(lines, doc.Plain.Cellf("Of the %s that can be judged, %s %s (95%% interval %s to %s).", words.Count(r.Judged(), "choice"), formatPercent(r.Agreement),
			words.Pick(r.Judged(), "agrees", "agree"), formatPercent(r.Interval.Low), formatPercent(r.Interval.High)))
	}
	return append(lines, r.classLines()...)
}

// resultParts returns ", 115 proved, 70 need its history".
func (r *Report) resultParts() string {
	parts := fmt.Sprintf(", %d proved", r.Proved)
	if r.ByAssumption > 0 {
		parts += fmt.Sprintf(", %d explained with what is assumed", r.ByAssumption)
	}
	more := "its"
	if len(r.With) > 0 {
		more = "more"
	}
	if r.Open > 0 {
		parts += fmt.Sprintf(", %d %s %s history", r.Open, words.Pick(r.Open, "needs", "need"), more)
	}
	return parts
}

// formatPercent returns a percentage with one decimal. Only the exact values are 0% and 100%.
func formatPercent(percent float64) string {
	if percent == 100 || percent == 0 {
		return fmt.Sprintf("%.0f%%", percent)
	}
	return fmt.Sprintf("%.1f%%", min(max(percent, 0.1), 99.9))
}

// classLines counts the divergences by class, and says if the agreement is too low.
func (r *Report) classLines() []doc.Cell {
	var lines []doc.Cell
	var classes []string
	for _, same := range list.GroupBy(r.Divergences, func(d verify.Divergence) verify.Class { return d.Class }) {
		classes = append(classes, fmt.Sprintf("%s %d", same[0].Class, len(same)))
	}
	if len(classes) > 0 {
		none := "; each may have a cause that the dump does not show"
		if r.Contradictions > 0 {
			none = ""
		}
		lines = append(lines, doc.Plain.Cellf("%s: %s%s.", words.Count(len(r.Divergences), "divergence"), strings.Join(classes, ", "), none))
	}
	if !r.Met() {
		lines = append(lines, doc.Red.Cellf("The agreement is %s; at least %g%% is required.", formatPercent(r.Agreement), *r.MinAgreement))
	}
	return lines
}

// divergenceTable returns the titles, and a row for each divergence: contradictions first, then the rarest classes.
func (r *Report) divergenceTable() [][]doc.Cell {
	table := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row("POD", "NODE", "BEST", "RANK", "BEHIND", "COULD BE", "BECAUSE"), "RANK", "BEST", "BEHIND")}
	number := map[verify.Class]int{}
	for _, d := range r.Divergences {
		if number[d.Class]++; d.Contradiction && number[d.Class] == 1 {
			number[d.Class] -= len(r.Divergences)
		}
	}
	rarest := slices.SortedStableFunc(slices.Values(r.Divergences), func(a, b verify.Divergence) int { return cmp.Compare(number[a.Class], number[b.Class]) })
	for _, d := range rarest {
		rank, behind, because := "refused", doc.None, d.Refused
		if d.Rank > 0 {
			rank, behind, because = fmt.Sprint(d.Rank), fmt.Sprint(d.Behind), pointsAhead(d)
		}
		style := doc.Plain
		if d.Contradiction {
			style = doc.Red
		}
		table = append(table, []doc.Cell{doc.Plain.Cell(d.Namespace + "/" + d.Name), doc.Plain.Cell(d.Node), doc.Plain.Cell(doc.OrNone(d.Best)), doc.Plain.Cell(rank), doc.Plain.Cell(behind),
			style.Cell(string(d.Class)), doc.Plain.Cell(because)})
	}
	return table
}

// pointsAhead returns "PodTopologySpread +68, NodeResourcesFit -1".
func pointsAhead(d verify.Divergence) string {
	parts := list.Map(d.Ahead, func(points verify.Points) string { return fmt.Sprintf("%s %+d", points.Plugin, points.Points) })
	return strings.Join(parts, ", ")
}

// findingLines returns what each check found, once, with the pods that it is about.
func (r *Report) findingLines() []string {
	var lines []string
	for _, same := range list.GroupBy(r.Divergences, func(d verify.Divergence) string { return string(d.Class) + d.Words }) {
		who := words.Count(len(same), "pod")
		if len(same) == 1 {
			who = same[0].Name
		}
		lines = append(lines, fmt.Sprintf("%s, %s: %s.", same[0].Class, who, same[0].Words))
	}
	return lines
}

func (t *writer) assumed() {
	if len(t.report.Assumed) == 0 {
		return
	}
	t.Space()
	t.Linef(doc.Bold, "%s", assumedTitle)
	t.UpTo(len(t.report.Assumed), "workload", "workloads", func(i int) {
		t.Linef(doc.Plain, "  %s", assumptionText(t.report.Assumed[i]))
	})
}

const assumedTitle = "Not all is recorded of pods that are gone. Taken to have been so, they leave the fewest choices unexplained:"

// assumptionText returns "shop/web: 12 pods of 250m CPU and 1Gi each; 3 of them gone by 2025-03-01T10:00:00Z".
func assumptionText(a verify.Assumed) string {
	text := fmt.Sprintf("%s/%s: %s", a.Namespace, a.Workload, words.Count(a.Pods, "pod"))
	if a.CPU != "" {
		text += fmt.Sprintf(" with requests of %s CPU and %s memory", a.CPU, a.Memory)
		if a.Pods > 1 {
			text += " each"
		}
	}
	switch {
	case a.Endless == 0:
	case a.Until == "":
		text += fmt.Sprintf("; %d there to the end", a.Endless)
	default:
		text += fmt.Sprintf("; %d gone by %s", a.Endless, a.Until)
	}
	return text
}

func (t *writer) pending() {
	if len(t.report.Pending) == 0 {
		return
	}
	t.Space()
	t.Linef(doc.Bold, "%s", t.report.pendingVerdict())
	alike := list.GroupBy(t.report.Pending, func(p verify.Pending) [3]string { return [3]string{replayText(p), p.Recorded, p.Message} })
	t.UpTo(len(alike), "group of Pending pods", "groups of Pending pods", func(i int) {
		p := alike[i][0]
		names := list.Map(alike[i], func(p verify.Pending) string { return p.Namespace + "/" + p.Name })
		t.Linef(doc.Plain, "  %s: %s", t.ListNames(names), replayText(p))
		if p.Node == "" && p.Recorded != "" && p.Recorded != p.Message {
			t.Linef(doc.Plain, "    dump    %s", p.Recorded)
			t.Linef(doc.Plain, "    replay  %s", p.Message)
		}
	})
}

func (r *Report) pendingVerdict() string {
	agree := list.Count(r.Pending, func(p verify.Pending) bool { return p.Node == "" })
	return fmt.Sprintf("%d of %s %s Pending in the replay, too.", agree, words.Count(len(r.Pending), "Pending pod"), words.Pick(len(r.Pending), "is", "are"))
}

// replayText says whether the pod is Pending in the replay, and whether the message is the same.
func replayText(p verify.Pending) string {
	switch {
	case p.Preempts:
		return "would go to " + p.Node + ", where others would make room for it"
	case p.Node != "":
		return "would go to " + p.Node
	case p.Recorded == "":
		return "Pending; the dump says nothing of why"
	case p.Recorded == p.Message:
		return "Pending, with the same message"
	}
	return "Pending, with another message"
}

// leftOut lists the pods and objects that took no part, and describes the cluster of the replay.
func (t *writer) leftOut() {
	var about doc.Fields
	var skipped []string
	for _, s := range t.report.Skipped {
		skipped = append(skipped, fmt.Sprintf("%s: %s", words.Count(s.Count, "pod"), s.Why))
		if t.All {
			skipped = append(skipped, "  "+strings.Join(s.Pods, ", "))
		}
	}
	about.Add("Skipped:", skipped...)
	if len(t.report.Ignored) > 0 {
		about.AddHead("Ignored:", doc.IgnoredLines(t.report.Ignored, t.All)...)
	}
	about.AddHead("Cluster:", doc.ClusterLine(t.report.Cluster))
	about.AddHead("Scheduler:", doc.SchedulerLine(t.report.Head)+", every node examined")
	about.AddHead("Notes:", t.report.Notes...)
	t.Space()
	t.Add(about)
}
