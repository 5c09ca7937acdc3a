package compare

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the formats of the report. Quiet prints only the answer.
var Formats = format.Of[Report]{Question: func(*Report) string { return "Variants side by side" }, Doc: document, Brief: true, CSV: figuresCSV, Draw: draw}.Formats()
