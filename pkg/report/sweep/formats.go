package sweep

import (
	"slices"

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
	report.JSON(complete),
	report.YAML(complete),
	report.Plain("markdown", markdownPage),
	report.Encoded("html", htmlPage),
	report.Encoded("csv", figuresCSV),
	chart.SVG(drawing),
	chart.PNG(drawing),
}

// complete puts an empty list in the place of each missing one that the schema requires.
func complete(r *Report) *Report {
	c := *r
	c.Head, c.Points = report.CompleteHead(r.Head), report.List(slices.Clone(r.Points))
	c.Baseline.Levels = report.List(c.Baseline.Levels)
	for i := range c.Points {
		c.Points[i].Levels = report.List(c.Points[i].Levels)
	}
	return &c
}
