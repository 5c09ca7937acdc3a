package report

import (
	"slices"
)

var SizeFormats = formats[SizeReport]{
	textFormat("text", func(r *SizeReport, opts Options) []byte {
		t := &page{color: opts.Color, all: true}
		for _, line := range r.verdict() {
			t.line(line)
		}
		if !opts.Quiet {
			r.rest(t)
		}
		return t.bytes()
	}),
	jsonFormat(completeSize),
	yamlFormat(completeSize),
	plainFormat("markdown", sizeMarkdown),
}

// completeSize is complete for a SizeReport.
func completeSize(r *SizeReport) *SizeReport {
	c := *r
	c.Head, c.Groups = completeHead(r.Head), list(slices.Clone(r.Groups))
	for i := range c.Groups {
		c.Groups[i].Zones = list(c.Groups[i].Zones)
	}
	return &c
}
