package sweep

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the ways to write the report. All lists every point.
var Formats = format.Of[Report]{Doc: document, CSV: figuresCSV, Draw: func(r *Report, format string) ([]byte, error) { return drawing(r).Draw(format) }}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	t := writer{Doc: doc.New(r.Head, opts), report: r}
	most := maxPoints
	switch {
	case opts.All:
		most = len(r.Points)
	case opts.Page:
		most = maxRows
	}
	t.everything(most)
	return &t.Doc
}
