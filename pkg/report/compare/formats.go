package compare

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the ways to write the report. Quiet is the answer alone.
var Formats = format.Of[Report]{Doc: document, Brief: true, CSV: figuresCSV, Draw: draw}.Formats()
