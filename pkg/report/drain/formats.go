package drain

import (
	"github.com/faultline/faultline/pkg/report"
)

// Formats are the ways to write the report. All lists every pod.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := newWriter(r, opts)
		t.everything()
		return t.Bytes()
	}),
	report.JSON[Report](),
	report.YAML[Report](),
	report.Plain("markdown", markdownPage),
}
