package outcome

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the formats of the report. Quiet prints a line for each step, and All lists every placement that the report has.
var Formats = format.Of[Report]{Question: func(*Report) string { return "Every outcome of chance" }, Doc: document, CSV: placementsCSV}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	t := newWriter(r, opts)
	if opts.Quiet {
		t.Table("", t.stepTable()...)
	} else {
		t.fullText()
	}
	return &t.Doc
}
