package compare

import (
	"slices"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the ways to write the report.
var Formats = slices.Concat(report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := writer{Page: text.NewPage(opts), report: r}
		t.everything()
		return t.Bytes()
	}),
	report.JSON[Report](),
	report.YAML[Report](),
	report.Plain("markdown", markdownPage),
	report.Encoded("csv", figuresCSV),
}, pictures)
