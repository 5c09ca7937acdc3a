package run

import (
	"io"
	"slices"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/sarif"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// Formats are the ways to write the report. Quiet is one line a step, and All lists every pod.
var Formats = slices.Concat(report.Formats[Report]{
	report.Text("text", func(r *Report, opts report.Options) []byte { return textPage(r, opts, false) }),
	report.Text("wide", func(r *Report, opts report.Options) []byte { return textPage(r, opts, true) }),
	report.JSON[Report](),
	report.YAML[Report](),
	report.Plain("markdown", markdownPage),
	report.Streamed("html", func(w io.Writer, r *Report) error { return r.Page().WriteHTML(w) }),
	report.Encoded("csv", podsCSV),
	report.Encoded("junit", expectationsJUnit),
	report.Encoded("sarif", func(r *Report) ([]byte, error) { return sarif.Findings(r.Head, r.Findings()) }),
}, pictures, report.Formats[Report]{report.Plain("name", names)})

// ShowsCycles reports whether the format shows what AddCycles adds to the step.
func ShowsCycles(format string, opts report.Options, step *Step) bool {
	switch format {
	case "text", "wide":
		return !opts.Quiet && lists(step, opts.All)
	case "json", "yaml", "html":
		return true
	}
	return false
}

func textPage(r *Report, opts report.Options, wide bool) []byte {
	t := writer{Page: text.NewPage(opts), report: r, wide: wide}
	if opts.Quiet {
		t.quiet()
	} else {
		t.everything()
	}
	return t.Bytes()
}

// names are the pods after the last step, a line each, as "kubectl get pods -o name" prints them. Where they stand in several
// namespaces, which kubectl would leave out, the namespace goes between: pod/kafka/broker-0.
func names(r *Report) []byte {
	if len(r.Steps) == 0 {
		return nil
	}
	pods := r.Steps[len(r.Steps)-1].Pods
	several := slices.ContainsFunc(pods, func(pod Pod) bool { return pod.Namespace != pods[0].Namespace })
	var p text.Page
	for _, pod := range pods {
		if several {
			p.Linef(text.Plain, "pod/%s/%s", pod.Namespace, pod.Name)
		} else {
			p.Linef(text.Plain, "pod/%s", pod.Name)
		}
	}
	return p.Out.Bytes()
}
