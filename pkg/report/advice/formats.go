package advice

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the ways to write the report.
var Formats = format.Of[Report]{Doc: document}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	t := writer{Doc: doc.New(r.Head, opts), report: r}
	t.everything()
	return &t.Doc
}
