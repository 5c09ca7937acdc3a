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
	report.Encoded("json", func(r *Report) ([]byte, error) { return report.EncodeJSON(r) }),
	report.Encoded("yaml", func(r *Report) ([]byte, error) { return report.EncodeYAML(r) }),
	report.Plain("markdown", markdownPage),
}
