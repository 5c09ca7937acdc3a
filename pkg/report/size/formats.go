package size

import (
	"slices"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the ways to write the report. Quiet is the answer alone.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := &text.Page{Color: opts.Color, All: true}
		for _, line := range r.verdict() {
			t.Line(line)
		}
		if !opts.Quiet {
			r.rest(t)
		}
		return t.Bytes()
	}),
	report.JSON(complete),
	report.YAML(complete),
	report.Plain("markdown", markdownPage),
}

// complete puts an empty list in the place of each missing one that the schema requires.
func complete(r *Report) *Report {
	c := *r
	c.Head, c.Groups = report.CompleteHead(r.Head), report.List(slices.Clone(r.Groups))
	for i := range c.Groups {
		c.Groups[i].Zones = report.List(c.Groups[i].Zones)
	}
	return &c
}
