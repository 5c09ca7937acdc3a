package capacity

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the ways to write the report. Quiet is the answers alone, and All shows every workload.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := &writer{Page: text.NewPage(opts), report: r}
		t.everything(opts.Quiet)
		return t.Bytes()
	}),
	report.JSON[Report](),
	report.YAML[Report](),
	report.Plain("markdown", markdownPage),
}
