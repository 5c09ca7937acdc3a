package capacity

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the ways to write the report. Quiet is the answers alone, and All shows every workload.
var Formats = format.Of[Report]{Doc: document, Bars: bars}.Formats()
