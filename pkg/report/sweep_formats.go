package report

import (
	"slices"
)

var SweepFormats = formats[SweepReport]{
	textFormat("text", func(r *SweepReport, opts Options) []byte {
		t := sweepText{page: newPage(opts), report: r}
		t.everything()
		return t.bytes()
	}),
	jsonFormat(completeSweep),
	yamlFormat(completeSweep),
	plainFormat("markdown", sweepMarkdown),
	encodedFormat("html", sweepHTML),
	encodedFormat("csv", sweepCSV),
	svgFormat(sweepChart),
	pngFormat(sweepChart),
}

// completeSweep is complete for a SweepReport.
func completeSweep(r *SweepReport) *SweepReport {
	c := *r
	c.Head, c.Points = completeHead(r.Head), list(slices.Clone(r.Points))
	c.Baseline.Levels = list(c.Baseline.Levels)
	for i := range c.Points {
		c.Points[i].Levels = list(c.Points[i].Levels)
	}
	return &c
}
