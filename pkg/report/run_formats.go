package report

import (
	"slices"
)

var RunFormats = formats[Report]{
	textFormat("text", func(r *Report, opts Options) []byte { return reportText(r, opts, false) }),
	textFormat("wide", func(r *Report, opts Options) []byte { return reportText(r, opts, true) }),
	jsonFormat(complete),
	yamlFormat(complete),
	plainFormat("markdown", reportMarkdown),
	encodedFormat("html", func(r *Report) ([]byte, error) { return r.Page().HTML() }),
	encodedFormat("csv", podsCSV),
	encodedFormat("junit", expectationsJUnit),
	encodedFormat("sarif", func(r *Report) ([]byte, error) { return toSARIF(r.Head, r.Findings()) }),
	svgFormat(podsChart),
	pngFormat(podsChart),
	plainFormat("name", names),
}

func reportText(r *Report, opts Options, wide bool) []byte {
	t := runText{page: newPage(opts), report: r, wide: wide}
	if opts.Quiet {
		t.quiet()
	} else {
		t.everything()
	}
	return t.bytes()
}

// complete returns the report with an empty list for each missing one that the schema requires, since a consumer that
// loops over steps should not have to guard against null.
func complete(r *Report) *Report {
	c := *r
	c.Head = completeHead(c.Head)
	c.Steps = list(slices.Clone(c.Steps))
	for i := range c.Steps {
		workloads := slices.Clone(c.Steps[i].Workloads)
		for j := range workloads {
			workloads[j].Domains = slices.Clone(workloads[j].Domains)
			for k := range workloads[j].Domains {
				workloads[j].Domains[k].Counts = list(workloads[j].Domains[k].Counts)
			}
		}
		c.Steps[i].Workloads = workloads
	}
	return &c
}

// names are the pods after the last step, a line each, as "kubectl get pods -o name" prints them. Where they stand in several
// namespaces, which kubectl would leave out, the namespace goes between: pod/kafka/broker-0.
func names(r *Report) []byte {
	if len(r.Steps) == 0 {
		return nil
	}
	pods := r.Steps[len(r.Steps)-1].Pods
	several := slices.ContainsFunc(pods, func(pod Pod) bool { return pod.Namespace != pods[0].Namespace })
	var p page
	for _, pod := range pods {
		if several {
			p.linef(plain, "pod/%s/%s", pod.Namespace, pod.Name)
		} else {
			p.linef(plain, "pod/%s", pod.Name)
		}
	}
	return p.out.Bytes()
}
