package report

import (
	"slices"
)

var CapacityFormats = formats[CapacityReport]{
	textFormat("text", func(r *CapacityReport, opts Options) []byte {
		t := &capacityText{page: newPage(opts), report: r}
		t.everything(opts.Quiet)
		return t.bytes()
	}),
	jsonFormat(completeCapacity),
	yamlFormat(completeCapacity),
	plainFormat("markdown", capacityMarkdown),
}

// completeCapacity is complete for a CapacityReport.
func completeCapacity(r *CapacityReport) *CapacityReport {
	c := *r
	c.Head, c.Mixes = completeHead(r.Head), list(slices.Clone(r.Mixes))
	for i := range c.Mixes {
		c.Mixes[i].Workloads = list(c.Mixes[i].Workloads)
	}
	return &c
}
