package sweep

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the formats of the report. Quiet prints only the answer, and All lists every point.
var Formats = format.Of[Report]{Question: (*Report).question, Doc: document, Brief: true, CSV: figuresCSV, Draw: func(r *Report, format string) ([]byte, error) { return newChart(r).Draw(format) }}.Formats()
