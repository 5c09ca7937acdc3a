package diff

import (
	"github.com/faultline/faultline/pkg/report"
)

// Formats are the ways to write the report. Quiet is the verdict alone, and All lists everything that differs.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := newWriter(r, opts)
		if opts.Quiet {
			t.Line(t.verdict())
		} else {
			t.everything()
		}
		return t.Bytes()
	}),
	report.JSON[Report](),
	report.YAML[Report](),
	report.Plain("markdown", markdownPage),
}
