package outcome

import (
	"github.com/faultline/faultline/pkg/report"
)

// Formats are the ways to write the report. Quiet is a line for each step, and All lists every placement that the report has.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := newWriter(r, opts)
		if opts.Quiet {
			t.Table("", t.summary()...)
		} else {
			t.everything()
		}
		return t.Bytes()
	}),
	report.JSON[Report](),
	report.YAML[Report](),
	report.Plain("markdown", markdownPage),
	report.Encoded("csv", placementsCSV),
}
