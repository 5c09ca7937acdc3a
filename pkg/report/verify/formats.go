package verify

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the ways to write the report. Quiet is the verdict alone, and All lists every pod.
var Formats = format.Of[Report]{Doc: document}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	head := r.Head
	head.Scenario = "" // a command line
	t := &writer{Doc: doc.New(head, opts), report: r}
	t.everything(opts.Quiet)
	return &t.Doc
}
