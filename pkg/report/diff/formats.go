package diff

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/report/format/findings"
)

// Formats are the ways to write the report. Quiet is the verdict alone, and All lists everything that differs.
var Formats = format.Of[Report]{Doc: document, Brief: true}.Formats()

// Found are the rules that workloads no longer have, for the page of a change.
func (d *Report) Found() findings.Findings {
	const rule = "rule-removed"
	all := findings.Findings{Version: d.Version, Rules: []findings.Rule{{ID: rule, Level: "warning", Short: "A rule, a budget, a priority or a request is dropped or weaker"}}}
	for _, is := range d.Declared {
		if is.removed() {
			all.Results = append(all.Results, findings.Result{Rule: rule, Level: "warning", Message: "step " + is.Step + ": " + is.text() + ".",
				Place: is.Step + "/" + is.Namespace + "/" + is.WorkloadRef.Workload, Source: is.Source})
		}
	}
	return all
}

func document(r *Report, opts report.Options) *doc.Doc {
	t := newWriter(r, opts)
	t.Judged = true
	t.everything()
	return &t.Doc
}
