package blast

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/report/format/findings"
)

// Formats are the formats of the report. Quiet prints the verdict, the table of levels and the reasons, and All lists every failure.
var Formats = format.Of[Report]{
	Question: (*Report).question,
	Doc:      document, Wide: true, CSV: lossesCSV, JUnit: failuresJUnit, Draw: draw,
	Findings: func(r *Report) findings.Findings { return findings.New(r.Head, r.Findings()) },
}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	t := newWriter(r, opts)
	if opts.Quiet {
		t.quietText()
	} else {
		t.fullText()
	}
	return &t.Doc
}
