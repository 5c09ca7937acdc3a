package size

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the ways to write the report. Quiet is the answer alone.
var Formats = format.Of[Report]{Doc: document}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Lines(r.verdict()...)
	if !opts.Quiet {
		r.rest(&d)
	}
	return &d
}
