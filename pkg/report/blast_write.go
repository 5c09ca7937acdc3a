package report

import (
	"io"
	"slices"
)

// BlastFormats are the names of the output formats of a BlastReport, in the order in which a help text gives them.
func BlastFormats() []string {
	return []string{"text", "wide", "json", "yaml", "markdown", "csv", "junit", "sarif", "svg", "png"}
}

// WriteBlast renders the report as Write does. Quiet is the summary alone, and All lists every failure.
func WriteBlast(w io.Writer, r *BlastReport, format string, opts Options) error {
	out, err := renderBlast(r, format, opts)
	return deliver(w, out, err)
}

func renderBlast(r *BlastReport, format string, opts Options) ([]byte, error) {
	switch format {
	case "text", "wide":
		t := newBlastText(r, opts, format == "wide")
		if opts.Quiet {
			t.summary()
		} else {
			t.everything()
		}
		return t.out.Bytes(), nil
	case "json":
		return toJSON(completeBlast(r))
	case "yaml":
		return toYAML(completeBlast(r))
	case "markdown":
		return blastMarkdown(r), nil
	case "csv":
		return lossesCSV(r)
	case "junit":
		return failuresJUnit(r)
	case "sarif":
		return toSARIF(r.Head, r.Findings())
	case "svg", "png":
		return lossesChart(r).draw(format)
	}
	return nil, unknownFormat(format, BlastFormats())
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

// DrainFormats are the names of the output formats of a DrainReport.
func DrainFormats() []string { return []string{"text", "json", "yaml", "markdown"} }

// WriteDrain renders the report as Write does. All lists every pod.
func WriteDrain(w io.Writer, r *DrainReport, format string, opts Options) error {
	out, err := renderDrain(r, format, opts)
	return deliver(w, out, err)
}

func renderDrain(r *DrainReport, format string, opts Options) ([]byte, error) {
	switch format {
	case "text":
		t := newDrainText(r, opts)
		t.everything()
		return t.out.Bytes(), nil
	case "json":
		return toJSON(completeDrain(r))
	case "yaml":
		return toYAML(completeDrain(r))
	case "markdown":
		return drainMarkdown(r), nil
	}
	return nil, unknownFormat(format, DrainFormats())
}

// completeDrain is complete for a DrainReport.
func completeDrain(r *DrainReport) *DrainReport {
	c := *r
	c.Head, c.Nodes = completeHead(r.Head), list(r.Nodes)
	return &c
}
