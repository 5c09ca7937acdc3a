package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// writer writes the report as text: the verdict, then the findings.
type writer struct {
	doc.Doc
	report *Report
}

// maxListed is the largest number of findings that are listed by object; if there are more, they are counted by check.
const maxListed = 10

// document is the verdict, then the findings: a few by object, many by check.
func document(r *Report, opts report.Options) *doc.Doc {
	t := &writer{Doc: doc.New(r.Head, opts), report: r}
	t.Line(r.verdict())
	switch {
	case opts.Quiet:
		t.Table("", r.countTable()...)
		return &t.Doc
	case t.All || len(r.Findings) <= maxListed:
		t.listByObject()
	default:
		t.countByCheck()
	}
	t.uncountedFindings()
	if len(r.Findings) > 0 {
		if t.All || len(r.Findings) <= maxListed {
			t.Space()
		}
		t.Line(doc.Plain.Cell("Each check has a page: "), doc.Plain.LinkTo(lint.Page("README"), lint.Page("README")))
	}
	t.Space()
	if r.Scenario != "" {
		t.Linef(doc.Plain, "%s: %s", r.Scenario, doc.ClusterLine(r.Cluster))
	}
	for _, note := range r.Notes {
		t.Linef(doc.Plain, "Note: %s", note)
	}
	return &t.Doc
}

// listByObject lists every finding below its object, the most severe first.
func (t *writer) listByObject() {
	groups := list.GroupBy(t.report.Findings, func(f lint.Finding) string { return header(&f) })
	for _, found := range groups {
		slices.SortStableFunc(found, bySeverity)
	}
	slices.SortStableFunc(groups, func(a, b []lint.Finding) int { return bySeverity(a[0], b[0]) })
	for _, found := range groups {
		t.Space()
		t.Linef(doc.Bold, "%s", header(&found[0]))
		for i := range found {
			t.finding(&found[i])
		}
	}
}

func bySeverity(a, b lint.Finding) int {
	return cmp.Compare(slices.Index(lint.Severities, a.Severity), slices.Index(lint.Severities, b.Severity))
}

// countByCheck counts the findings of each check, the most severe first, and shows the first of them. It only counts notes.
func (t *writer) countByCheck() {
	groups := t.report.groupByCheck()
	for i, found := range groups {
		first := &found[0]
		note := first.Severity == lint.Note
		if !note || i == 0 || groups[i-1][0].Severity != first.Severity {
			t.Space()
		}
		t.Line(severityStyle(first.Severity).Cell(string(first.Severity)), doc.Plain.Cell(" "), doc.Bold.LinkTo(first.Check, lint.Page(first.Check)), doc.Plain.Cellf(" (%d): %s", len(found), t.report.title(first.Check)))
		if note {
			continue
		}
		name := objectName(first)
		if first.Kind != "NodeGroup" {
			name = cluster.Qualify(first.Namespace, name)
		}
		if more := len(found) - 1; more > 0 {
			name += fmt.Sprintf(" and %d more", more)
		}
		t.Linef(doc.Plain, "  %s: %s", name, first.Message)
		t.Linef(doc.Plain, "    fix: %s", first.Fix)
	}
	t.Space()
	if !t.Page {
		t.Linef(doc.Plain, "Use --all to list every finding with its file and line, or --only CHECK.")
		return
	}
	t.Folded("Every finding")
	rows := [][]doc.Cell{doc.Bold.Row("SEVERITY", "CHECK", "OBJECT", "FOUND", "FIX")}
	for _, found := range groups {
		for i := range found {
			f := &found[i]
			rows = append(rows, []doc.Cell{severityStyle(f.Severity).Cell(string(f.Severity)), doc.Plain.LinkTo(f.Check, lint.Page(f.Check)),
				doc.Plain.Cell(header(f)), doc.Plain.Cell(f.Message), doc.Plain.Cell(f.Fix)})
		}
	}
	t.Add(doc.Table{Rows: rows, Most: maxListed, Noun: "finding", Nouns: "findings"})
}

// countTable returns the titles, and a row for each check with a finding, the most severe first.
func (r *Report) countTable() [][]doc.Cell {
	groups := r.groupByCheck()
	if len(groups) == 0 {
		return nil
	}
	table := [][]doc.Cell{doc.Bold.Row("CHECK", "SEVERITY", "FOUND", "FINDS")}
	for _, found := range groups {
		first := &found[0]
		table = append(table, []doc.Cell{doc.Plain.Cell(first.Check), severityStyle(first.Severity).Cell(string(first.Severity)),
			doc.Plain.Cellf("%d", len(found)), doc.Plain.Cell(r.title(first.Check))})
	}
	return table
}

// groupByCheck returns the findings by check and severity: the most severe first, then in the order of the checks.
func (r *Report) groupByCheck() [][]lint.Finding {
	groups := list.GroupBy(r.Findings, func(f lint.Finding) [2]string { return [2]string{f.Check, string(f.Severity)} })
	check := func(f lint.Finding) int {
		return slices.IndexFunc(r.Checks, func(c lint.Check) bool { return c.ID == f.Check })
	}
	slices.SortStableFunc(groups, func(a, b []lint.Finding) int {
		return cmp.Or(bySeverity(a[0], b[0]), cmp.Compare(check(a[0]), check(b[0])))
	})
	return groups
}

// title returns what the check finds.
func (r *Report) title(check string) string {
	i := slices.IndexFunc(r.Checks, func(c lint.Check) bool { return c.ID == check })
	if i < 0 {
		return ""
	}
	return r.Checks[i].Title
}

// verdict returns the first line.
func (r *Report) verdict() doc.Cell {
	style := doc.Green
	switch {
	case r.Summary.Errors > 0:
		style = doc.Red
	case r.Summary.Warnings > 0:
		style = doc.Yellow
	}
	line := fmt.Sprintf("%s, %s and %s by %s", words.Count(r.Summary.Errors, "error"), words.Count(r.Summary.Warnings, "warning"), words.Count(r.Summary.Notes, "note"), words.Count(len(r.Checks), "check"))
	if len(r.Findings) == 0 {
		line = words.Count(len(r.Checks), "check") + " found nothing"
		if len(r.KnownFindings) > 0 {
			line += " new"
		}
		if r.Partial != "" {
			line += " in the workloads that were looked at"
		}
	}
	if n := len(r.KnownFindings); n > 0 {
		line += fmt.Sprintf("; %s known from the baseline", words.Count(n, "finding"))
	}
	if n := len(r.IgnoredFindings); n > 0 {
		line += fmt.Sprintf("; %s ignored", words.Count(n, "finding"))
	}
	if len(r.Pending) > 0 {
		line += "; Pending: " + r.describePending()
		if style == doc.Green {
			style = doc.Yellow
		}
	}
	return style.Cell(line + ".")
}

// maxPending is how many workloads with Pending pods the first line names, if no finding says more about them.
const maxPending = 3

// describePending returns "deployment/web (3 of 3 pods, no node has pool=db), deployment/api (1 of 4 pods, …) and 2 more workloads".
func (r *Report) describePending() string {
	most := min(maxPending, len(r.Pending))
	if len(r.Findings) > 0 {
		most = 1
	}
	text := strings.Join(list.Map(r.Pending[:most], func(p lint.Pending) string {
		return fmt.Sprintf("%s (%d of %s, %s)", p.Ref().Qualified(), p.Pods, words.Count(p.Wanted, "pod"), p.Why)
	}), ", ")
	if more := len(r.Pending) - most; more > 0 {
		text += " and " + words.Count(more, "more workload")
	}
	return text
}

// header returns the name of the finding's object, its file, and the resource that it was expanded from.
func header(f *lint.Finding) string {
	header := objectName(f)
	if f.Namespace != "default" && f.Kind != "NodeGroup" {
		header += " of " + f.Namespace
	}
	if f.ExpandedFrom != "" {
		header += ", expanded from " + f.ExpandedFrom
	}
	if place := fileAndLine(f); place != "" {
		header += ", " + place
	}
	return header
}

func (t *writer) finding(f *lint.Finding) {
	t.Line(doc.Plain.Cellf("  "), severityStyle(f.Severity).Cell(string(f.Severity)), doc.Plain.Cell(" "), doc.Plain.LinkTo(f.Check, lint.Page(f.Check)), doc.Plain.Cell(": "+f.Message))
	t.Linef(doc.Plain, "    at:  %s", f.Field)
	t.Linef(doc.Plain, "    fix: %s", f.Fix)
}

// uncountedFindings lists the findings that are not counted.
func (t *writer) uncountedFindings() {
	if !t.All {
		return
	}
	if len(t.report.KnownFindings) > 0 {
		t.Space()
		t.Linef(doc.Bold, "Known")
	}
	for _, f := range t.report.KnownFindings {
		t.Linef(doc.Plain, "  %s: %s: %s", objectName(&f), f.Check, f.Message)
	}
	if len(t.report.IgnoredFindings) > 0 {
		t.Space()
		t.Linef(doc.Bold, "Ignored")
	}
	for _, i := range t.report.IgnoredFindings {
		t.Linef(doc.Plain, "  %s: %s: %s", objectName(&i.Finding), i.Check, i.Reason)
	}
}

func severityStyle(severity lint.Severity) doc.Style {
	return map[lint.Severity]doc.Style{lint.Error: doc.Red, lint.Warning: doc.Yellow}[severity]
}
