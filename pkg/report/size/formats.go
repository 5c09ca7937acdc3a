package size

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the formats of the report. Quiet prints only the answer.
var Formats = format.Of[Report]{Doc: document, Bars: bars}.Formats()
