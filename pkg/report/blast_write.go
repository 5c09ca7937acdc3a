package report

import (
	"io"
	"slices"
)

var blastFormats = formats[BlastReport]{
	{"text", asText(func(r *BlastReport, opts Options) []byte { return failuresText(r, opts, false) })},
	{"wide", asText(func(r *BlastReport, opts Options) []byte { return failuresText(r, opts, true) })},
	{"json", asJSON(completeBlast)},
	{"yaml", asYAML(completeBlast)},
	{"markdown", plainly(blastMarkdown)},
	{"csv", always(lossesCSV)},
	{"junit", always(failuresJUnit)},
	{"sarif", always(func(r *BlastReport) ([]byte, error) { return toSARIF(r.Head, r.Findings()) })},
	{"svg", asChart(lossesChart, "svg")},
	{"png", asChart(lossesChart, "png")},
}

// BlastFormats are the names of the output formats of a BlastReport, in the order in which a help text gives them.
func BlastFormats() []string { return blastFormats.names() }

// WriteBlast renders the report as Write does. Quiet is the summary alone, and All lists every failure.
func WriteBlast(w io.Writer, r *BlastReport, format string, opts Options) error {
	return blastFormats.write(w, r, format, opts)
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

var drainFormats = formats[DrainReport]{
	{"text", asText(func(r *DrainReport, opts Options) []byte {
		t := newDrainText(r, opts)
		t.everything()
		return t.bytes()
	})},
	{"json", asJSON(completeDrain)},
	{"yaml", asYAML(completeDrain)},
	{"markdown", plainly(drainMarkdown)},
}

// DrainFormats are the names of the output formats of a DrainReport.
func DrainFormats() []string { return drainFormats.names() }

// WriteDrain renders the report as Write does. All lists every pod.
func WriteDrain(w io.Writer, r *DrainReport, format string, opts Options) error {
	return drainFormats.write(w, r, format, opts)
}

// completeDrain is complete for a DrainReport.
func completeDrain(r *DrainReport) *DrainReport {
	c := *r
	c.Head, c.Nodes = completeHead(r.Head), list(r.Nodes)
	return &c
}
