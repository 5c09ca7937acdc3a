package diff

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the ways to write the report. Quiet is the verdict alone, and All lists everything that differs.
var Formats = format.Of[Report]{Doc: document, Brief: true}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	t := newWriter(r, opts)
	t.Judged = true
	t.everything()
	return &t.Doc
}
