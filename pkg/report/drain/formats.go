package drain

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the formats of the report. Quiet prints only the answer, and All lists every pod.
var Formats = format.Of[Report]{Question: (*Report).question, Doc: document, Brief: true, Bars: bars}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	t := newWriter(r, opts)
	t.fullText()
	return &t.Doc
}
