package drain

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the ways to write the report. All lists every pod.
var Formats = format.Of[Report]{Doc: document, Bars: bars}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	t := newWriter(r, opts)
	t.everything()
	return &t.Doc
}
