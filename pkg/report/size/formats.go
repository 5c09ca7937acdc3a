package size

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the formats of the report. Quiet prints only the answer.
var Formats = format.Of[Report]{Question: func(*Report) string { return "How few nodes suffice" }, Doc: document, Bars: bars}.Formats()
