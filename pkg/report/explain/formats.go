package explain

import "github.com/faultline/faultline/pkg/report/format"

// Formats are the ways to write the report. Quiet is a line for each pod, Story the way of each through the scheduling cycle, and All lists every node.
var Formats = format.Of[Report]{Doc: document, Page: (*Report).Page}.Formats()
