package verify

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the formats of the report. Quiet prints only the verdict, and All lists every pod.
var Formats = format.Of[Report]{Question: func(*Report) string { return "Agreement with the real cluster" }, Doc: document, Bars: bars}.Formats()
