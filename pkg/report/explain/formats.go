package explain

import (
	"io"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the ways to write the report. Quiet is the story alone, and All lists every node.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := &writer{Page: text.NewPage(opts), report: r}
		t.everything(opts.Quiet)
		return t.Bytes()
	}),
	report.JSON[Report](),
	report.YAML[Report](),
	report.Streamed("html", func(w io.Writer, r *Report) error { return r.Page().WriteHTML(w) }),
}
