package lint

import (
	"io"

	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the formats of the report. Quiet prints only the verdict and the counts, and All also lists known and ignored findings.
var Formats = format.Of[Report]{Question: func(*Report) string { return "Checks of the rules" }, Doc: document, Findings: (*Report).Found}.Formats()

var checkFormats = append(report.Formats[[]lint.Check]{
	report.RenderedFormat("text", func(checks *[]lint.Check, _ report.Options) ([]byte, error) {
		var p doc.Doc
		rows := [][]doc.Cell{doc.Plain.Row("CHECK", "SEVERITY", "FINDS")}
		for _, c := range *checks {
			rows = append(rows, doc.Plain.Row(c.ID, string(c.Severity), c.Title))
		}
		p.Table("", rows...)
		return text.Render(&p, report.Options{}), nil
	}),
}, report.ModelFormats[[]lint.Check]()...)

// WriteChecks writes the checks: as a table in text, and as in a LintReport in json and yaml.
func WriteChecks(w io.Writer, checks []lint.Check, format string) error {
	return checkFormats.Write(w, &checks, format, report.Options{})
}
