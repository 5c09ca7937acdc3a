package report

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/ask/lint"
)

// lintText renders a LintReport as text: the verdict, then the findings, object by object.
type lintText struct {
	page
	report *LintReport
}

func (t *lintText) everything(quiet bool) {
	r := t.report
	t.line(r.verdict())
	if quiet {
		return
	}
	if r.Scenario != "" {
		t.linef(plain, "%s: %s", r.Scenario, clusterLine(r.Cluster))
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if i == 0 || f.header() != r.Findings[i-1].header() {
			t.space()
			t.linef(bold, "%s", f.header())
		}
		t.finding(f)
	}
	t.ignored()
	if len(r.Notes) > 0 {
		t.space()
	}
	for _, note := range r.Notes {
		t.linef(plain, "Note: %s", note)
	}
	if len(r.Findings) > 0 {
		t.space()
		t.linef(plain, "Each check has a page: %s", strings.Replace(lint.Check{ID: "CHECK"}.Page(), "CHECK", "README", 1))
	}
}

// verdict is the first line.
func (r *LintReport) verdict() cell {
	style := green
	switch {
	case r.Summary.Errors > 0:
		style = red
	case r.Summary.Warnings > 0:
		style = yellow
	}
	line := fmt.Sprintf("%s, %s and %s by %s", count(r.Summary.Errors, "error"), count(r.Summary.Warnings, "warning"), count(r.Summary.Notes, "note"), count(len(r.Checks), "check"))
	if len(r.Findings) == 0 {
		line = fmt.Sprintf("Nothing is found by %s", count(len(r.Checks), "check"))
	}
	if n := len(r.IgnoredFindings); n > 0 {
		line += fmt.Sprintf("; %s ignored", count(n, "finding"))
	}
	return style.cell(line + ".")
}

// header names the object of the finding, its file, and where the object comes from.
func (f *LintFinding) header() string {
	header := f.object()
	if f.Namespace != "default" {
		header += " of " + f.Namespace
	}
	if f.ExpandedFrom != "" {
		header += ", made of " + f.ExpandedFrom
	}
	if place := f.place(); place != "" {
		header += ", " + place
	}
	return header
}

func (t *lintText) finding(f *LintFinding) {
	style := map[string]style{Error: red, Warning: yellow}[f.Severity]
	t.line(plain.cellf("  "), style.cell(f.Severity), plain.cellf(" %s: %s", f.Check, f.Message))
	t.linef(plain, "    at:  %s", f.Field)
	t.linef(plain, "    fix: %s", f.Fix)
}

func (t *lintText) ignored() {
	if !t.all || len(t.report.IgnoredFindings) == 0 {
		return
	}
	t.space()
	t.linef(bold, "Ignored")
	for _, i := range t.report.IgnoredFindings {
		t.linef(plain, "  %s: %s: %s", i.object(), i.Check, i.Reason)
	}
}
