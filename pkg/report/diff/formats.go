package diff

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/report/format/findings"
)

// Formats are the formats of the report. Quiet prints only the verdict, and All lists every difference.
var Formats = format.Of[Report]{Question: func(*Report) string { return "What has changed" }, Doc: document, Brief: true}.Formats()

// Found returns a finding for each rule, budget, priority or request that a workload drops or weakens, for the page of a change.
func (d *Report) Found() findings.Findings {
	const rule = "rule-removed"
	all := findings.Findings{Version: d.Version, Rules: []findings.Rule{{ID: rule, Level: "warning", Short: "A rule, a budget, a priority or a request is dropped or weaker"}}}
	for _, is := range d.Declared {
		if is.IsRemoval() {
			all.Results = append(all.Results, findings.Result{Rule: rule, Level: "warning", Message: "step " + is.Step + ": " + is.text() + ".",
				Place: is.Step + "/" + is.Namespace + "/" + is.WorkloadRef.Workload, Source: is.Source})
		}
	}
	return all
}

func document(r *Report, opts report.Options) *doc.Doc {
	t := newWriter(r, opts)
	t.Judged = true
	t.fullText()
	return &t.Doc
}

// Changes returns the document without the verdict, for a page that has a verdict of its own.
func (d *Report) Changes() *doc.Doc {
	t := newWriter(d, report.Options{Page: true})
	t.changes()
	return &t.Doc
}
