package capacity

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the ways to write the report. Quiet is the answers alone, and All shows every workload.
var Formats = format.Of[Report]{Doc: document}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	t := &writer{Doc: doc.New(r.Head, opts), report: r}
	t.everything(opts.Quiet)
	return &t.Doc
}
