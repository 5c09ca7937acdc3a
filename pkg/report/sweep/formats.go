package sweep

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/chart"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the ways to write the report. All lists every point.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := writer{Page: text.NewPage(opts), report: r}
		t.everything()
		return t.Bytes()
	}),
	report.JSON[Report](),
	report.YAML[Report](),
	report.Plain("markdown", markdownPage),
	report.Streamed("html", htmlPage),
	report.Encoded("csv", figuresCSV),
	chart.SVG(drawing),
	chart.PNG(drawing),
}
