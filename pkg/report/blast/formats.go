package blast

import (
	"slices"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/sarif"
)

// Formats are the ways to write the report. Quiet is the verdict, the table of levels and the reasons, and All lists every failure.
var Formats = slices.Concat(report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte { return textPage(r, opts, false) }),
	report.Text("wide", func(r *Report, opts report.Options) []byte { return textPage(r, opts, true) }),
	report.JSON[Report](),
	report.YAML[Report](),
	report.Plain("markdown", markdownPage),
	report.Encoded("csv", lossesCSV),
	report.Encoded("junit", failuresJUnit),
	report.Encoded("sarif", func(r *Report) ([]byte, error) { return sarif.Findings(r.Head, r.Findings()) }),
}, pictures)

func textPage(r *Report, opts report.Options, wide bool) []byte {
	t := newWriter(r, opts, wide)
	if opts.Quiet {
		t.quiet()
	} else {
		t.everything()
	}
	return t.Bytes()
}
