package sweep

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the ways to write the report. Quiet is the answer alone, and All lists every point.
var Formats = format.Of[Report]{Doc: document, Brief: true, CSV: figuresCSV, Draw: func(r *Report, format string) ([]byte, error) { return drawing(r).Draw(format) }}.Formats()
