package diff

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the ways to write the report. Quiet is the verdict alone, and All lists everything that differs.
var Formats = format.Of[Report]{Doc: document}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	t := newWriter(r, opts)
	t.Judged = true
	if opts.Quiet {
		t.Line(t.verdict())
	} else {
		t.everything()
	}
	return &t.Doc
}
