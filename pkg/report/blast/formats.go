package blast

import (
	"slices"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/chart"
	"github.com/faultline/faultline/pkg/report/format/sarif"
)

// Formats are the ways to write the report. Quiet is the summary alone, and All lists every failure.
var Formats = report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte { return textPage(r, opts, false) }),
	report.Text("wide", func(r *Report, opts report.Options) []byte { return textPage(r, opts, true) }),
	report.JSON(complete),
	report.YAML(complete),
	report.Plain("markdown", markdownPage),
	report.Encoded("csv", lossesCSV),
	report.Encoded("junit", failuresJUnit),
	report.Encoded("sarif", func(r *Report) ([]byte, error) { return sarif.Findings(r.Head, r.Findings()) }),
	chart.SVG(drawing),
	chart.PNG(drawing),
}

func textPage(r *Report, opts report.Options, wide bool) []byte {
	t := newWriter(r, opts, wide)
	if opts.Quiet {
		t.summary()
	} else {
		t.everything()
	}
	return t.Bytes()
}

// complete puts an empty list in the place of each missing one that the schema requires.
func complete(r *Report) *Report {
	c := *r
	c.Head = report.CompleteHead(c.Head)
	c.Steps = report.List(slices.Clone(c.Steps))
	for i := range c.Steps {
		step := &c.Steps[i]
		step.Levels = report.List(slices.Clone(step.Levels))
		for j := range step.Levels {
			step.Levels[j].Failures = report.List(step.Levels[j].Failures)
		}
		if step.Risk != nil {
			risk := *step.Risk
			risk.Levels, risk.Workloads, risk.Assumptions = report.List(risk.Levels), report.List(risk.Workloads), report.List(risk.Assumptions)
			step.Risk = &risk
		}
	}
	return &c
}
