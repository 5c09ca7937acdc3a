package report

var ExplainFormats = formats[ExplainReport]{
	textFormat("text", func(r *ExplainReport, opts Options) []byte {
		t := &explainText{page: newPage(opts), report: r}
		t.everything(opts.Quiet)
		return t.bytes()
	}),
	jsonFormat(completeExplain),
	yamlFormat(completeExplain),
	encodedFormat("html", func(r *ExplainReport) ([]byte, error) { return r.Page().HTML() }),
}

// completeExplain is complete for an ExplainReport.
func completeExplain(r *ExplainReport) *ExplainReport {
	c := *r
	c.Head, c.Pods = completeHead(r.Head), list(r.Pods)
	return &c
}
