package explain

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the ways to write the report. Quiet is the story alone, and All lists every node.
var Formats = format.Of[Report]{Doc: document, Page: (*Report).Page}.Formats()
