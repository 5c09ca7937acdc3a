package explain

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the ways to write the report. Quiet is the story alone, and All lists every node.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := &writer{Page: text.NewPage(opts), report: r}
		t.everything(opts.Quiet)
		return t.Bytes()
	}),
	report.JSON(complete),
	report.YAML(complete),
	report.Encoded("html", func(r *Report) ([]byte, error) { return r.Page().HTML() }),
}

// complete puts an empty list in the place of each missing one that the schema requires.
func complete(r *Report) *Report {
	c := *r
	c.Head, c.Pods = report.CompleteHead(r.Head), report.List(r.Pods)
	return &c
}
