package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/words"
)

// writer writes the report as text: the verdict, what may explain the differences, and the differences step by step.
type writer struct {
	doc.Doc
	report *Report
	// namespaced means that names need their namespace.
	namespaced bool
	page       bool // the steps are folded away, below a table of what got worse
}

func newWriter(r *Report, opts report.Options) *writer {
	t := &writer{Doc: doc.New(report.Head{}, opts), report: r, page: opts.Page}
	t.namespaced = slices.ContainsFunc(r.Declared, func(d DeclaredDiff) bool { return d.Namespace != "default" })
	for _, s := range r.Steps {
		t.namespaced = t.namespaced ||
			slices.ContainsFunc(slices.Concat(s.Added, s.Removed, s.NoLongerPending), func(p DiffPod) bool { return p.Namespace != "default" }) ||
			slices.ContainsFunc(s.Moved, func(p MovedPod) bool { return p.Namespace != "default" }) ||
			slices.ContainsFunc(s.NewlyPending, func(p placement.StrandedPod) bool { return p.Namespace != "default" }) ||
			slices.ContainsFunc(s.Workloads, func(w WorkloadDiff) bool { return w.Namespace != "default" }) ||
			slices.ContainsFunc(s.Bindings, func(b BindingDiff) bool { return b.Namespace != "default" })
	}
	for _, s := range r.Failures {
		t.namespaced = t.namespaced || slices.ContainsFunc(s.OneReplica, func(w OneReplica) bool { return w.Namespace != "default" })
		for _, l := range s.Levels {
			t.namespaced = t.namespaced || l.Radius != nil && (namespaced(l.Radius.Old) || namespaced(l.Radius.New)) ||
				slices.ContainsFunc(l.Excess, func(d ExcessDiff) bool { return d.Namespace != "default" }) ||
				slices.ContainsFunc(l.NewlyStranded, func(d StrandedDiff) bool { return d.Namespace != "default" })
		}
	}
	return t
}

func namespaced(r askblast.Radius) bool { return r.Replicas > 0 && r.Namespace != "default" }

func (t *writer) fullText() {
	t.Line(t.verdict())
	t.Space()
	t.Add(doc.Fields{{Title: "Old:", Lines: []string{t.report.Old.text()}}, {Title: "New:", Lines: []string{t.report.New.text()}}})
	t.changes()
}

// changes writes all that differs, without the verdict.
func (t *writer) changes() {
	if len(t.report.Conditions) > 0 {
		t.Space()
		t.Linef(doc.Bold, "%s", conditionsTitle)
		t.Table("  ", t.conditions()...)
	}
	if len(t.report.Declared) > 0 && !t.page {
		t.Space()
		t.declared()
	}
	if worse := t.worseTable(); t.page && len(worse) > 1 {
		t.Section("Worse")
		t.Add(doc.Table{Rows: worse, Noun: "line", Nouns: "lines"})
	}
	if len(t.report.Declared) > 0 && t.page {
		t.Folded("Declared")
		t.declared()
	}
	for i := range t.report.Steps {
		t.step(&t.report.Steps[i])
	}
	for i := range t.report.Failures {
		t.failures(&t.report.Failures[i])
	}
	t.Space()
	t.uncomparedSteps()
}

const conditionsTitle = "Not alike, which may explain differences:"

func (t *writer) verdict() doc.Cell {
	s := doc.Green
	switch r := t.report; {
	case len(r.Failed()) > 0:
		s = doc.Red
	case r.Worse:
		s = doc.Yellow
	}
	return s.Cell(t.report.headline())
}

// headline returns the verdict, after the result of the gate if there is one.
func (d *Report) headline() string {
	switch failed := d.Failed(); {
	case len(failed) > 0:
		return "Fails on " + strings.Join(failed, ", ") + ": " + d.Verdict
	case len(d.FailOn) > 0:
		return "Passes: " + d.Verdict
	}
	return words.UpperFirst(d.Verdict)
}

// text returns "old.json, 8 steps of kind-walkthrough".
func (c Compared) text() string {
	line := words.Count(c.Steps, "step")
	if c.Scenario != "" {
		line += " of " + c.Scenario
	}
	if c.File != "" {
		return c.File + ", " + line
	}
	return line
}

func (t *writer) conditions() [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("WHAT", "OLD", "NEW")}
	for _, c := range t.report.Conditions {
		table = append(table, doc.Plain.Row(c.What, c.Old, c.New))
	}
	return table
}

// declared lists the differences in what workloads declare.
func (t *writer) declared() {
	table := [][]doc.Cell{doc.Bold.Row("STEP", "WORKLOAD", "WHAT", "CHANGE", "OLD", "NEW")}
	for _, d := range t.report.Declared {
		row := doc.Plain.Row(d.Step, t.qualify(d.Namespace, d.WorkloadRef.Workload), d.What, d.Change, doc.OrNone(d.Old), doc.OrNone(d.New))
		row[3] = worseStyle(d.IsRemoval()).Cell(d.Change)
		table = append(table, row)
	}
	t.Linef(doc.Bold, "Declared otherwise %d:", len(t.report.Declared))
	t.rows(dropEmptyColumns(table), "declaration", "declarations")
}

// Titles of the steps that only one of the reports has.
const (
	stepsAdded   = "Steps added (new: no baseline)"
	stepsRemoved = "Steps removed"
)

// uncomparedSteps lists the steps that are not compared, and the steps without a difference.
func (t *writer) uncomparedSteps() {
	r := t.report
	for _, steps := range []struct {
		title string
		names []string
	}{{stepsAdded + ":", r.Added}, {stepsRemoved + ":", r.Removed}, {"No difference in", r.Unchanged}} {
		if len(steps.names) > 0 {
			t.Line(doc.Bold.Cell(steps.title), doc.Plain.Cell(" "+t.ListNames(steps.names)))
		}
	}
}

func (t *writer) step(s *StepDiff) {
	t.heading(s.Name, s.counts())
	t.newlyPending(s.NewlyPending)
	t.countedList(doc.Green, "No longer Pending", len(s.NoLongerPending), func(i int) string {
		p := s.NoLongerPending[i]
		if p.Node == "" {
			return t.qualify(p.Namespace, p.Name) + ", which is no longer there"
		}
		return t.qualify(p.Namespace, p.Name) + " on " + p.Node
	})
	t.otherMessages(s.OtherMessage)
	t.countedList(doc.Red, "Expectations newly unmet", len(s.NewlyUnmet), func(i int) string { return s.NewlyUnmet[i].String() })
	t.countedList(doc.Green, "Expectations no longer unmet", len(s.NoLongerUnmet), func(i int) string { return s.NoLongerUnmet[i].Want })
	t.countedList(doc.Red, "Rollouts newly stuck", len(s.NewlyStuck), func(i int) string { return t.rolloutName(s.NewlyStuck[i]) + ": " + s.NewlyStuck[i].Waiting })
	t.countedList(doc.Green, "Rollouts no longer stuck", len(s.NoLongerStuck), func(i int) string { return t.rolloutName(s.NoLongerStuck[i]) })
	t.moved(s)
	pod := func(pods []DiffPod) func(i int) string {
		return func(i int) string {
			where := "Pending"
			if pods[i].Node != "" {
				where = "on " + pods[i].Node
			}
			return t.qualify(pods[i].Namespace, pods[i].Name) + " " + where
		}
	}
	t.countedList(doc.Plain, "Pods added", len(s.Added), pod(s.Added))
	t.countedList(doc.Plain, "Pods removed", len(s.Removed), pod(s.Removed))
	if table := t.bindings(s.Bindings); len(table) > 1 {
		t.Linef(doc.Bold, "Karmada decides otherwise %d:", len(s.Bindings))
		t.rows(table, "workload", "workloads")
	}
	if table := t.workloads(s.Workloads); len(table) > 1 {
		t.Linef(doc.Bold, "Workloads %d:", len(s.Workloads))
		t.rows(table, "line", "lines")
	}
}

func (t *writer) heading(step string, counts []string) {
	line := "Step " + step
	if len(counts) > 0 {
		line += ": " + strings.Join(counts, ", ")
	}
	if t.page {
		t.Folded(line)
	} else {
		t.Section(line)
	}
}

// counts returns texts such as "3 → 4 pods".
func (s *StepDiff) counts() []string {
	var parts []string
	for _, c := range []struct {
		*Change
		words string
	}{{s.Pods, "pods"}, {s.Pending, "Pending"}, {s.NotCreated, "refused"}, {s.NotReady, "not ready"}} {
		if c.Change != nil {
			parts = append(parts, c.text()+" "+c.words)
		}
	}
	return parts
}

func (c *Change) text() string {
	if c == nil {
		return doc.None
	}
	return fmt.Sprintf("%d → %d", c.Old, c.New)
}

// countedList writes one line per name, below a title with their number.
func (t *writer) countedList(s doc.Style, title string, n int, name func(i int) string) {
	t.titledList(s, fmt.Sprintf("%s %d:", title, n), n, name)
}

// titledList writes one line per name, below a title, if there are any names.
func (t *writer) titledList(s doc.Style, title string, n int, name func(i int) string) {
	if n > 0 {
		t.Linef(s, "%s", title)
	}
	t.UpTo(n, "line", "lines", func(i int) { t.Linef(doc.Plain, "  %s", name(i)) })
}

func (t *writer) qualify(namespace, name string) string {
	if t.namespaced {
		return namespace + "/" + name
	}
	return name
}

func (t *writer) rolloutName(r controller.Rollout) string {
	return t.qualify(r.Namespace, r.String())
}

func (t *writer) newlyPending(pods []placement.StrandedPod) {
	if len(pods) > 0 {
		t.Linef(doc.Red, "Newly Pending %d:", len(pods))
	}
	groups := list.GroupBy(pods, placement.StrandedPod.SameReason)
	t.UpTo(len(groups), "group of pods", "groups of pods", func(i int) {
		name := t.groupName(groups[i])
		if len(groups[i]) == 1 {
			name = t.qualify(groups[i][0].Namespace, groups[i][0].Name)
		}
		t.Linef(doc.Plain, "  %s", name)
		first := groups[i][0]
		for _, line := range doc.WaitLines(first.Message, first.Reason, first.Untried) {
			t.Linef(doc.Plain, "    %s", line)
		}
	})
}

// groupName counts the pods of one workload. A pod without a workload has its name.
func (t *writer) groupName(pods []placement.StrandedPod) string {
	first := pods[0]
	switch {
	case first.Workload != "":
		return words.Count(len(pods), "pod") + " of " + t.qualify(first.Namespace, first.Workload)
	case len(pods) == 1:
		return t.qualify(first.Namespace, first.Name)
	}
	return words.Count(len(pods), "pod") + " without owner"
}

func (t *writer) otherMessages(pods []OtherMessage) {
	if len(pods) > 0 {
		t.Linef(doc.Yellow, "Pending for another reason %d:", len(pods))
	}
	t.UpTo(len(pods), "pod", "pods", func(i int) {
		t.Linef(doc.Plain, "  %s", t.qualify(pods[i].Namespace, pods[i].Name))
		t.Linef(doc.Plain, "    old  %s", cmp.Or(pods[i].Old, expect.NoMessage))
		t.Linef(doc.Plain, "    new  %s", cmp.Or(pods[i].New, expect.NoMessage))
	})
}

// moved lists the pods that move in this step, and counts the pods with the same move in an earlier step.
func (t *writer) moved(s *StepDiff) {
	if len(s.Moved) == 0 {
		return
	}
	t.Linef(doc.Bold, "Moved %d:", len(s.Moved))
	t.rows(t.moveTable(s.Moved), "pod", "pods")
	for _, pods := range list.GroupBy(s.movedEarlier(), func(m MovedPod) string { return m.Since }) {
		t.Linef(doc.Plain, "  %s as in step %s", words.Count(len(pods), "pod"), pods[0].Since)
	}
}

// movedEarlier returns the pods with the same move in an earlier step.
func (s *StepDiff) movedEarlier() []MovedPod {
	return list.Without(s.Moved, func(m MovedPod) bool { return m.Since == "" })
}

// moveTable returns a table with a row for each pod that moves in this step.
func (t *writer) moveTable(moved []MovedPod) [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("POD", "FROM", "TO", "DECIDED BEFORE", "DECIDED NOW", "NOTE")}
	for _, m := range moved {
		if m.Since == "" {
			table = append(table, doc.Plain.Row(t.movedPodName(m), m.From, m.To, m.OldChoice.text(), m.NewChoice.text(), m.note()))
		}
	}
	return dropEmptyColumns(table)
}

// movedPodName returns the name of the pod, or its position in the workload if its name has changed.
func (t *writer) movedPodName(m MovedPod) string {
	if m.Position > 0 {
		return fmt.Sprintf("%s pod of %s", words.Ordinal(m.Position), t.qualify(m.Namespace, m.Workload))
	}
	return t.qualify(m.Namespace, m.Name)
}

// note says why a move may mean little.
func (m MovedPod) note() string {
	var notes []string
	if m.AmongEquals {
		notes = append(notes, "both were among equal nodes")
	}
	if m.SameNodes {
		notes = append(notes, "pods of the workload changed places")
	}
	return doc.OrNone(strings.Join(notes, "; "))
}

// text returns "InterPodAffinity by 200" or "one of 3 equal nodes".
func (c *Choice) text() string {
	switch {
	case c == nil:
		return doc.None
	case c.Scored == 0:
		return "only feasible node"
	}
	var parts []string
	if c.Ties > 1 {
		parts = append(parts, fmt.Sprintf("one of %d equal nodes", c.Ties))
	}
	if deciders := strings.Join(c.Deciders, " and "); c.Together {
		parts = append(parts, fmt.Sprintf("%s together by %d", deciders, c.Margin))
	} else if deciders != "" {
		parts = append(parts, fmt.Sprintf("%s by %d", deciders, c.Margin))
	}
	return strings.Join(parts, ", ")
}

// workloads returns a table with a row for each number and level that differs.
func (t *writer) workloads(workloads []WorkloadDiff) [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("WORKLOAD", "PODS", "OLD", "NEW", "SKEW")}
	for _, w := range workloads {
		name := t.qualify(w.Namespace, w.Ref.String())
		for _, c := range []struct {
			*Change
			words string
		}{{w.Desired, "desired"}, {w.Running, "running"}, {w.Pending, "Pending"}} {
			if c.Change != nil {
				table = append(table, doc.Plain.Row(name, c.words, fmt.Sprint(c.Old), fmt.Sprint(c.New), doc.None))
			}
		}
		for _, l := range w.Levels {
			table = append(table, doc.Plain.Row(name, "by "+doc.LevelName(l.TopologyKey), distributionText(l.Old), distributionText(l.New), l.skew()))
		}
	}
	return dropEmptyColumns(table)
}

// bindings returns a table with a row for each workload about which Karmada decides otherwise.
func (t *writer) bindings(bindings []BindingDiff) [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("WORKLOAD", "OLD", "NEW")}
	decided := func(b *run.Binding) string {
		if b == nil {
			return doc.None
		}
		return b.Text(t.All)
	}
	for _, b := range bindings {
		table = append(table, doc.Plain.Row(t.qualify(b.Namespace, strings.ToLower(b.Kind)+"/"+b.Name), decided(b.Old), decided(b.New)))
	}
	return table
}

func distributionText(d *run.Distribution) string {
	if d == nil {
		return doc.None
	}
	return doc.OrNone(d.Text(doc.MaxCellDomains))
}

func (l LevelDiff) skew() string {
	if l.Old == nil || l.New == nil {
		return doc.None
	}
	if l.Old.Skew == l.New.Skew {
		return fmt.Sprint(l.New.Skew)
	}
	return fmt.Sprintf("%d → %d", l.Old.Skew, l.New.Skew)
}

// rows writes a table, and counts the rows that are too many.
func (t *writer) rows(table [][]doc.Cell, one, several string) {
	if len(table) > 1 {
		t.Add(doc.Table{Indent: "  ", Rows: table, Most: doc.MaxDetails, Noun: one, Nouns: several})
	}
}

// dropEmptyColumns removes the columns without a value.
func dropEmptyColumns(table [][]doc.Cell) [][]doc.Cell {
	rest := make([][]doc.Cell, len(table))
	for i := range table[0] {
		if !slices.ContainsFunc(table[1:], func(cells []doc.Cell) bool { return cells[i].Text != doc.None }) {
			continue
		}
		for j := range table {
			rest[j] = append(rest[j], table[j][i])
		}
	}
	return rest
}
