package drain

import (
	"github.com/faultline/faultline/pkg/report"
)

// Formats are the ways to write the report. All lists every pod.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := newWriter(r, opts)
		t.everything()
		return t.Bytes()
	}),
	report.JSON(complete),
	report.YAML(complete),
	report.Plain("markdown", markdownPage),
}

// complete puts an empty list in the place of each missing one that the schema requires.
func complete(r *Report) *Report {
	c := *r
	c.Head, c.Nodes = report.CompleteHead(r.Head), report.List(r.Nodes)
	return &c
}
