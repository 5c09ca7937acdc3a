package outcome

import (
	"slices"

	"github.com/faultline/faultline/pkg/report"
)

// Formats are the ways to write the report. Quiet is a line for each step, and All lists every placement that the report has.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte {
		t := newWriter(r, opts)
		if opts.Quiet {
			t.Table("", t.summary()...)
		} else {
			t.everything()
		}
		return t.Bytes()
	}),
	report.JSON(complete),
	report.YAML(complete),
	report.Plain("markdown", markdownPage),
	report.Encoded("csv", placementsCSV),
}

// complete puts an empty list in the place of each missing one that the schema requires.
func complete(r *Report) *Report {
	c := *r
	c.Head, c.Steps = report.CompleteHead(r.Head), report.List(slices.Clone(r.Steps))
	for i := range c.Steps {
		c.Steps[i].Placements = report.List(slices.Clone(c.Steps[i].Placements))
		for j := range c.Steps[i].Placements {
			p := &c.Steps[i].Placements[j]
			p.Workloads = report.List(p.Workloads)
		}
	}
	return &c
}
