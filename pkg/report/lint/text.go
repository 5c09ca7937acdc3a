package lint

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// writer renders a report as text: the verdict, then the findings, object by object.
type writer struct {
	text.Page
	report *Report
}

func (t *writer) everything(quiet bool) {
	r := t.report
	t.Line(r.verdict())
	if quiet {
		return
	}
	if r.Scenario != "" {
		t.Linef(text.Plain, "%s: %s", r.Scenario, text.ClusterLine(r.Cluster))
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if i == 0 || f.header() != r.Findings[i-1].header() {
			t.Space()
			t.Linef(text.Bold, "%s", f.header())
		}
		t.finding(f)
	}
	t.ignored()
	if len(r.Notes) > 0 {
		t.Space()
	}
	for _, note := range r.Notes {
		t.Linef(text.Plain, "Note: %s", note)
	}
	if len(r.Findings) > 0 {
		t.Space()
		t.Linef(text.Plain, "Each check has a page: %s", strings.Replace(lint.Check{ID: "CHECK"}.Page(), "CHECK", "README", 1))
	}
}

// verdict is the first line.
func (r *Report) verdict() text.Cell {
	style := text.Green
	switch {
	case r.Summary.Errors > 0:
		style = text.Red
	case r.Summary.Warnings > 0:
		style = text.Yellow
	}
	line := fmt.Sprintf("%s, %s and %s by %s", words.Count(r.Summary.Errors, "error"), words.Count(r.Summary.Warnings, "warning"), words.Count(r.Summary.Notes, "note"), words.Count(len(r.Checks), "check"))
	if len(r.Findings) == 0 {
		line = fmt.Sprintf("Nothing is found by %s", words.Count(len(r.Checks), "check"))
	}
	if n := len(r.IgnoredFindings); n > 0 {
		line += fmt.Sprintf("; %s ignored", words.Count(n, "finding"))
	}
	return style.Cell(line + ".")
}

// header names the object of the finding, its file, and where the object comes from.
func (f *Finding) header() string {
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

func (t *writer) finding(f *Finding) {
	style := map[string]text.Style{expect.Error: text.Red, expect.Warning: text.Yellow}[f.Severity]
	t.Line(text.Plain.Cellf("  "), style.Cell(f.Severity), text.Plain.Cellf(" %s: %s", f.Check, f.Message))
	t.Linef(text.Plain, "    at:  %s", f.Field)
	t.Linef(text.Plain, "    fix: %s", f.Fix)
}

func (t *writer) ignored() {
	if !t.All || len(t.report.IgnoredFindings) == 0 {
		return
	}
	t.Space()
	t.Linef(text.Bold, "Ignored")
	for _, i := range t.report.IgnoredFindings {
		t.Linef(text.Plain, "  %s: %s: %s", i.object(), i.Check, i.Reason)
	}
}
