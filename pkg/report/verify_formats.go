package report

var VerifyFormats = formats[VerifyReport]{
	textFormat("text", func(r *VerifyReport, opts Options) []byte {
		t := &verifyText{page: newPage(opts), report: r}
		t.everything(opts.Quiet)
		return t.bytes()
	}),
	jsonFormat(completeVerify),
	yamlFormat(completeVerify),
	plainFormat("markdown", verifyMarkdown),
}

// completeVerify is complete for a VerifyReport.
func completeVerify(r *VerifyReport) *VerifyReport {
	c := *r
	c.Head, c.Divergences = completeHead(r.Head), list(r.Divergences)
	return &c
}
