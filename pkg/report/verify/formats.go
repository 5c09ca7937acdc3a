package verify

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the ways to write the report. Quiet is the verdict alone, and All lists every pod.
var Formats = format.Of[Report]{Doc: document, Bars: bars}.Formats()
