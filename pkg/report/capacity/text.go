package capacity

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// writer writes the report as text: the answers, a table of them, and for each workload what refuses the next pod and which free resources
// stay unused.
type writer struct {
	doc.Doc
	report *Report
}

// cronJobLine says whether the pods of the CronJob's run have nodes.
func cronJobLine(c capacity.CronJob) doc.Cell {
	if c.Running < c.Pods {
		return doc.Red.Cellf("%s: only %d of them have a node, with what else runs.", c.DescribeRuns(), c.Running)
	}
	return doc.Green.Cellf("%s, which %s a node and %s counted below.", c.DescribeRuns(), words.Pick(c.Pods, "has", "have"), words.Pick(c.Pods, "is", "are"))
}

// maxSentences is the largest number of workloads whose answers are sentences. If there are more, they are rows of a table.
const maxSentences = 3

func document(r *Report, opts report.Options) *doc.Doc {
	t := &writer{Doc: doc.New(r.Head, opts), report: r}
	if len(r.Usage) > 0 {
		t.Linef(doc.Bold, "%s", unusedSentence(r.Usage))
	}
	for _, c := range r.CronJobs {
		t.Lines(cronJobLine(c))
	}
	few := len(r.Mixes) <= maxSentences
	sorted := r.sortTightest()
	if few {
		sorted = list.Map(r.Mixes, func(m capacity.Mix) *capacity.Mix { return &m })
		for _, m := range sorted {
			t.Lines(r.answers(m)...)
		}
	}
	for i := range r.Safety {
		t.Lines(SafetyLines(&r.Safety[i])...)
	}
	if !few {
		t.Lines(r.overview(sorted)...)
	}
	if !few && opts.Quiet {
		t.UpTo(len(sorted), "workload", "workloads", func(i int) { t.Lines(r.answers(sorted[i])...) })
	}
	if opts.Quiet {
		return &t.Doc
	}
	if len(sorted) > 1 {
		shown := sorted
		if !few && !t.All {
			shown = selectTight(sorted)
		}
		t.Space()
		t.Table("", r.mixTable(shown, len(shown) == len(sorted))...)
		if more := len(sorted) - len(shown); more > 0 {
			t.More(more, "workload", "workloads")
		}
	}
	if len(r.Usage) > 0 {
		t.usageTable()
	}
	if few || t.All {
		for _, m := range sorted {
			t.mixDetails(m)
		}
	}
	if r.Stranded != nil {
		t.stranded(r.Stranded)
	}
	if len(r.Largest) > 0 {
		t.Space()
		t.Linef(doc.Bold, "Largest pods that fit now:")
		for _, pod := range r.Largest {
			t.Linef(doc.Plain, "  %s", largestText(pod))
		}
	}
	t.Space()
	t.Header()
	return &t.Doc
}

// answers returns a sentence about how many more fit, one for each level that may fail, and warnings.
func (r *Report) answers(m *capacity.Mix) []doc.Cell {
	lines := []doc.Cell{r.answer(m)}
	for _, share := range m.Workloads {
		if all := share.Now + m.Fit.More*share.Proportion; share.Most > 0 && share.Most < all {
			lines = append(lines, doc.Yellow.Cellf("  The HorizontalPodAutoscaler of %s allows it %d.", share.Qualified(), share.Most))
		}
	}
	if m.IfUsed != nil {
		as := *m
		as.Fit = *m.IfUsed
		line := r.answer(&as)
		line.Text = "  If containers requested what they use: " + strings.TrimPrefix(line.Text, m.Name+": ")
		lines = append(lines, line)
	}
	for i := range m.Survive {
		lines = append(lines, r.survivalAnswer(m, &m.Survive[i]))
	}
	for _, l := range append([]capacity.Limit{m.Fit}, m.Survive...) {
		for _, u := range l.Uneven {
			lines = append(lines, doc.Red.Cellf("  Warning: %s%d more fit, but %d do not: this is below the smallest count that is known not to fit.",
				whileAny(l.Level), u.Fits, u.DoesNot))
		}
		if l.Unreplaced > 0 {
			lines = append(lines, doc.Yellow.Cellf("  Note: %s%s not replaced after a failure (%s), and room for %s is not asked for.", whileAny(l.Level),
				words.Is(l.Unreplaced, "pod"), r.Mode, words.Pick(l.Unreplaced, "it", "them")))
		}
	}
	return lines
}

// whileAny returns "while any zone may fail, ", or "" without a level.
func whileAny(level string) string {
	if level == "" {
		return ""
	}
	return "while any " + doc.DomainOrKey(level) + " may fail, "
}

func (r *Report) answer(m *capacity.Mix) doc.Cell {
	l := &m.Fit
	switch {
	case l.Short:
		return doc.Red.Cellf("%s: no more fit: not even the %s that %s for now have a node%s.", m.Name, totalText(m, 0), words.Pick(len(m.Workloads), "it asks", "they ask"), r.reasonText(l, ": "))
	case l.Open:
		return doc.Green.Cellf("%s: at least %s (%s in all); %s.", m.Name, fitText(m, l.More), totalText(m, l.More), upperBoundText(l))
	case l.Capped:
		return doc.Green.Cellf("%s: at least %s (%s in all); the search stopped there (see --up-to).", m.Name, fitText(m, l.More), totalText(m, l.More))
	case l.More == 0:
		return doc.Yellow.Cellf("%s: no more fit (%s in all)%s.", m.Name, totalText(m, 0), r.reasonText(l, "; the next stays Pending: "))
	}
	return doc.Green.Cellf("%s: %s (%s in all)%s.", m.Name, fitText(m, l.More), totalText(m, l.More), r.reasonText(l, "; the "+words.Ordinal(l.More+1)+" stays Pending: "))
}

func (r *Report) survivalAnswer(m *capacity.Mix, l *capacity.Limit) doc.Cell {
	name := doc.DomainOrKey(l.Level)
	loses := func(before string) string {
		if l.Domain == "" {
			return r.reasonText(l, before+"not all have a node: ")
		}
		return r.reasonText(l, fmt.Sprintf("%sthe loss of %s %s leaves %s without a node: ", before, name, l.Domain, words.Count(l.Stranded, "pod")))
	}
	switch {
	case l.Short:
		return doc.Red.Cellf("  While %s may fail: no more, and not even what is there now comes back%s.", doc.AnyDomain(l.Level), loses("; "))
	case l.Open:
		return doc.Green.Cellf("  While %s may fail: at least %s (%s in all); %s.", doc.AnyDomain(l.Level), fitText(m, l.More), totalText(m, l.More), upperBoundText(l))
	case l.Capped:
		return doc.Green.Cellf("  While %s may fail: at least %s (%s in all).", doc.AnyDomain(l.Level), fitText(m, l.More), totalText(m, l.More))
	case l.More == 0:
		return doc.Yellow.Cellf("  While %s may fail: no more (%s in all)%s.", doc.AnyDomain(l.Level), totalText(m, 0), loses("; with the next, "))
	}
	return doc.Green.Cellf("  While %s may fail: %s (%s in all)%s.", doc.AnyDomain(l.Level), fitText(m, l.More), totalText(m, l.More), loses("; with the "+words.Ordinal(l.More+1)+", "))
}

// upperBoundText says how many more do not fit, if the search was interrupted and has found such a number.
func upperBoundText(l *capacity.Limit) string {
	if l.DoesNotFit > 0 {
		return fmt.Sprintf("%d more %s not", l.DoesNotFit, words.Pick(l.DoesNotFit, "does", "do"))
	}
	return "how many more is not known yet"
}

// fitText returns "14 more replicas fit".
func fitText(m *capacity.Mix, more int) string {
	unit := "more replica"
	if isMix(m) {
		unit = "more unit"
	}
	return words.Count(more, unit) + words.Pick(more, " fits", " fit")
}

func isMix(m *capacity.Mix) bool {
	return len(m.Workloads) > 1 || slices.ContainsFunc(m.Workloads, func(s capacity.Share) bool { return s.Proportion > 1 })
}

// totalText returns the number of replicas with this many more units: "17", or "11 and 6" for a mix.
func totalText(m *capacity.Mix, more int) string {
	parts := list.Map(m.Workloads, func(share capacity.Share) string { return fmt.Sprint(share.Now + more*share.Proportion) })
	return strings.Join(parts, " and ")
}

// mainReason returns the reason that holds on most nodes: "cpu on 98 of 120 nodes, other reasons on 22".
func (r *Report) mainReason(l *capacity.Limit) string {
	if len(l.Binds) < 2 || l.Binds[0].Nodes == 0 {
		return r.reasonText(l, "")
	}
	others := 0
	for _, b := range l.Binds[1:] {
		others += b.Nodes
	}
	return fmt.Sprintf("%s on %d of %s, other reasons on %d", l.Binds[0].What, l.Binds[0].Nodes, words.Count(r.Nodes, "node"), others)
}

// reasonText returns the reasons that prevent the next pod, after the text before: "cpu on 4 of 5 nodes, taint on 1".
func (r *Report) reasonText(l *capacity.Limit, before string) string {
	var parts []string
	for _, b := range l.Binds {
		switch {
		case b.Nodes == 0:
			parts = append(parts, b.What)
		default:
			part := fmt.Sprintf("%s on %d", b.What, b.Nodes)
			if len(parts) == 0 {
				part += fmt.Sprintf(" of %s", words.Count(r.Nodes, "node"))
			}
			parts = append(parts, part)
		}
	}
	if l.Why != "" {
		parts = append(parts, l.Why)
	}
	if len(parts) == 0 {
		return ""
	}
	return before + strings.TrimSuffix(strings.Join(parts, ", "), ".")
}

// mixTable returns the titles, and a row for each workload. The last column has all reasons if whole is set, and otherwise the one on most
// nodes.
func (r *Report) mixTable(mixes []*capacity.Mix, whole bool) [][]doc.Cell {
	binds := r.mainReason
	if whole {
		binds = func(l *capacity.Limit) string { return r.reasonText(l, "") }
	}
	titles := []string{"WORKLOAD", "NOW", "MORE"}
	levels := r.levels()
	for _, level := range levels {
		titles = append(titles, "MORE, ANY "+strings.ToUpper(doc.DomainOrKey(level))+" FAILS")
	}
	table := [][]doc.Cell{doc.Bold.Row(append(titles, "BINDS")...)}
	for _, m := range mixes {
		cells := []doc.Cell{doc.Plain.Cell(m.Name), doc.Plain.Cell(totalText(m, 0)), moreCell(&m.Fit)}
		for _, level := range levels {
			cell := doc.Plain.Cell("not looked at")
			if l := limitAt(m, level); l != nil {
				cell = moreCell(l)
			}
			cells = append(cells, cell)
		}
		table = append(table, append(cells, doc.Plain.Cell(doc.OrNone(binds(&m.Fit)))))
	}
	return table
}

// moreCell returns the number of units as a cell.
func moreCell(l *capacity.Limit) doc.Cell {
	switch {
	case l.Short:
		return doc.Red.Cell("not even now")
	case l.Capped:
		return doc.Green.Cellf("at least %d", l.More)
	}
	return doc.Number(l.More, doc.Plain)
}

// mixDetails writes what refuses the next pod, and which free resources stay unused.
func (t *writer) mixDetails(m *capacity.Mix) {
	t.Space()
	t.Linef(doc.Bold, "%s", m.Name)
	for _, l := range append([]capacity.Limit{m.Fit}, m.Survive...) {
		if l.Message != "" {
			t.Linef(doc.Plain, "  %s: pod %s", attemptText(&l), l.Pod)
			t.Linef(doc.Plain, "    %s", doc.RefusalText(l.Message))
		}
	}
	if len(m.Headroom) > 0 {
		t.Space()
		t.Table("  ", headroomTable(m)...)
	}
}

// attemptText says which attempt a message is about.
func attemptText(l *capacity.Limit) string {
	number := fmt.Sprintf("with %d more", l.More+1)
	if l.Short {
		number = "as it is"
	}
	if l.Domain != "" {
		return fmt.Sprintf("%s, %s %s lost", number, doc.DomainOrKey(l.Level), l.Domain)
	}
	return number
}

// headroomTable returns the titles, and a row for each resource. Free capacity is used by the additional pods, or counted in one of the last
// three columns.
func headroomTable(m *capacity.Mix) [][]doc.Cell {
	table := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row("RESOURCE", "ALLOCATABLE", "REQUESTED", "FREE", "USED BY MORE", "TOO SMALL", "OTHER SHORT", "REFUSED"), "OTHER SHORT", "TOO SMALL", "REFUSED")}
	for _, h := range m.Headroom {
		name := string(h.Resource)
		if h.Resource == v1.ResourceCPU {
			name += " (cores)"
		}
		cells := []doc.Cell{doc.Plain.Cell(name)}
		for _, n := range []float64{h.Allocatable, h.Requested, h.Free, h.Used, h.TooSmall, h.OtherShort, h.Refused} {
			cells = append(cells, doc.Plain.Cell(doc.Quantity(h.Resource, n)))
		}
		table = append(table, cells)
	}
	return table
}

// largestText returns "by cpu: 2 cores and 4Gi memory, on node n1".
func largestText(p capacity.Pod) string {
	return fmt.Sprintf("by %s: %s cores and %s memory, on node %s", p.By, doc.Quantity(v1.ResourceCPU, p.CPU), doc.FormatBytes(float64(p.Memory)), p.Node)
}
