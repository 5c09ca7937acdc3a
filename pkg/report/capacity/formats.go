package capacity

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the formats of the report. Quiet prints only the answers, and All shows every workload.
var Formats = format.Of[Report]{Question: (*Report).question, Doc: document, Bars: bars}.Formats()
