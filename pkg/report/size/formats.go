package size

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the ways to write the report. Quiet is the answer alone.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := text.NewPage(opts)
		for _, line := range r.verdict() {
			t.Line(line)
		}
		if !opts.Quiet {
			r.rest(&t)
		}
		return t.Bytes()
	}),
	report.JSON[Report](),
	report.YAML[Report](),
	report.Plain("markdown", markdownPage),
}
