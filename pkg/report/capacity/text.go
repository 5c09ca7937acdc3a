package capacity

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// writer renders a report as text: the answers, a table of them, and for each workload what refuses the next pod and
// what becomes of the free resources.
type writer struct {
	doc.Doc
	report *Report
}

// maxSentences is for how many workloads the answer is a sentence, rather than a row of a table.
const maxSentences = 3

func (t *writer) everything(quiet bool) {
	r := t.report
	few := len(r.Mixes) <= maxSentences
	sorted := r.tightest()
	if few {
		sorted = report.Each(r.Mixes, func(m Mix) *Mix { return &m })
		for _, m := range sorted {
			t.lines(r.answers(m))
		}
	}
	for i := range r.Safety {
		t.lines(r.Safety[i].Lines())
	}
	if !few {
		t.lines(r.overview(sorted))
	}
	if !few && quiet {
		t.UpTo(len(sorted), "workload", "workloads", func(i int) { t.lines(r.answers(sorted[i])) })
	}
	if quiet {
		return
	}
	if len(sorted) > 1 {
		shown := sorted
		if !few && !t.All {
			shown = scarce(sorted)
		}
		t.Space()
		t.Table("", r.summary(shown, len(shown) == len(sorted))...)
		if more := len(sorted) - len(shown); more > 0 {
			t.More(more, "workload", "workloads")
		}
	}
	if few || t.All {
		for _, m := range sorted {
			t.mix(m)
		}
	}
	if len(r.Largest) > 0 {
		t.Space()
		t.Linef(doc.Bold, "Largest pods that fit now:")
		for _, pod := range r.Largest {
			t.Linef(doc.Plain, "  %s", pod.text())
		}
	}
	t.Space()
	t.Header()
}

func (t *writer) lines(cells []doc.Cell) {
	for _, cell := range cells {
		t.Line(cell)
	}
}

// answers are a sentence on what fits, one for each level that may fail, and warnings.
func (r *Report) answers(m *Mix) []doc.Cell {
	lines := []doc.Cell{r.answer(m)}
	for i := range m.Survive {
		lines = append(lines, r.survives(m, &m.Survive[i]))
	}
	for _, l := range append([]Limit{m.Fit}, m.Survive...) {
		for _, u := range l.Uneven {
			lines = append(lines, doc.Red.Cellf("  Warning: %s%d more fit, but %d do not: this is below the smallest count that is known not to fit.",
				whileAny(l.Level, ""), u.Fits, u.DoesNot))
		}
		if l.Unreplaced > 0 {
			lines = append(lines, doc.Yellow.Cellf("  Note: %s%s not replaced after a failure (%s), and room for %s is not asked for.", whileAny(l.Level, ""),
				words.Is(l.Unreplaced, "pod"), r.Mode, words.Pick(l.Unreplaced, "it", "them")))
		}
	}
	return lines
}

// whileAny is "while any zone may fail, ", or the other text where none does.
func whileAny(level, otherwise string) string {
	if level == "" {
		return otherwise
	}
	return "while any " + doc.DomainOf(level) + " may fail, "
}

func (r *Report) answer(m *Mix) doc.Cell {
	l := &m.Fit
	switch {
	case l.Short:
		return doc.Red.Cellf("%s: no more fit: not even the %s that %s for now have a node%s.", m.Name, m.nowInAll(), words.Pick(len(m.Workloads), "it asks", "they ask"), r.because(l, ": "))
	case l.Capped:
		return doc.Green.Cellf("%s: at least %s (%s in all); the search stopped there (see --up-to).", m.Name, m.fit(l.More), m.inAll(l.More))
	case l.More == 0:
		return doc.Yellow.Cellf("%s: no more fit (%s in all)%s.", m.Name, m.inAll(0), r.because(l, "; the next stays Pending: "))
	}
	return doc.Green.Cellf("%s: %s (%s in all)%s.", m.Name, m.fit(l.More), m.inAll(l.More), r.because(l, "; the "+words.Ordinal(l.More+1)+" stays Pending: "))
}

func (r *Report) survives(m *Mix, l *Limit) doc.Cell {
	name := doc.DomainOf(l.Level)
	loses := func(before string) string {
		if l.Domain == "" {
			return r.because(l, before+"not all have a node: ")
		}
		return r.because(l, fmt.Sprintf("%sthe loss of %s %s leaves %s without a node: ", before, name, l.Domain, words.Count(l.Stranded, "pod")))
	}
	switch {
	case l.Short:
		return doc.Red.Cellf("  While any %s may fail: no more, and not even what is there now comes back%s.", name, loses("; "))
	case l.Capped:
		return doc.Green.Cellf("  While any %s may fail: at least %s (%s in all).", name, m.fit(l.More), m.inAll(l.More))
	case l.More == 0:
		return doc.Yellow.Cellf("  While any %s may fail: no more (%s in all)%s.", name, m.inAll(0), loses("; with the next, "))
	}
	return doc.Green.Cellf("  While any %s may fail: %s (%s in all)%s.", name, m.fit(l.More), m.inAll(l.More), loses("; with the "+words.Ordinal(l.More+1)+", "))
}

// fit is "14 more replicas fit".
func (m *Mix) fit(more int) string {
	unit := "more replica"
	if m.isMix() {
		unit = "more unit"
	}
	return words.Count(more, unit) + words.Pick(more, " fits", " fit")
}

func (m *Mix) isMix() bool {
	return len(m.Workloads) > 1 || slices.ContainsFunc(m.Workloads, func(s Share) bool { return s.Proportion > 1 })
}

// inAll is how many replicas there are with so many units more: "17", or "11 and 6".
func (m *Mix) inAll(more int) string {
	var parts []string
	for _, share := range m.Workloads {
		parts = append(parts, fmt.Sprint(share.Now+more*share.Proportion))
	}
	return strings.Join(parts, " and ")
}

func (m *Mix) nowInAll() string { return m.inAll(0) }

// mostly is what binds on the most nodes: "cpu on 98 of 120 nodes, other reasons on 22".
func (r *Report) mostly(l *Limit) string {
	if len(l.Binds) < 2 || l.Binds[0].Nodes == 0 {
		return r.because(l, "")
	}
	others := 0
	for _, b := range l.Binds[1:] {
		others += b.Nodes
	}
	return fmt.Sprintf("%s on %d of %s, other reasons on %d", l.Binds[0].What, l.Binds[0].Nodes, words.Count(r.Nodes, "node"), others)
}

// because is what binds: "cpu on 4 of 5 nodes, taint on 1".
func (r *Report) because(l *Limit, before string) string {
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

// summary is a row for each workload below the titles, with all that binds or what does on the most nodes.
func (r *Report) summary(mixes []*Mix, whole bool) [][]doc.Cell {
	binds := r.mostly
	if whole {
		binds = func(l *Limit) string { return r.because(l, "") }
	}
	titles := []string{"WORKLOAD", "NOW", "MORE"}
	levels := r.levels()
	for _, level := range levels {
		titles = append(titles, "MORE, ANY "+strings.ToUpper(doc.DomainOf(level))+" FAILS")
	}
	table := [][]doc.Cell{doc.Bold.Row(append(titles, "BINDS")...)}
	for _, m := range mixes {
		cells := []doc.Cell{doc.Plain.Cell(m.Name), doc.Plain.Cell(m.inAll(0)), m.Fit.more()}
		for _, level := range levels {
			cell := doc.Plain.Cell("not looked at")
			if l := m.surviving(level); l != nil {
				cell = l.more()
			}
			cells = append(cells, cell)
		}
		table = append(table, append(cells, doc.Plain.Cell(doc.OrNone(binds(&m.Fit)))))
	}
	return table
}

func (l *Limit) more() doc.Cell {
	switch {
	case l.Short:
		return doc.Red.Cell("not even now")
	case l.Capped:
		return doc.Green.Cellf("at least %d", l.More)
	}
	return doc.Number(l.More, doc.Plain)
}

// mix says what refuses the next pod, and what becomes of the free resources.
func (t *writer) mix(m *Mix) {
	t.Space()
	t.Linef(doc.Bold, "%s", m.Name)
	for _, l := range append([]Limit{m.Fit}, m.Survive...) {
		if l.Message != "" {
			t.Linef(doc.Plain, "  %s: pod %s", l.when(), l.Pod)
			t.Linef(doc.Plain, "    %s", doc.Refused(l.Message))
		}
	}
	if len(m.Headroom) > 0 {
		t.Space()
		t.Table("  ", m.headroom()...)
	}
}

// when says which try the message is of.
func (l *Limit) when() string {
	number := fmt.Sprintf("with %d more", l.More+1)
	if l.Short {
		number = "as it is"
	}
	if l.Domain != "" {
		return fmt.Sprintf("%s, %s %s lost", number, doc.DomainOf(l.Level), l.Domain)
	}
	return number
}

// headroom is a row for each resource below the titles. What is free is used, or falls to one of the last three.
func (m *Mix) headroom() [][]doc.Cell {
	table := [][]doc.Cell{doc.Dropped(doc.Bold.Row("RESOURCE", "ALLOCATABLE", "REQUESTED", "FREE", "USED BY MORE", "TOO SMALL", "OTHER SHORT", "REFUSED"), "OTHER SHORT", "TOO SMALL", "REFUSED")}
	for _, h := range m.Headroom {
		name := h.Resource
		if name == string(v1.ResourceCPU) {
			name += " (cores)"
		}
		cells := []doc.Cell{doc.Plain.Cell(name)}
		for _, n := range []float64{h.Allocatable, h.Requested, h.Free, h.Used, h.TooSmall, h.OtherShort, h.Refused} {
			cells = append(cells, doc.Plain.Cell(quantity(h.Resource, n)))
		}
		table = append(table, cells)
	}
	return table
}

// quantity is the amount as people write it: 1,096 or 14.5 cores, 250m, 1.5Gi.
func quantity(name string, n float64) string {
	switch {
	case name == string(v1.ResourceMemory), name == string(v1.ResourceEphemeralStorage), strings.HasPrefix(name, v1.ResourceHugePagesPrefix):
		return binary(n)
	case name == string(v1.ResourceCPU) && n < 1:
		return resource.NewMilliQuantity(int64(n*1000+0.5), resource.DecimalSI).String()
	case name == string(v1.ResourceCPU) && n < 100:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	}
	return grouped(fmt.Sprintf("%.0f", n))
}

// grouped sets off thousands with commas.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func binary(n float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if n >= unit.size {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", n/unit.size), ".0") + unit.name
		}
	}
	return fmt.Sprintf("%.0f", n)
}

func (p Pod) text() string {
	return fmt.Sprintf("by %s: %s cores and %s memory, on node %s", p.By, quantity("cpu", p.CPU), binary(float64(p.Memory)), p.Node)
}
