package sweep

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the ways to write the report. All lists every point.
var Formats = format.Of[Report]{Doc: document, CSV: figuresCSV, Draw: func(r *Report, format string) ([]byte, error) { return drawing(r).Draw(format) }}.Formats()
