package compare

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/chart"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the ways to write the report.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := writer{Page: text.NewPage(opts), report: r}
		t.everything()
		return t.Bytes()
	}),
	report.JSON(complete),
	report.YAML(complete),
	report.Plain("markdown", markdownPage),
	report.Encoded("csv", figuresCSV),
	chart.SVG(drawing),
	chart.PNG(drawing),
}

// complete puts an empty list in the place of each missing one that the schema requires.
func complete(r *Report) *Report {
	c := *r
	c.Head, c.Variants = report.CompleteHead(r.Head), report.List(r.Variants)
	for i := range c.Variants {
		c.Variants[i].Levels = report.List(c.Variants[i].Levels)
	}
	return &c
}
