package run

import (
	"slices"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/report/format/findings"
)

// Formats are the formats of the report. Quiet prints one line per step, and All lists every pod.
var Formats = format.Of[Report]{
	Question: (*Report).question,
	Doc:      document, Wide: true, Page: (*Report).Page, CSV: podsCSV, JUnit: expectationsJUnit, Draw: draw, Names: podNames,
	Findings: func(r *Report) findings.Findings { return findings.New(r.Head, r.Findings()) },
}.Formats()

func document(r *Report, opts report.Options) *doc.Doc {
	t := writer{Doc: doc.New(r.Head, opts), report: r, wide: opts.Wide, page: opts.Page}
	if opts.Quiet {
		t.quietText()
	} else {
		t.fullText()
	}
	return &t.Doc
}

// ShowsCycles reports whether the format shows the cycles that AddCycles adds to the step.
func ShowsCycles(format string, opts report.Options, step *Step) bool {
	switch format {
	case "text", "wide":
		return !opts.Quiet && listsPods(step, opts.All)
	case "json", "yaml", "html":
		return true
	}
	return false
}

// podNames returns the pods after the last step, in the form of "kubectl get pods -o name". If they are in several namespaces, a name also has
// the namespace, which kubectl would leave out: pod/kafka/broker-0.
func podNames(r *Report) []string {
	if len(r.Steps) == 0 {
		return nil
	}
	pods := r.Last().Pods
	several := slices.ContainsFunc(pods, func(pod Pod) bool { return pod.Namespace != pods[0].Namespace })
	return list.Map(pods, func(pod Pod) string {
		if several {
			return "pod/" + pod.Namespace + "/" + pod.Name
		}
		return "pod/" + pod.Name
	})
}
