package advice

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the ways to write the report.
var Formats = format.Of[Report]{Doc: document}.Formats()
