package report

import (
	"slices"
)

var OutcomesFormats = formats[OutcomesReport]{
	textFormat("text", func(r *OutcomesReport, opts Options) []byte {
		t := newOutcomesText(r, opts)
		if opts.Quiet {
			t.table("", t.summary()...)
		} else {
			t.everything()
		}
		return t.bytes()
	}),
	jsonFormat(completeOutcomes),
	yamlFormat(completeOutcomes),
	plainFormat("markdown", outcomesMarkdown),
	encodedFormat("csv", placementsCSV),
}

// completeOutcomes is complete for an OutcomesReport.
func completeOutcomes(r *OutcomesReport) *OutcomesReport {
	c := *r
	c.Head, c.Steps = completeHead(r.Head), list(slices.Clone(r.Steps))
	for i := range c.Steps {
		c.Steps[i].Placements = list(slices.Clone(c.Steps[i].Placements))
		for j := range c.Steps[i].Placements {
			p := &c.Steps[i].Placements[j]
			p.Workloads = list(p.Workloads)
		}
	}
	return &c
}
