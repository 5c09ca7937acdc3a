package report

import (
	"slices"
)

var BlastFormats = formats[BlastReport]{
	textFormat("text", func(r *BlastReport, opts Options) []byte { return failuresText(r, opts, false) }),
	textFormat("wide", func(r *BlastReport, opts Options) []byte { return failuresText(r, opts, true) }),
	jsonFormat(completeBlast),
	yamlFormat(completeBlast),
	plainFormat("markdown", blastMarkdown),
	encodedFormat("csv", lossesCSV),
	encodedFormat("junit", failuresJUnit),
	encodedFormat("sarif", func(r *BlastReport) ([]byte, error) { return toSARIF(r.Head, r.Findings()) }),
	svgFormat(lossesChart),
	pngFormat(lossesChart),
}

func failuresText(r *BlastReport, opts Options, wide bool) []byte {
	t := newBlastText(r, opts, wide)
	if opts.Quiet {
		t.summary()
	} else {
		t.everything()
	}
	return t.bytes()
}

// completeBlast is complete for a BlastReport.
func completeBlast(r *BlastReport) *BlastReport {
	c := *r
	c.Head = completeHead(c.Head)
	c.Steps = list(slices.Clone(c.Steps))
	for i := range c.Steps {
		step := &c.Steps[i]
		step.Levels = list(slices.Clone(step.Levels))
		for j := range step.Levels {
			step.Levels[j].Failures = list(step.Levels[j].Failures)
		}
		if step.Risk != nil {
			risk := *step.Risk
			risk.Levels, risk.Workloads, risk.Assumptions = list(risk.Levels), list(risk.Workloads), list(risk.Assumptions)
			step.Risk = &risk
		}
	}
	return &c
}
