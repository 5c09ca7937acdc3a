package report

import (
	"io"

	"github.com/faultline/faultline/pkg/ask/lint"
)

var LintFormats = formats[LintReport]{
	textFormat("text", func(r *LintReport, opts Options) []byte {
		t := &lintText{page: newPage(opts), report: r}
		t.everything(opts.Quiet)
		return t.bytes()
	}),
	jsonFormat(completeLint),
	yamlFormat(completeLint),
	encodedFormat("sarif", (*LintReport).sarif),
}

// completeLint is complete for a LintReport.
func completeLint(r *LintReport) *LintReport {
	c := *r
	c.Head, c.Findings, c.Checks = completeHead(r.Head), list(r.Findings), list(r.Checks)
	return &c
}

var checksFormats = formats[[]lint.Check]{
	plainFormat("text", func(checks *[]lint.Check) []byte {
		var p page
		rows := [][]cell{plain.row("CHECK", "SEVERITY", "FINDS")}
		for _, c := range *checks {
			rows = append(rows, plain.row(c.ID, string(c.Severity), c.Title))
		}
		p.table("", rows...)
		return p.bytes()
	}),
	encodedFormat("json", func(checks *[]lint.Check) ([]byte, error) { return toJSON(LintChecks(*checks)) }),
	encodedFormat("yaml", func(checks *[]lint.Check) ([]byte, error) { return toYAML(LintChecks(*checks)) }),
}

// WriteLintChecks lists checks: as a table in text, and as they are in a LintReport else.
func WriteLintChecks(w io.Writer, checks []lint.Check, format string) error {
	return checksFormats.Write(w, &checks, format, Options{})
}
