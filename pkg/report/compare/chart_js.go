package compare

import "github.com/faultline/faultline/pkg/report"

// pictures are none where a page draws its own: their fonts and their library are 3 MB of a download.
var pictures report.Formats[Report]
